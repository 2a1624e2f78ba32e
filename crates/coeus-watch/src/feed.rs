//! Lists and watches of a cluster's API, as a stream of what is told.

use std::fmt::Debug;
use std::pin::pin;
use std::sync::mpsc::Sender;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::core::Status;
use kube::runtime::watcher::{Config, Error, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::answer;
use crate::client::{NoClient, Reach, client};
use crate::elect::{Campaign, Candidacy};
use crate::lease::Tenure;
use crate::report::Say;
use crate::writer::Tell;
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
    /// Who leads is another, or we are.
    Led,
    /// The cluster could not be told that.
    Unsaid(Box<Say>),
    /// It is asked to stop.
    Stop,
}

/// A cluster that is listed and watched. Dropping it ends that.
pub struct Feed {
    runtime: Runtime,
    client: Client,
    campaign: Option<JoinHandle<()>>,
}

impl Feed {
    /// Begins, and tells what it hears in the order of each kind.
    ///
    /// # Errors
    /// [`NoClient`]. That the cluster does not answer is none: it is asked again.
    pub fn start(reach: &Reach, told: &Sender<Told>) -> Result<Feed, NoClient> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let client = runtime.block_on(client(reach))?;
        // A watch is ended by the API server before silence would end it, so that silence means that the way is gone.
        let watches = Config::default().timeout(reach.patience);
        follow(&runtime, &client, &watches, told);
        Ok(Feed { runtime, client, campaign: None })
    }

    /// Has SIGTERM and SIGINT told; a second one ends the process at once.
    ///
    /// # Errors
    /// [`NoClient::Thread`].
    pub fn tell_signals(&self, told: &Sender<Told>) -> Result<(), NoClient> {
        let _inside = self.runtime.enter();
        let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let told = told.clone();
        self.runtime.spawn(async move {
            tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
            // Nobody may listen any more; then it stops already.
            let _ = told.send(Told::Stop);
            tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
            std::process::exit(1);
        });
        Ok(())
    }

    /// Tries to lead from now on.
    pub fn campaign(&mut self, candidacy: &Candidacy, tenure: &Tenure, told: &Sender<Told>) {
        let campaign = Campaign::new(&self.client, candidacy, tenure.clone()).run(told.clone());
        self.campaign = Some(self.runtime.spawn(campaign));
    }

    /// Who tells the cluster what it is given to say; it does not take it while too much waits.
    pub fn teller(&self, identity: &str, tenure: &Tenure, told: &Sender<Told>) -> Tell {
        let (say, says) = tokio::sync::mpsc::channel(answer::WAITING);
        let (client, identity) = (self.client.clone(), identity.to_owned());
        self.runtime.spawn(answer::run(client, identity, tenure.clone(), says, told.clone()));
        Box::new(move |one| say.try_send(one).is_ok())
    }

    /// Gives the lead back and ends. Nothing may be written any more.
    pub fn resign(self, candidacy: &Candidacy, tenure: &Tenure) {
        let campaign = Campaign::new(&self.client, candidacy, tenure.clone());
        self.runtime.block_on(async {
            // What renews the lease ends first: it would take it again.
            if let Some(running) = self.campaign {
                running.abort();
                // That it was ended is no news.
                let _ = running.await;
            }
            campaign.resign().await;
        });
    }
}

/// Lists and watches all kinds until the runtime is dropped or nobody listens. A watch that ends goes on where it was; one that cannot (410
/// Gone) begins with a list.
fn follow(runtime: &Runtime, client: &Client, watches: &Config, told: &Sender<Told>) {
    runtime.spawn(kind::<Namespace>(client.clone(), watches.clone(), Kind::Namespace, told.clone()));
    runtime.spawn(kind::<Node>(client.clone(), watches.clone(), Kind::Node, told.clone()));
    runtime.spawn(kind::<Pod>(client.clone(), watches.clone(), Kind::Pod, told.clone()));
    runtime.spawn(kind::<Service>(client.clone(), watches.clone(), Kind::Service, told.clone()));
    runtime.spawn(kind::<EndpointSlice>(client.clone(), watches.clone(), Kind::Slice, told.clone()));
    runtime.spawn(kind::<Endpoints>(client.clone(), watches.clone(), Kind::Endpoints, told.clone()));
    runtime.spawn(kind::<NetworkPolicy>(client.clone(), watches.clone(), Kind::Policy, told.clone()));
}

async fn kind<K>(client: Client, watches: Config, kind: Kind, told: Sender<Told>)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Into<Object> + 'static,
{
    let api = Api::<K>::all(client);
    let mut pause = PAUSES.0;
    loop {
        let mut events = pin!(watcher(api.clone(), watches.clone()));
        let mut listed = Vec::new();
        while let Some(event) = events.next().await {
            // An API server may say 410 before a watch begins, too; and one that was restored from a copy does not know the version yet. This
            // watcher would ask for the same again and again.
            let is_gone = matches!(&event, Err(Error::WatchStartFailed(kube::Error::Api(status))) if status.code == 410 || is_ahead(status));
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
                Err(error) => Told::Trouble(kind, reason(&error)),
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

/// Whether what was asked for is later than all that the API server knows.
fn is_ahead(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
}

/// What is wrong, in a line.
fn reason(error: &Error) -> String {
    let (what, why) = match error {
        Error::InitialListFailed(why) => ("list", why),
        Error::WatchStartFailed(why) | Error::WatchFailed(why) => ("watch", why),
        Error::WatchError(status) => return format!("watch: {} ({})", status.message, status.code),
        Error::NoResourceVersion => return error.to_string(),
    };
    match why {
        kube::Error::Api(status) => format!("{what}: {} ({})", status.message, status.code),
        other => format!("{what}: {other}"),
    }
}

/// Without who set which field: nobody here asks, and it is half of many objects.
fn slim<K: Resource + Into<Object>>(mut object: K) -> Object {
    object.managed_fields_mut().clear();
    object.into()
}
