//! Tells the cluster what is to be told: one request after the other, and nothing while another leads.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::mpsc::Receiver;
use tracing::{debug, info, warn};

use crate::feed::Told;
use crate::lease::Tenure;
use crate::report::{ANNOTATION, About, CONTROLLER, Say};

/// So many wait to be said; who has more to say asks again.
pub const WAITING: usize = 64;
/// Between two requests: the API server has others to serve.
const PAUSE: Duration = Duration::from_millis(5);
/// What the account may not do is tried again after so long.
const FORBIDDEN: Duration = Duration::from_secs(600);
const PATIENCE: Duration = Duration::from_secs(10);

/// Says what comes until nobody has anything to say.
pub async fn run(
    client: Client,
    identity: String,
    tenure: Tenure,
    mut says: Receiver<Say>,
    told: Sender<Told>,
) {
    let mut forbidden = BTreeMap::new();
    while let Some(say) = says.recv().await {
        let what = what(&say);
        if tenure.term(Instant::now()).is_none()
            || forbidden.get(what).is_some_and(|until| Instant::now() < *until)
        {
            continue;
        }
        let outcome = tokio::time::timeout(PATIENCE, tell(&client, &identity, &say)).await;
        match outcome {
            Ok(Ok(())) => debug!(what, name = say.about().name, "told"),
            // There is another version of it, or none: the next look shows what is to be said of that.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {
                debug!(what, name = say.about().name, reason = status.message, "not told");
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                info!(what, reason = status.message, "the cluster is not told: the account may not");
                forbidden.insert(what, Instant::now() + FORBIDDEN);
            }
            failed => {
                let reason = failed.map_or_else(
                    |_| "no answer in time".into(),
                    |done| done.map_or_else(|error| error.to_string(), |()| String::new()),
                );
                warn!(what, name = say.about().name, reason, "the cluster cannot be told; it is tried again");
                if told.send(Told::Unsaid(Box::new(say))).is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn what(say: &Say) -> &'static str {
    match say {
        Say::Condition(..) => "conditions of pods",
        Say::Annotation(..) => "annotations of pods",
        Say::Event(..) => "events",
    }
}

async fn tell(client: &Client, identity: &str, say: &Say) -> kube::Result<()> {
    let params = PatchParams::default();
    let pods = |about: &About| Api::<Pod>::namespaced(client.clone(), &about.namespace);
    match say {
        // That the uid is said makes it a precondition: a pod of the same name is another.
        Say::Condition(about, condition) => {
            let patch = json!({"metadata": {"uid": about.uid}, "status": {"conditions": [condition]}});
            pods(about).patch_status(&about.name, &params, &Patch::Strategic(patch)).await.map(drop)
        }
        Say::Annotation(about, version, text) => {
            let mut meta = json!({"uid": about.uid, "annotations": {ANNOTATION: text}});
            if let Some(version) = version {
                meta["resourceVersion"] = json!(version);
            }
            let patch = json!({"metadata": meta});
            pods(about).patch(&about.name, &params, &Patch::Merge(patch)).await.map(drop)
        }
        Say::Event(about, reason, note) => {
            let event = event(about, reason, note, identity);
            let namespace = event.metadata.namespace.clone().unwrap_or_default();
            Api::<Event>::namespaced(client.clone(), &namespace)
                .create(&PostParams::default(), &event)
                .await
                .map(drop)
        }
    }
}

fn event(about: &About, reason: &str, note: &str, identity: &str) -> Event {
    // What has no namespace has its events in that one.
    let namespace = if about.namespace.is_empty() { "default" } else { &about.namespace };
    Event {
        metadata: ObjectMeta {
            name: Some(Say::event_name(about, reason, note)),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        event_time: Some(MicroTime(Timestamp::now())),
        action: Some("Network".into()),
        reason: Some(reason.to_owned()),
        note: Some(note.to_owned()),
        type_: Some("Warning".into()),
        reporting_controller: Some(CONTROLLER.into()),
        reporting_instance: Some(identity.chars().take(128).collect()),
        regarding: Some(ObjectReference {
            api_version: Some(about.api_version.into()),
            kind: Some(about.kind.into()),
            name: Some(about.name.clone()),
            namespace: Some(about.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            uid: Some(about.uid.clone()),
            ..ObjectReference::default()
        }),
        ..Event::default()
    }
}
