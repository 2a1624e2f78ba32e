//! Lists and watches of a cluster's API, as a stream of what is told.

use std::fmt::Debug;
use std::path::Path;
use std::pin::pin;
use std::sync::mpsc::Sender;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{Config, Error, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use crate::{Kind, Name, Object};

/// Between attempts that fail: from the first to the longest. What comes makes them short again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));

/// What a list or a watch says.
#[derive(Clone, PartialEq, Debug)]
pub enum Told {
    /// These are all objects of the kind.
    All(Kind, Vec<Object>),
    Is(Object),
    /// With the version that it went at.
    Gone(Kind, Name, Option<u64>),
    /// The API cannot be heard; it is asked again.
    Trouble(Kind, String),
}

/// How a cluster's API cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum NoClient {
    #[error("{file}: {reason}")]
    File { file: String, reason: String },
    #[error("how to reach the cluster is not known: {0}")]
    Unknown(#[from] kube::config::InferConfigError),
    #[error("no thread can be started: {0}")]
    Thread(#[from] std::io::Error),
    #[error("the cluster's API cannot be used: {0}")]
    Client(#[from] kube::Error),
}

/// A client of a cluster's API: as the file says, or KUBECONFIG, or `~/.kube/config`, or the account of the pod that this runs in.
async fn client(kubeconfig: Option<&Path>) -> Result<Client, NoClient> {
    let config = match kubeconfig {
        Some(path) => {
            let wrong = |reason: String| NoClient::File { file: path.display().to_string(), reason };
            let read = Kubeconfig::read_from(path).map_err(|error| wrong(error.to_string()))?;
            let options = KubeConfigOptions::default();
            kube::Config::from_custom_kubeconfig(read, &options)
                .await
                .map_err(|error| wrong(error.to_string()))?
        }
        None => kube::Config::infer().await?,
    };
    Ok(Client::try_from(config)?)
}

/// A cluster that is listed and watched. Dropping it ends that.
pub struct Feed {
    _runtime: Runtime,
}

impl Feed {
    /// Begins, and tells what it hears in the order of each kind.
    ///
    /// # Errors
    /// [`NoClient`]. That the cluster does not answer is none: it is asked again.
    pub fn start(kubeconfig: Option<&Path>, told: &Sender<Told>) -> Result<Feed, NoClient> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let client = runtime.block_on(client(kubeconfig))?;
        follow(&runtime, &client, told);
        Ok(Feed { _runtime: runtime })
    }
}

/// Lists and watches all kinds until the runtime is dropped or nobody listens. A watch that ends goes on where it was; one that cannot (410
/// Gone) begins with a list.
fn follow(runtime: &Runtime, client: &Client, told: &Sender<Told>) {
    runtime.spawn(kind::<Namespace>(client.clone(), Kind::Namespace, told.clone()));
    runtime.spawn(kind::<Node>(client.clone(), Kind::Node, told.clone()));
    runtime.spawn(kind::<Pod>(client.clone(), Kind::Pod, told.clone()));
    runtime.spawn(kind::<Service>(client.clone(), Kind::Service, told.clone()));
    runtime.spawn(kind::<EndpointSlice>(client.clone(), Kind::Slice, told.clone()));
    runtime.spawn(kind::<NetworkPolicy>(client.clone(), Kind::Policy, told.clone()));
}

async fn kind<K>(client: Client, kind: Kind, told: Sender<Told>)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Into<Object> + 'static,
{
    let api = Api::<K>::all(client);
    let mut pause = PAUSES.0;
    loop {
        let mut events = pin!(watcher(api.clone(), Config::default()));
        let mut listed = Vec::new();
        while let Some(event) = events.next().await {
            // An API server may say 410 before a watch begins, too; then this watcher would ask for the same again and again.
            let is_gone = matches!(&event, Err(Error::WatchStartFailed(kube::Error::Api(status))) if status.code == 410);
            let news = match event {
                Ok(Event::Init) => {
                    listed.clear();
                    continue;
                }
                Ok(Event::InitApply(object)) => {
                    listed.push(slim(object));
                    continue;
                }
                Ok(Event::InitDone) => Told::All(kind, std::mem::take(&mut listed)),
                Ok(Event::Apply(object)) => Told::Is(slim(object)),
                Ok(Event::Delete(object)) => {
                    let object = slim(object);
                    Told::Gone(kind, object.name(), object.version())
                }
                Err(error) => Told::Trouble(kind, error.to_string()),
            };
            let is_trouble = matches!(news, Told::Trouble(..));
            if told.send(news).is_err() {
                return;
            }
            if is_trouble {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSES.1);
            } else {
                pause = PAUSES.0;
            }
            if is_gone {
                break;
            }
        }
    }
}

/// Without who set which field: nobody here asks, and it is half of many objects.
fn slim<K: Resource + Into<Object>>(mut object: K) -> Object {
    object.managed_fields_mut().clear();
    object.into()
}
