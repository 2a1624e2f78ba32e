//! Lists and watches of a cluster's API, as a stream of what is told.

use std::fmt::Debug;
use std::pin::pin;
use std::sync::mpsc::Sender;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::{Kind, Name, Object};

/// What a list or a watch says.
#[derive(Clone, PartialEq, Debug)]
pub enum Told {
    /// These are all objects of the kind.
    All(Kind, Vec<Object>),
    Is(Object),
    Gone(Kind, Name),
    /// The API cannot be heard; it is asked again.
    Trouble(Kind, String),
}

/// Lists and watches all kinds until the set is dropped or nobody listens. A watch that ends goes on where it was; one that cannot (410 Gone)
/// begins with a list. Between attempts that fail are 0.8 s, then more, at most 30 s.
pub fn follow(client: &Client, told: &Sender<Told>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(kind::<Namespace>(client.clone(), Kind::Namespace, Object::Namespace, told.clone()));
    tasks.spawn(kind::<Node>(client.clone(), Kind::Node, Object::Node, told.clone()));
    tasks.spawn(kind::<Pod>(client.clone(), Kind::Pod, Object::Pod, told.clone()));
    tasks.spawn(kind::<Service>(client.clone(), Kind::Service, Object::Service, told.clone()));
    tasks.spawn(kind::<EndpointSlice>(client.clone(), Kind::Slice, Object::Slice, told.clone()));
    tasks.spawn(kind::<NetworkPolicy>(client.clone(), Kind::Policy, Object::Policy, told.clone()));
    tasks
}

async fn kind<K>(client: Client, kind: Kind, wrap: fn(K) -> Object, told: Sender<Told>)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let events = watch(Api::<K>::all(client), watcher::Config::default()).default_backoff();
    let mut events = pin!(events);
    let mut listed = Vec::new();
    // Nobody here asks who set which field, and it is half of many objects.
    let slim = |mut object: K| {
        object.managed_fields_mut().clear();
        wrap(object)
    };
    while let Some(event) = events.next().await {
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
            Ok(Event::Delete(object)) => Told::Gone(kind, slim(object).name()),
            Err(error) => Told::Trouble(kind, error.to_string()),
        };
        if told.send(news).is_err() {
            return;
        }
    }
}
