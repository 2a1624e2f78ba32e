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
            // It is news still, for the time after.
            if told.send(Told::Unsaid(Box::new(say))).is_err() {
                return;
            }
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
            let events = Api::<Event>::namespaced(client.clone(), &namespace);
            match events.create(&PostParams::default(), &event).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    seen_again(&events, event.metadata.name.as_deref().unwrap_or_default()).await
                }
                done => done.map(drop),
            }
        }
    }
}

/// Has an event that is there already say that it is seen again, and when: so it lasts, and nobody takes it for over.
async fn seen_again(events: &Api<Event>, name: &str) -> kube::Result<()> {
    let counted = async {
        let Some(there) = events.get_opt(name).await? else { return Ok(()) };
        let count = there.series.map_or(1, |series| series.count).saturating_add(1);
        let series = json!({"series": {"count": count, "lastObservedTime": MicroTime(Timestamp::now())}});
        events.patch(name, &PatchParams::default(), &Patch::Merge(series)).await.map(drop)
    };
    match counted.await {
        // An account that may make events and no more has made it: that was the news.
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(()),
        done => done,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_because_another_leads_comes_back() {
        let about = About {
            kind: "Pod",
            api_version: "v1",
            namespace: "blue".into(),
            name: "p1".into(),
            uid: "u1".into(),
        };
        let one = Say::Event(about, "NetworkPending", "no port".into());
        let (say, says) = tokio::sync::mpsc::channel(1);
        let (told, hear) = std::sync::mpsc::channel();
        say.try_send(one.clone()).unwrap();
        drop(say);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            // Nobody is there, and nobody is asked.
            let client = Client::try_from(kube::Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
            run(client, "one".into(), Tenure::of_election(), says, told).await;
        });
        assert_eq!(hear.try_iter().collect::<Vec<_>>(), [crate::feed::Told::Unsaid(Box::new(one))]);
    }
}
