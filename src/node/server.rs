//! The unix socket of the agent: one document in, one document out, a thread each.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use coeus_cni::{Answer, Call, Code, Error};
use rustix::fs::{FlockOperation, Mode, flock};
use rustix::process::umask;

use super::Agent;

/// The longest call: GC names all attachments of a node.
const LONGEST: u64 = 4 << 20;
/// A plugin sends its call at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// Calls at a time.
const MOST: usize = 512;

/// Holds the state folder for this process: two agents would take each other's work down.
pub fn only_one(state: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(|error| at(state, error))?;
    let path = state.join("lock");
    let file = File::create(&path).map_err(|error| at(&path, error))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| io::Error::other(format!("another agent uses {}", state.display())))?;
    Ok(file)
}

fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Listens where only root can get to: who can call the agent can change the network of any container.
pub fn listen(socket: &Path) -> io::Result<UnixListener> {
    let folder = socket.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| at(folder, error))?;
    let mode = std::fs::metadata(folder).map_err(|error| at(folder, error))?.mode();
    if mode & 0o022 != 0 {
        let reason = format!(
            "others can write to it (mode {:o}) and put a socket of theirs there; chmod 700, or give --socket in another folder",
            mode & 0o7777
        );
        return Err(at(folder, io::Error::other(reason)));
    }
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(socket, error)),
        _ => {}
    }
    // Nobody else can connect at any time. The mask is the process's, and no other thread makes files yet.
    let before = umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(socket);
    umask(before);
    listener.map_err(|error| at(socket, error))
}

/// Answers calls until the process ends; what is left of others is taken down beside.
pub fn serve(agent: &Agent, listener: &UnixListener) -> io::Result<()> {
    let calls = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        std::thread::Builder::new().name("leftovers".into()).spawn_scoped(scope, || agent.keep_trying())?;
        std::thread::Builder::new().name("ready ports".into()).spawn_scoped(scope, || agent.keep_ready())?;
        for stream in listener.incoming() {
            let stream = match stream {
                Ok(stream) => stream,
                Err(error) => {
                    tracing::error!("accept: {error}");
                    continue;
                }
            };
            if calls.fetch_add(1, Ordering::SeqCst) >= MOST {
                calls.fetch_sub(1, Ordering::SeqCst);
                let busy = Error::new(Code::Again, format!("{MOST} calls are being worked on"));
                send(&stream, &Answer::failed(&busy, "1.0.0"));
                continue;
            }
            let calls = &calls;
            let work = move || {
                talk(agent, &stream);
                calls.fetch_sub(1, Ordering::SeqCst);
            };
            if let Err(error) = std::thread::Builder::new().name("call".into()).spawn_scoped(scope, work) {
                tracing::error!("no thread for a call: {error}");
                calls.fetch_sub(1, Ordering::SeqCst);
            }
        }
        Ok(())
    })
}

fn talk(agent: &Agent, stream: &UnixStream) {
    let mut text = Vec::new();
    let read =
        stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.take(LONGEST).read_to_end(&mut text));
    let call = read
        .map_err(|error| error.to_string())
        .and_then(|_| serde_json::from_slice::<Call>(&text).map_err(|error| error.to_string()));
    let answer = match call {
        Ok(call) => agent.answer(&call),
        Err(why) => {
            Answer::failed(&Error::new(Code::Decode, format!("the call on the socket: {why}")), "1.0.0")
        }
    };
    send(stream, &answer);
}

fn send(mut stream: &UnixStream, answer: &Answer) {
    let sent = serde_json::to_vec(answer).map_err(io::Error::from).and_then(|text| stream.write_all(&text));
    if let Err(error) = sent {
        // The runtime has given up; its DEL or GC takes down what was made.
        tracing::warn!("the plugin has not waited for its answer: {error}");
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_socket_is_roots_and_a_second_agent_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/node.sock");
        for _ in 0..2 {
            let listener = listen(&path).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
            drop(listener);
        }
        assert_eq!(std::fs::metadata(folder.path().join("run")).unwrap().mode() & 0o777, 0o700);
        std::fs::set_permissions(folder.path().join("run"), Permissions::from_mode(0o775)).unwrap();
        assert!(listen(&path).unwrap_err().to_string().contains("mode 775"));
        let first = only_one(&folder.path().join("state")).unwrap();
        assert!(only_one(&folder.path().join("state")).unwrap_err().to_string().contains("another agent"));
        drop(first);
        only_one(&folder.path().join("state")).unwrap();
    }
}
