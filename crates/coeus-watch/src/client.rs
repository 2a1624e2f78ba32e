//! A client of a cluster's API: how the cluster is found, how long its silence is borne, and what is done when it says that it has too much to do.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::header::RETRY_AFTER;
use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::{Body, ClientBuilder};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use tokio::time::Sleep;
use tower::buffer::BufferLayer;
use tower::layer::layer_fn;
use tower::retry::{Policy, RetryLayer};
use tower::{BoxError, Service};

/// Where a pod finds the token of its account.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
/// A connection that is not there by then is begun anew.
const CONNECT: Duration = Duration::from_secs(10);
/// An answer, or the next part of one, comes within the patience and this; a watch that the API server should have ended has that much more.
const MARGIN: Duration = Duration::from_secs(5);
/// So often in a row a request waits for as long as it was told to, and no longer each time than that.
const RETURNS: u8 = 3;
const LONGEST: Duration = Duration::from_secs(30);
/// Between the beginnings of two watches of the same: one that the API server ends at once is not begun again as fast as it can be.
const BETWEEN_WATCHES: Duration = Duration::from_secs(1);
/// Requests that may wait for their turn.
const WAITING: usize = 256;

/// How a cluster's API is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reach {
    /// The file that says so, if one was named.
    pub kubeconfig: Option<PathBuf>,
    /// Seconds for which the API server may say nothing before a request is begun anew.
    pub patience: u32,
}

/// How a cluster's API cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum NoClient {
    #[error("{file}: {reason}")]
    File { file: String, reason: String },
    #[error("KUBECONFIG={0}: no such file is there")]
    NoFile(String),
    #[error("how to reach the cluster is not known")]
    Unknown,
    #[error("the account of the pod: {0}")]
    Account(#[from] kube::config::InClusterError),
    #[error("no thread can be started: {0}")]
    Thread(#[from] std::io::Error),
    #[error("the cluster's API cannot be used: {0}")]
    Client(#[from] kube::Error),
}

/// Who says how a cluster is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Source {
    /// Of what two say, the first counts.
    Files(Vec<PathBuf>),
    /// The pod that this runs in, by its account.
    Pod,
}

/// The first that there is: the file that was named, those of KUBECONFIG, the account of the pod that this runs in, the file at home.
///
/// Files of KUBECONFIG that do not exist are left out, as kubectl has it.
///
/// # Errors
/// [`NoClient::NoFile`], [`NoClient::Unknown`].
fn source(
    named: Option<&Path>,
    variable: Option<&OsStr>,
    is_in_pod: bool,
    home: Option<&Path>,
    exists: impl Fn(&Path) -> bool,
) -> Result<Source, NoClient> {
    if let Some(named) = named {
        return Ok(Source::Files(vec![named.to_owned()]));
    }
    if let Some(variable) = variable.filter(|variable| !variable.is_empty()) {
        let mut files: Vec<_> = std::env::split_paths(variable).collect();
        files.retain(|file| exists(file));
        return match files.is_empty() {
            true => Err(NoClient::NoFile(variable.display().to_string())),
            false => Ok(Source::Files(files)),
        };
    }
    if is_in_pod {
        return Ok(Source::Pod);
    }
    let home = home.map(|home| home.join(".kube/config")).filter(|file| exists(file));
    Ok(Source::Files(vec![home.ok_or(NoClient::Unknown)?]))
}

/// A client as it is said where [`source`] looks.
///
/// # Errors
/// [`NoClient`].
pub async fn client(reach: &Reach) -> Result<Client, NoClient> {
    let is_in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some_and(|host| !host.is_empty());
    let found = source(
        reach.kubeconfig.as_deref(),
        std::env::var_os("KUBECONFIG").as_deref(),
        is_in_pod && Path::new(TOKEN).exists(),
        std::env::home_dir().as_deref(),
        |file| file.is_file(),
    )?;
    let mut config = match &found {
        Source::Pod => kube::Config::incluster()?,
        Source::Files(files) => {
            let wrong = |file: String| {
                move |error: KubeconfigError| NoClient::File { file, reason: error.to_string() }
            };
            let mut all = Kubeconfig::default();
            for file in files {
                let name = file.display().to_string();
                let next = Kubeconfig::read_from(file).map_err(wrong(name.clone()))?;
                all = all.merge(next).map_err(wrong(name))?;
            }
            let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            let options = KubeConfigOptions::default();
            kube::Config::from_custom_kubeconfig(all, &options).await.map_err(wrong(names.join(", ")))?
        }
    };
    let patience = Duration::from_secs(reach.patience.into());
    config.connect_timeout = Some(CONNECT.min(patience));
    config.read_timeout = Some(patience + MARGIN);
    // Counted from a request on, and not from when its connection was used last.
    config.reset_reader_on_write = true;
    // It would wait twice as long each time, up to minutes after all is well again, and say nothing of it.
    config.default_retry = false;
    let builder = ClientBuilder::try_from(config)?;
    let builder = builder.with_layer(&BufferLayer::new(WAITING));
    let builder = builder.with_layer(&RetryLayer::new(ComeBack { left: RETURNS }));
    Ok(builder.with_layer(&layer_fn(|inner| Paced { inner, pace: Arc::default() })).build())
}

/// When watches of what were begun last, or are about to be.
#[derive(Default)]
struct Pace(BTreeMap<String, Instant>);

impl Pace {
    /// How long a request waits for its turn.
    fn turn(&mut self, path: &str, query: &str, now: Instant) -> Duration {
        if !query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1")) {
            return Duration::ZERO;
        }
        let begins = self.0.get(path).map_or(now, |last| now.max(*last + BETWEEN_WATCHES));
        self.0.insert(path.to_owned(), begins);
        begins.saturating_duration_since(now)
    }
}

/// Carries requests out in their turn.
struct Paced<S> {
    inner: S,
    pace: Arc<Mutex<Pace>>,
}

impl<S> Service<Request<Body>> for Paced<S>
where
    S: Service<Request<Body>, Future: Send> + Clone + Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        let wait = self.pace.lock().unwrap_or_else(PoisonError::into_inner).turn(path, query, Instant::now());
        // The one that is ready goes with the request.
        let next = self.inner.clone();
        let mut ready = std::mem::replace(&mut self.inner, next);
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            ready.call(request).await
        })
    }
}

/// Whoever is told when to come back (`Retry-After`) comes back then. All other failures are for who asked.
#[derive(Clone)]
struct ComeBack {
    left: u8,
}

impl<B> Policy<Request<Body>, Response<B>, BoxError> for ComeBack {
    type Future = Sleep;

    fn retry(&mut self, _: &mut Request<Body>, outcome: &mut Result<Response<B>, BoxError>) -> Option<Sleep> {
        let after = told(outcome.as_ref().ok()?)?;
        self.left = self.left.checked_sub(1)?;
        Some(tokio::time::sleep(after))
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        let body = request.body().try_clone()?;
        let mut again = Request::new(body);
        (*again.method_mut(), *again.uri_mut()) = (request.method().clone(), request.uri().clone());
        *again.headers_mut() = request.headers().clone();
        *again.extensions_mut() = request.extensions().clone();
        Some(again)
    }
}

/// For how long an answer says to wait.
fn told<B>(answer: &Response<B>) -> Option<Duration> {
    let is_busy = matches!(answer.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let seconds = answer.headers().get(RETRY_AFTER).filter(|_| is_busy)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_there_is_says_how() {
        let files = |names: &[&str]| Source::Files(names.iter().map(PathBuf::from).collect());
        let find = |named: Option<&str>, variable: &str, is_in_pod, home: Option<&str>| {
            let exists = |file: &Path| {
                file != Path::new("") && !file.ends_with("none") && !file.starts_with("/nobody")
            };
            source(named.map(Path::new), Some(OsStr::new(variable)), is_in_pod, home.map(Path::new), exists)
        };
        assert_eq!(find(Some("/f"), "/k", true, Some("/root")).unwrap(), files(&["/f"]));
        assert_eq!(
            find(Some("/none"), "/k", true, None).unwrap(),
            files(&["/none"]),
            "that is said when it is read"
        );
        assert_eq!(find(None, "/k:/none::/l", true, Some("/root")).unwrap(), files(&["/k", "/l"]));
        assert_eq!(find(None, "", true, Some("/root")).unwrap(), Source::Pod);
        assert_eq!(find(None, "", false, Some("/root")).unwrap(), files(&["/root/.kube/config"]));
        assert!(
            matches!(find(None, "/none", true, Some("/root")), Err(NoClient::NoFile(text)) if text == "/none")
        );
        assert!(matches!(find(None, "", false, Some("/nobody")), Err(NoClient::Unknown)));
        assert!(matches!(find(None, "", false, None), Err(NoClient::Unknown)));
    }

    #[test]
    fn a_watch_that_ends_at_once_is_not_begun_at_once() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let mut waits = |path: &str, query: &str, after: u64| {
            pace.turn(path, query, start + Duration::from_millis(after)).as_millis()
        };
        assert_eq!(waits("/pods", "limit=500", 0), 0);
        assert_eq!(waits("/pods", "&watch=true&resourceVersion=5", 0), 0);
        assert_eq!(waits("/nodes", "watch=true", 10), 0, "another one");
        assert_eq!(waits("/pods", "limit=500", 10), 0, "a list");
        assert_eq!(waits("/pods", "watch=true", 10), 990);
        assert_eq!(waits("/pods", "watch=true", 1000), 1000, "behind the one that waits");
        assert_eq!(waits("/pods", "watch=true", 9000), 0, "after a long one");
    }

    #[test]
    fn who_is_told_when_to_come_back_is_told_by_a_busy_server() {
        let of = |status: u16, after: Option<&str>| {
            let answer = Response::builder().status(status);
            let answer = after.into_iter().fold(answer, |answer, after| answer.header(RETRY_AFTER, after));
            told(&answer.body(()).unwrap()).map(|after| after.as_secs())
        };
        assert_eq!(of(429, Some("1")), Some(1));
        assert_eq!(of(503, Some("7")), Some(7));
        assert_eq!(of(429, Some("86400")), Some(30), "nobody is sent away for a day");
        assert_eq!(of(429, None), None);
        assert_eq!(of(429, Some("soon")), None);
        assert_eq!(of(200, Some("1")), None);
        assert_eq!(of(500, Some("1")), None);
    }
}
