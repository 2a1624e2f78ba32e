//! What the cluster is told of its pods: whether their network is there, why not, and the addresses that they were given.
//!
//! Pure and by levels: what is said follows from what the pod says already and from what is the case, so that nothing is said twice and nothing
//! needs to be remembered.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::Object;
use crate::value::{items, member};

/// The condition of pods that says whether their network is there; pods may wait for it by a readiness gate.
pub const CONDITION: &str = "coeus.io/NetworkReady";
/// The annotation of pods that says what they were given.
pub const ANNOTATION: &str = "coeus.io/network";
/// Who says so.
pub const CONTROLLER: &str = "coeus.io/watch";
/// An event's text is no longer than this (`events.k8s.io/v1`: 1024).
const NOTE: usize = 1000;
/// What waits for so long for the same reason is worth an event.
const GRACE: Duration = Duration::from_secs(5);
/// The same is said again after so long, if it has not come to be.
const AGAIN: Duration = Duration::from_secs(10);
/// An event is renewed after so long while its reason lasts: an API server keeps it for an hour. And when its reason is there anew, but not more often than that.
const LASTS: Duration = Duration::from_secs(1800);
const RECURS: Duration = Duration::from_secs(300);

/// How far the network of a pod is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    Programmed,
    /// Its switch has not confirmed what it was told.
    Desired,
    /// It lacks something.
    Pending(String),
    /// Its switch did not take it.
    Failed(String),
    /// The datastore did not take it.
    Refused(String),
}

/// How far the network of a pod is, and its gateway.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    pub state: State,
    pub gateway: Option<String>,
}

/// An object of the cluster.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct About {
    pub kind: &'static str,
    pub api_version: &'static str,
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

/// Something to tell the cluster.
#[derive(Clone, PartialEq, Debug)]
pub enum Say {
    /// To be merged into a pod's conditions.
    Condition(About, Value),
    /// A pod's annotation, if the pod is still of that version.
    Annotation(About, Option<String>, String),
    /// Why something waits.
    Event(About, &'static str, String),
}

impl Say {
    pub fn about(&self) -> &About {
        match self {
            Say::Condition(about, _) | Say::Annotation(about, ..) | Say::Event(about, ..) => about,
        }
    }

    /// An event's name: the same for the same reason of the same object, so that the cluster itself does not take it twice.
    pub fn event_name(about: &About, reason: &str, note: &str) -> String {
        let mut hash = DefaultHasher::new();
        (about, reason, note).hash(&mut hash);
        let name: String = about.name.chars().take(200).collect();
        format!("{}.{:016x}", name.trim_end_matches(['.', '-']), hash.finish())
    }
}

/// The pods' states, by uid: of `coeus-status:objects` and `switches`. The interface that the cluster speaks of is the one without a further name.
pub fn known(objects: &Value, switches: &Value) -> BTreeMap<String, Known> {
    let texts = |value: &Value, name: &str| member(value, name).map(plain_text);
    let told: BTreeMap<String, u64> = items(member(switches, "switches").unwrap_or(switches), "switch")
        .iter()
        .filter_map(|switch| {
            Some((texts(switch, "dpid")?, texts(switch, "programmed-revision")?.parse().ok()?))
        })
        .collect();
    let mut found = BTreeMap::new();
    for object in items(member(objects, "objects").unwrap_or(objects), "object") {
        let Some(uid) = texts(object, "pod-uid") else { continue };
        let reasons: Vec<_> = items(object, "reason").iter().map(plain_text).collect();
        let reason = if reasons.is_empty() { "the reason is not known".into() } else { reasons.join("; ") };
        let desired = texts(object, "desired-revision").and_then(|text| text.parse::<u64>().ok());
        let programmed = texts(object, "switch").and_then(|switch| told.get(&switch).copied());
        let state = match texts(object, "state").as_deref() {
            Some("failed") => State::Failed(reason),
            Some("desired") if desired.zip(programmed).is_some_and(|(desired, told)| told >= desired) => {
                State::Programmed
            }
            Some("desired") => State::Desired,
            _ => State::Pending(reason),
        };
        let one = Known { state, gateway: texts(object, "gateway") };
        // A pod with several interfaces is as far as the one that is least so.
        let rank = |known: &Known| match known.state {
            State::Programmed => 0,
            State::Desired => 1,
            _ => 2,
        };
        if found.get(&uid).is_none_or(|before| rank(before) < rank(&one)) {
            found.insert(uid, one);
        }
    }
    found
}

/// Services that lack endpoints, by uid, and what they lack: of `coeus-service:service-states`.
pub fn waiting(states: &Value) -> BTreeMap<String, String> {
    let services = items(member(states, "service-states").unwrap_or(states), "service").iter();
    let waits = services.filter(|one| member(one, "state").and_then(Value::as_str) == Some("waiting"));
    let reasons = |one: &Value| items(one, "reason").iter().map(plain_text).collect::<Vec<_>>().join("; ");
    waits.filter_map(|one| Some((member(one, "uid")?.as_str()?.to_owned(), reasons(one)))).collect()
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// An object, as it is spoken of; `None`: it is about to go, and nobody asks.
pub fn about(object: &Object) -> Option<About> {
    let (kind, api_version) = object.type_meta();
    of_meta(object.meta(), kind, api_version)
}

fn of_meta(meta: &ObjectMeta, kind: &'static str, api_version: &'static str) -> Option<About> {
    if meta.deletion_timestamp.is_some() {
        return None;
    }
    let namespace = meta.namespace.clone().unwrap_or_default();
    Some(About { kind, api_version, namespace, name: meta.name.clone()?, uid: meta.uid.clone()? })
}

/// What is to be said of a pod. `given`: its annotation, if it should have one.
pub fn plan(pod: &Pod, state: &State, given: Option<&Value>, clock: Timestamp) -> Vec<Say> {
    let Some(about) = of_meta(&pod.metadata, "Pod", "v1") else { return Vec::new() };
    let mut says = Vec::new();
    let is = pod.metadata.annotations.as_ref().and_then(|all| all.get(ANNOTATION));
    if let Some(given) = given
        && is.and_then(|text| serde_json::from_str::<Value>(text).ok()).as_ref() != Some(given)
    {
        says.push(Say::Annotation(about.clone(), pod.metadata.resource_version.clone(), given.to_string()));
    }
    let (is_ready, reason, message) = words(state);
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let before = conditions.clone().find(|condition| condition.type_ == CONDITION);
    if let Some(condition) = condition(before, is_ready, reason, &message, clock) {
        says.push(Say::Condition(about.clone(), condition));
    }
    if !matches!(state, State::Programmed | State::Desired) {
        says.push(Say::Event(about, reason, message));
    }
    says
}

/// The addresses that a pod was given, as its annotation says; none if that is another pod's, from which it was copied.
pub fn had(pod: &Pod, uid: &str) -> Vec<IpAddr> {
    let text = pod.metadata.annotations.as_ref().and_then(|all| all.get(ANNOTATION));
    let Some(Ok(given)) = text.map(|text| serde_json::from_str::<Value>(text)) else { return Vec::new() };
    if member(&given, "port-id").and_then(Value::as_str) != Some(uid) {
        return Vec::new();
    }
    let texts = items(&given, "addresses").iter().filter_map(Value::as_str);
    texts.filter_map(|text| text.split('/').next()?.parse().ok()).collect()
}

fn words(state: &State) -> (bool, &'static str, String) {
    match state {
        State::Programmed => (true, "NetworkProgrammed", String::new()),
        State::Desired => (false, "NetworkProgramming", "its switch has not confirmed its flows yet".into()),
        State::Pending(reason) => (false, "NetworkPending", note(reason)),
        State::Failed(reason) => (false, "NetworkFailed", note(reason)),
        State::Refused(reason) => (false, "NetworkRefused", note(reason)),
    }
}

/// No longer than may be.
pub fn note(reason: &str) -> String {
    reason.chars().take(NOTE).collect()
}

/// The condition as it should be; `None`: it is.
fn condition(
    before: Option<&PodCondition>,
    is_ready: bool,
    reason: &str,
    message: &str,
    clock: Timestamp,
) -> Option<Value> {
    let status = if is_ready { "True" } else { "False" };
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    if before
        .is_some_and(|is| is.status == status && text(&is.reason) == reason && text(&is.message) == message)
    {
        return None;
    }
    let since = before.filter(|is| is.status == status).and_then(|is| is.last_transition_time.as_ref());
    let since = since.map_or(clock, |time| time.0);
    let since = since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Some(
        json!({"type": CONDITION, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}),
    )
}

/// Lets through what was not said just now, and of reasons to wait those that lasted.
#[derive(Default, Debug)]
pub struct Desk {
    said: BTreeMap<About, Vec<(Say, Instant)>>,
    waits: BTreeMap<About, (String, Instant)>,
}

impl Desk {
    /// Whether it is to be said now.
    pub fn admits(&mut self, say: &Say, now: Instant) -> bool {
        let said = self.said.get(say.about()).into_iter().flatten();
        let Say::Event(about, reason, note) = say else {
            return !said.clone().any(|(before, at)| before == say && now < *at + AGAIN);
        };
        let text = format!("{reason} {note}");
        let waits = self.waits.entry(about.clone()).or_insert_with(|| (text.clone(), now));
        if waits.0 != text {
            *waits = (text, now);
        }
        let since = waits.1;
        let last = said.clone().filter(|(before, _)| before == say).map(|(_, at)| *at).max();
        let is_fresh = last.is_none_or(|at| now >= at + if since > at { RECURS } else { LASTS });
        is_fresh && now >= since + GRACE
    }

    /// Whether it only waits to have lasted.
    pub fn ripens(&self, say: &Say) -> bool {
        matches!(say, Say::Event(..))
            && !self.said.get(say.about()).is_some_and(|said| said.iter().any(|(before, _)| before == say))
    }

    /// It was said.
    pub fn note(&mut self, say: &Say, now: Instant) {
        let said = self.said.entry(say.about().clone()).or_default();
        // Of an annotation or a condition only the last counts; of events some, as reasons come again.
        let is_event = matches!(say, Say::Event(..));
        said.retain(|(before, _)| match is_event {
            true => before != say,
            false => std::mem::discriminant(before) != std::mem::discriminant(say),
        });
        if said.len() > 16 {
            said.remove(0);
        }
        said.push((say.clone(), now));
    }

    /// It came to nothing, and may be said again.
    pub fn forget(&mut self, say: &Say) {
        if let Some(said) = self.said.get_mut(say.about()) {
            said.retain(|(before, _)| before != say);
        }
    }

    /// These are all that there are; what waits no longer begins anew the next time.
    pub fn keep(&mut self, there: impl Fn(&About) -> bool, waits: impl Fn(&About) -> bool) {
        self.said.retain(|about, _| there(about));
        self.waits.retain(|about, _| waits(about));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Timestamp {
        Timestamp::from_second(1_000_000_000).unwrap()
    }

    fn pod(change: impl Fn(&mut Value)) -> Pod {
        let mut read = json!({
            "metadata": {"name": "p1", "namespace": "blue", "uid": "u1", "resourceVersion": "7", "annotations": {}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}
        });
        change(&mut read);
        serde_json::from_value(read).unwrap()
    }

    fn with(status: &str, reason: &str, message: &str) -> Pod {
        let condition = json!({"type": CONDITION, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2001-01-01T00:00:00Z"});
        pod(|pod| pod["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}, condition]))
    }

    #[test]
    fn what_is_said_of_a_pod() {
        let pending = State::Pending("no port".into());
        type Said = (Option<(&'static str, &'static str, &'static str)>, Option<&'static str>);
        let cases: [(&str, Pod, State, Said); 7] = [
            (
                "first",
                pod(|_| ()),
                State::Programmed,
                (Some(("True", "NetworkProgrammed", "2001-09-09T01:46:40Z")), None),
            ),
            ("said already", with("True", "NetworkProgrammed", ""), State::Programmed, (None, None)),
            (
                "waits",
                pod(|_| ()),
                pending.clone(),
                (Some(("False", "NetworkPending", "2001-09-09T01:46:40Z")), Some("no port")),
            ),
            (
                "waits still",
                with("False", "NetworkPending", "no port"),
                pending.clone(),
                (None, Some("no port")),
            ),
            (
                "waits for another",
                with("False", "NetworkPending", "no node"),
                pending.clone(),
                (Some(("False", "NetworkPending", "2001-01-01T00:00:00Z")), Some("no port")),
            ),
            (
                "is lost",
                with("True", "NetworkProgrammed", ""),
                State::Failed("full".into()),
                (Some(("False", "NetworkFailed", "2001-09-09T01:46:40Z")), Some("full")),
            ),
            (
                "goes",
                pod(|pod| pod["metadata"]["deletionTimestamp"] = json!("2001-01-01T00:00:00Z")),
                pending,
                (None, None),
            ),
        ];
        for (what, pod, state, (condition, event)) in cases {
            let says = plan(&pod, &state, None, clock());
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let said = says.iter().find_map(|say| match say {
                Say::Condition(_, value) => {
                    Some([text(&value["status"]), text(&value["reason"]), text(&value["lastTransitionTime"])])
                }
                _ => None,
            });
            assert_eq!(
                said,
                condition.map(|(status, reason, since)| [status, reason, since].map(str::to_owned)),
                "{what}"
            );
            let told = says.iter().find_map(|say| match say {
                Say::Event(_, _, note) => Some(note.as_str()),
                _ => None,
            });
            assert_eq!(told, event, "{what}");
        }
    }

    #[test]
    fn an_annotation_is_written_where_it_differs() {
        let given = json!({"mtu": 1450, "addresses": ["10.0.0.2/24"]});
        let of = |pod: Pod| {
            let says = plan(&pod, &State::Desired, Some(&given), clock());
            says.iter().any(|say| matches!(say, Say::Annotation(_, Some(version), text) if version == "7" && text == &given.to_string()))
        };
        let as_text = |text: &str| json!({ANNOTATION: text});
        assert!(of(pod(|_| ())));
        assert!(of(pod(|pod| pod["metadata"]["annotations"] = as_text("no JSON"))));
        assert!(!of(pod(|pod| pod["metadata"]["annotations"] =
            as_text("{\"addresses\":[\"10.0.0.2/24\"],  \"mtu\":1450}"))));
    }

    #[test]
    fn what_another_had_is_not_ones_own() {
        let text = json!({"port-id": "u1", "addresses": ["10.0.0.2/24", "fd00::2/64", "x"]}).to_string();
        let pod = pod(|pod| pod["metadata"]["annotations"] = json!({ANNOTATION: text}));
        assert_eq!(had(&pod, "u1").len(), 2);
        assert_eq!(had(&pod, "u2").len(), 0);
    }

    #[test]
    fn a_pod_is_as_far_as_its_least() {
        let object = |name: &str, state: &str, revision: &str| json!({"name": name, "pod-uid": name[..2].to_owned(), "state": state, "switch": "s1", "desired-revision": revision, "reason": ["r1", "r2"], "gateway": "10.0.0.1"});
        let objects = json!({"coeus-status:objects": {"object": [
            object("u1", "desired", "5"), object("u2", "desired", "6"), object("u3", "pending", "1"), object("u4", "desired", "4"), object("u4/2", "failed", "4"), {"name": "x"}]}});
        let switches =
            json!({"coeus-status:switches": {"switch": [{"dpid": "s1", "programmed-revision": "5"}]}});
        let states = known(&objects, &switches);
        let of = |uid: &str| states.get(uid).map(|known| known.state.clone());
        assert_eq!(of("u1"), Some(State::Programmed));
        assert_eq!(of("u2"), Some(State::Desired));
        assert_eq!(of("u3"), Some(State::Pending("r1; r2".into())));
        assert_eq!(of("u4"), Some(State::Failed("r1; r2".into())));
        assert_eq!((states.len(), states["u1"].gateway.as_deref()), (4, Some("10.0.0.1")));
    }

    #[test]
    fn a_service_waits_for_what_it_says() {
        let states = json!({"coeus-service:service-states": {"service": [
            {"uid": "s1", "state": "active", "reason": ["a hint"]}, {"uid": "s2", "state": "waiting", "reason": ["r1", "r2"]}, {"uid": "s3", "state": "none"}]}});
        assert_eq!(waiting(&states), BTreeMap::from([("s2".to_owned(), "r1; r2".to_owned())]));
        assert_eq!(waiting(&Value::Null), BTreeMap::new());
    }

    #[test]
    fn nothing_is_said_twice_and_events_wait_a_while() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let about = about(&pod(|_| ()).into()).unwrap();
        let mut desk = Desk::default();
        let condition = Say::Condition(about.clone(), json!({"status": "True"}));
        assert!(desk.admits(&condition, start));
        desk.note(&condition, start);
        assert!(!desk.admits(&condition, after(9)) && desk.admits(&condition, after(10)));
        desk.forget(&condition);
        assert!(desk.admits(&condition, after(1)));
        let event = |note: &str| Say::Event(about.clone(), "NetworkPending", note.into());
        assert!(!desk.admits(&event("no port"), start), "it may be over at once");
        assert!(desk.ripens(&event("no port")) && !desk.ripens(&condition));
        assert!(!desk.admits(&event("no node"), after(4)), "another reason");
        assert!(!desk.admits(&event("no node"), after(8)) && desk.admits(&event("no node"), after(9)));
        desk.note(&event("no node"), after(9));
        assert!(!desk.ripens(&event("no node")));
        assert!(!desk.admits(&event("no node"), after(1_808)), "for the same reason there is one event");
        assert!(desk.admits(&event("no node"), after(1_809)), "which is renewed");
        desk.note(&event("no node"), after(1_809));
        assert_eq!(desk.said[&about].len(), 1);
        desk.keep(|_| true, |_| false);
        assert!(!desk.admits(&event("no node"), after(1_900)), "it waits anew");
        assert!(!desk.admits(&event("no node"), after(2_108)), "as often as it likes");
        assert!(desk.admits(&event("no node"), after(2_109)));
        assert!(
            !desk.admits(&event("no port"), after(9_001)) && desk.admits(&event("no port"), after(9_006))
        );
        desk.keep(|_| false, |_| false);
        assert!(desk.said.is_empty() && desk.waits.is_empty());
    }

    #[test]
    fn the_same_event_has_the_same_name() {
        let one = about(&pod(|_| ()).into()).unwrap();
        let name = Say::event_name(&one, "NetworkPending", "no port");
        assert_eq!(name, Say::event_name(&one, "NetworkPending", "no port"));
        assert!(name.starts_with("p1.") && name.len() == 19);
        assert_ne!(name, Say::event_name(&one, "NetworkPending", "no node"));
        assert_ne!(name, Say::event_name(&About { uid: "u2".into(), ..one }, "NetworkPending", "no port"));
    }
}
