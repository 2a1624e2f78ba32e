//! Programs of others, which are given a time.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// What a program answers to an input; `None`: it has not ended in time, and was killed with all that it had started.
///
/// # Errors
/// When it cannot be started or heard.
pub fn run(command: &mut Command, input: String, patience: Duration) -> io::Result<Option<Output>> {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.process_group(0).spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (said, says) = mpsc::channel();
    // Who holds its pipes without being of its group would hold this thread, and nobody else.
    std::thread::Builder::new().name("a program".into()).spawn(move || {
        if let Some(mut pipe) = child.stdin.take() {
            // A program that does not read to the end says itself what is wrong.
            let _ = pipe.write_all(input.as_bytes());
        }
        // Who asked may have given up.
        let _ = said.send(child.wait_with_output());
    })?;
    match says.recv_timeout(patience) {
        Ok(output) => output.map(Some),
        Err(_) => {
            group.map_or(Ok(()), |group| kill_process_group(group, Signal::KILL))?;
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str, patience: Duration) -> Option<Output> {
        run(Command::new("/bin/sh").args(["-c", script]), "x".repeat(200_000), patience).unwrap()
    }

    #[test]
    fn who_hangs_is_killed_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let script = format!("sleep 1000 & echo $! > {0}; echo $$ >> {0}; wait", pids.display());
        let began = Instant::now();
        assert!(shell(&script, Duration::from_secs(1)).is_none());
        for pid in std::fs::read_to_string(&pids).unwrap().lines() {
            let is_gone = || {
                let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
                state.map_or(true, |state| state.contains(") Z "))
            };
            while !is_gone() {
                assert!(began.elapsed() < Duration::from_secs(20), "{pid} is still there");
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn who_reads_nothing_is_heard_and_so_is_who_reads_all() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("echo yes", long).unwrap().stdout, b"yes\n");
        assert_eq!(shell("wc -c", long).unwrap().stdout, b"200000\n");
        assert_eq!(shell("exit 3", long).unwrap().status.code(), Some(3));
    }
}
