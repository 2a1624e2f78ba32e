//! A page for who looks after a watcher: `/metrics`, `/livez` and `/readyz`, without a password. One thread, one request at a time.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::lease::Tenure;
use crate::tally::Tally;

/// Source: OpenMetrics 1.0, "Content Type".
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
/// Who asks says it at once, and in few words.
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST: u64 = 16 * 1024;

/// Serves until the process ends. Answers where it listens.
///
/// # Errors
/// When the address cannot be had.
pub fn serve(at: SocketAddr, tally: Tally, tenure: Tenure) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(at)?;
    let own = listener.local_addr()?;
    let answers = move || {
        for stream in listener.incoming() {
            let done = stream.and_then(|stream| talk(&stream, &tally, &tenure));
            if let Err(error) = done {
                tracing::debug!(%error, "who asked for the page has not heard the answer");
            }
        }
    };
    std::thread::Builder::new().name("page".into()).spawn(answers)?;
    Ok(own)
}

fn talk(mut stream: &TcpStream, tally: &Tally, tenure: &Tenure) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream.take(LONGEST)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // To its end: who closes before all was read resets the connection.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let (status, kind, body) = answer(&request, tally, tenure, Instant::now());
    let shown = if request.starts_with("HEAD ") { "" } else { &body };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{shown}",
        body.len()
    )
}

/// Status, kind and body for a request line (RFC 9112 section 3).
fn answer(
    request: &str,
    tally: &Tally,
    tenure: &Tenure,
    now: Instant,
) -> (&'static str, &'static str, String) {
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !matches!(method, "GET" | "HEAD") {
        return ("405 Method Not Allowed\r\nAllow: GET, HEAD", PLAIN, "this page is read with GET\n".into());
    }
    match target.split('?').next().unwrap_or_default() {
        "/metrics" => ("200 OK", METRICS, tally.text(tenure, now)),
        "/livez" => ("200 OK", PLAIN, "ok\n".into()),
        "/readyz" => match tally.lacks() {
            None => ("200 OK", PLAIN, "ok\n".into()),
            Some(why) => ("503 Service Unavailable", PLAIN, format!("{why}\n")),
        },
        _ => ("404 Not Found", PLAIN, "there are /metrics, /livez and /readyz\n".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn requests_are_answered() {
        let (tally, tenure) = (Tally::default(), Tenure::always());
        let status = |request: &str| {
            let (status, ..) = answer(request, &tally, &tenure, Instant::now());
            status[..3].to_owned()
        };
        assert_eq!(status("GET /livez HTTP/1.1"), "200");
        assert_eq!(status("GET /metrics?x=y HTTP/1.1"), "200");
        assert_eq!(status("GET /readyz HTTP/1.1"), "503");
        tally.listed(Kind::Pod, Kind::ALL.len());
        assert_eq!(status("HEAD /readyz HTTP/1.1"), "200");
        assert_eq!(status("POST /metrics HTTP/1.1"), "405");
        assert_eq!(status("GET / HTTP/1.1"), "404");
        assert_eq!(status(""), "405");
    }

    #[test]
    fn a_page_is_read_over_the_network() {
        let at = serve("127.0.0.1:0".parse().unwrap(), Tally::default(), Tenure::always()).unwrap();
        for request in ["GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "nonsense\r\n\r\n"] {
            let mut stream = TcpStream::connect(at).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            assert!(text.starts_with("HTTP/1.1 200 OK") == request.starts_with("GET"), "{text}");
            assert!(text.contains("# EOF\n") == request.starts_with("GET"), "{text}");
        }
    }
}
