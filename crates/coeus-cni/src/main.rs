//! The plugin: hands the call to the node agent as it came, prints what that answers, ends as it says.
//!
//! Only VERSION is answered here. While the agent is away every other call ends with code 11, "try again later", or 50 for STATUS. DEL is no
//! exception: what ADD made in the switch and in the datastore is still there then, and a success would have the runtime forget
//! it. Runtimes try DEL again until it succeeds.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use coeus_cni::{Answer, Call, Code, Command, DEFAULT_SOCKET, Error, SUPPORTED, Version};

/// Longer than the agent takes for anything, shorter than kubelet waits.
const PATIENCE: Duration = Duration::from_secs(115);

fn main() -> ExitCode {
    let mut input = Vec::new();
    let read = std::io::stdin().read_to_end(&mut input);
    let variables = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
    let call = Call::new(variables, String::from_utf8_lossy(&input).into_owned());
    let newest = SUPPORTED[SUPPORTED.len() - 1].name();
    let asked = call.peek("cniVersion").unwrap_or_else(|| newest.into());
    let answer = match read {
        Err(error) => Err(Error::new(Code::Io, format!("standard input: {error}"))),
        Ok(_) => answer(&call, &asked),
    };
    let Answer { exit, output } = answer.unwrap_or_else(|error| Answer::failed(&error, &asked));
    if !output.is_empty() && writeln!(std::io::stdout(), "{output}").is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::from(exit)
}

fn answer(call: &Call, asked: &str) -> Result<Answer, Error> {
    let command = Command::of(call)?;
    if command == Command::Version {
        return Ok(Answer::done(&Version::answer(asked)));
    }
    // Without the document nobody knows where the agent is.
    serde_json::from_str::<serde::de::IgnoredAny>(&call.input)
        .map_err(|error| Error::new(Code::Decode, format!("standard input is not JSON: {error}")))?;
    let socket = call.peek("socket").unwrap_or_else(|| DEFAULT_SOCKET.into());
    let code = if command == Command::Status { Code::NotAvailable } else { Code::Again };
    exchange(call, &socket).map_err(|error| {
        Error::new(code, format!("the node agent does not answer at {socket}: {error}"))
            .with("is `coeus node` running, and is the key socket of the configuration right?")
    })
}

fn exchange(call: &Call, socket: &str) -> std::io::Result<Answer> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(serde_json::to_string(call)?.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    if answer.is_empty() {
        return Err(std::io::Error::other("it ended before it answered"));
    }
    Ok(serde_json::from_slice(&answer)?)
}
