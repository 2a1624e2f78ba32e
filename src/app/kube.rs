//! `coeus serve --kube`: follows a cluster inside of the controller, by requests like those of any client.

use axum::body::Body;
use axum::http::Request;
use tokio::runtime::Handle;

use super::Controller;
use crate::access::{ADMIN, Identity};
use crate::cli::Failure;
use crate::cli::kube::{Follower, Kube, Requests};
use crate::northbound::restconf;

/// In whose name it writes, as records tell.
const USER: &str = "kube";

/// Carries requests out on the threads of the controller, for a thread that waits.
struct Inside {
    requests: restconf::Inside,
    runtime: Handle,
}

impl Requests for Inside {
    fn ask(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<(u16, Vec<u8>), Failure> {
        let wrong = |reason: String| Failure::Failed(format!("{method} {target}: {reason}"));
        let request =
            headers.iter().fold(Request::builder().method(method).uri(target), |request, (name, value)| {
                request.header(*name, *value)
            });
        let body = Body::from(body.map(<[u8]>::to_vec).unwrap_or_default());
        let request = request.body(body).map_err(|error| wrong(error.to_string()))?;
        self.runtime.block_on(async {
            let answer = self.requests.answer(request).await;
            let status = answer.status().as_u16();
            let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await;
            Ok((status, body.map_err(|error| wrong(error.to_string()))?.to_vec()))
        })
    }
}

/// A follower that runs.
pub struct Following {
    stop: Box<dyn Fn() + Send>,
    thread: std::thread::JoinHandle<()>,
}

/// Begins to follow the cluster.
///
/// # Errors
/// When it cannot be told how to reach the cluster, or no thread can be had.
pub async fn follow(controller: &Controller, asked: Kube) -> Result<Following, Failure> {
    let requests = controller.inside(Identity::new(USER, &[ADMIN]));
    let failed = |reason: String| Failure::Failed(format!("--kube: {reason}"));
    let started = tokio::task::spawn_blocking(move || Follower::start(&asked)).await;
    let follower = started.map_err(|error| failed(error.to_string()))??;
    let stop = Box::new(follower.stopper());
    controller.metrics.also(follower.numbers());
    let inside = Inside { requests, runtime: Handle::current() };
    let thread = std::thread::Builder::new().name("kube".into()).spawn(move || follower.run(inside));
    Ok(Following { stop, thread: thread.map_err(|error| failed(error.to_string()))? })
}

impl Following {
    /// Ends after what it writes now, with the lead given back.
    pub async fn stop(self) {
        (self.stop)();
        // That it panicked is told by the panic.
        let _ = tokio::task::spawn_blocking(move || self.thread.join()).await;
    }
}
