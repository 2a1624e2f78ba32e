//! `coeus watch --kube` and `coeus serve --kube`: keep the datastore true to a Kubernetes cluster, as a client like any other, over the network or inside of the
//! controller.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use coeus_watch::List;
use coeus_watch::client::{NoClient, Reach};
use coeus_watch::elect::Candidacy;
use coeus_watch::feed::{Feed, Told};
use coeus_watch::lease::{Tenure, Timing};
use coeus_watch::page;
use coeus_watch::subnets::Subnets;
use coeus_watch::tally::Tally;
use coeus_watch::writer::{Datastore, ServiceRange, Trouble, Writer};
use ipnetwork::IpNetwork;
use serde_json::{Value, json};

use super::{Client, Failure};
use crate::net::host_name;

/// The part of `coeus watch` and `coeus serve` that is about Kubernetes.
#[derive(clap::Args, Debug, Clone, Default)]
#[command(next_help_heading = "Kubernetes")]
pub struct Kube {
    /// Keep the datastore true to a Kubernetes cluster until stopped
    #[arg(long)]
    pub kube: bool,
    /// How to reach the cluster; without it the files of KUBECONFIG, else the account of the pod that this runs in, else ~/.kube/config
    #[arg(long, value_name = "FILE", requires = "kube")]
    pub kubeconfig: Option<PathBuf>,
    /// An API server that has said nothing for so many seconds is asked anew
    #[arg(long, value_name = "SECONDS", requires = "kube", default_value = "60", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub api_timeout: u32,
    /// UUID by which entries of this cluster are told from those of others
    #[arg(
        long,
        value_name = "UUID",
        requires = "kube",
        env = "COEUS_CLUSTER_ID",
        default_value = "00000000-0000-0000-0000-000000000001",
        value_parser = uuid
    )]
    pub cluster_id: String,
    /// The datastore is asked what it holds after so many seconds, though nothing happened
    #[arg(long, value_name = "SECONDS", requires = "kube", default_value = "600", value_parser = clap::value_parser!(u32).range(1..))]
    pub resync: u32,
    /// One of several watchers: the one that holds this Lease writes, the others stand by
    #[arg(long, value_name = "NAME", requires = "kube")]
    pub lease: Option<String>,
    /// Namespace of the Lease; without it that of the account or of the kubeconfig's context
    #[arg(long, value_name = "NAMESPACE", requires = "lease", env = "COEUS_LEASE_NAMESPACE")]
    pub lease_namespace: Option<String>,
    /// By which the watchers are told apart; without it the machine's name and a random number
    #[arg(long, value_name = "NAME", requires = "lease", env = "COEUS_IDENTITY")]
    pub identity: Option<String>,
    /// A leader that has not renewed the Lease for so many seconds is followed by another
    #[arg(long, value_name = "SECONDS", requires = "lease", default_value = "15", value_parser = clap::value_parser!(u16).range(2..=3600))]
    pub lease_seconds: u16,
    /// Give pods that have no address one of their node's podCIDR, else of the DHCP pools of their namespace
    #[arg(long, requires = "kube")]
    pub allocate: bool,
    /// Give nodes that have no podCIDR a subnet of this range, which their entries keep: for clusters whose controller-manager allocates none
    #[arg(long, value_name = "CIDR", requires = "kube")]
    pub cluster_cidr: Option<String>,
    /// Length of such a subnet's prefix; without it 24, of IPv6 64
    #[arg(long, value_name = "LENGTH", requires = "cluster_cidr", value_parser = clap::value_parser!(u8).range(1..=126))]
    pub node_cidr_mask_size: Option<u8>,
    /// Range of the services to which the cluster gives no clusterIP, one IPv4 and one IPv6 at most: where the datastore has no coeus-service:service-pool, this is it. Not the API
    /// server's own range
    #[arg(long, value_name = "CIDR[,CIDR]", requires = "kube", value_parser = service_range)]
    pub service_cidr: Option<ServiceRange>,
    /// Tell the cluster nothing: no condition of pods, no event, no annotation
    #[arg(long, requires = "kube", conflicts_with = "allocate")]
    pub silent: bool,
}

impl Kube {
    /// By which this watcher is told from others.
    fn name(&self) -> String {
        self.identity
            .clone()
            .filter(|given| !given.is_empty())
            .unwrap_or_else(|| format!("{}_{:08x}", host_name(), rand::random::<u32>()))
    }

    /// # Errors
    /// When the range cannot be shared out.
    fn subnets(&self) -> Result<Option<Subnets>, Failure> {
        let wrong = |why| Failure::Failed(format!("--cluster-cidr: {why}"));
        let subnets = self.cluster_cidr.as_ref().map(|cidr| Subnets::new(cidr, self.node_cidr_mask_size));
        subnets.transpose().map_err(wrong)
    }

    fn candidacy(&self, identity: &str) -> Option<Candidacy> {
        Some(Candidacy {
            lease: self.lease.clone()?,
            namespace: self.lease_namespace.clone(),
            identity: identity.to_owned(),
            timing: Timing::new(self.lease_seconds),
        })
    }
}

fn service_range(text: &str) -> Result<ServiceRange, String> {
    let mut range = ServiceRange::default();
    for one in text.split(',') {
        let prefix: IpNetwork = one.trim().parse().map_err(|error| format!("{one}: {error}"))?;
        if prefix.ip() != prefix.network() {
            return Err(format!(
                "{one} is an address; the range is {}/{}",
                prefix.network(),
                prefix.prefix()
            ));
        }
        let place = if prefix.is_ipv4() { &mut range.v4 } else { &mut range.v6 };
        if let Some(other) = place.replace(prefix.to_string()) {
            return Err(format!("{other} and {prefix} are of one version"));
        }
    }
    Ok(range)
}

fn uuid(text: &str) -> Result<String, String> {
    coeus_watch::uuid(text)
        .ok_or_else(|| "it is no UUID, such as 00000000-0000-0000-0000-000000000001".into())
}

/// Requests of RESTCONF, wherever they are carried out.
pub trait Requests {
    /// Status and body of the answer, whatever it says.
    ///
    /// # Errors
    /// When there is none.
    fn ask(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<(u16, Vec<u8>), Failure>;
}

impl Requests for &Client {
    fn ask(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<(u16, Vec<u8>), Failure> {
        let answer = self.request(method, target, headers, body)?;
        Ok((answer.status, answer.body))
    }
}

/// The datastore, by its requests.
struct Restconf<R>(R);

impl<R: Requests> Restconf<R> {
    /// What stands there; `None`: nothing.
    fn get(&self, target: &str) -> Result<Option<Value>, Trouble> {
        let headers = [("Accept", "application/yang-data+json")];
        let (status, body) =
            self.0.ask("GET", &format!("/rests/data/{target}"), &headers, None).map_err(away)?;
        match status {
            200 => serde_json::from_slice(&body)
                .map(Some)
                .map_err(|error| Trouble::Away(format!("GET {target}: the answer is not JSON: {error}"))),
            404 => Ok(None),
            _ => Err(away(Failure::of_answer(&format!("GET {target}"), status, &body))),
        }
    }
}

impl<R: Requests> Datastore for Restconf<R> {
    fn read(&self, list: List) -> Result<Value, Trouble> {
        let found = self.get(&format!("{}?content=config", list.container()))?;
        Ok(found.unwrap_or_else(|| json!({})))
    }

    fn state(&self, path: &str) -> Result<Value, Trouble> {
        Ok(self.get(path)?.unwrap_or_default())
    }

    fn write(&self, patch: &Value) -> Result<(), Trouble> {
        let headers =
            [("Content-Type", "application/yang-patch+json"), ("Accept", "application/yang-data+json")];
        let body = patch.to_string();
        let (status, body) =
            self.0.ask("PATCH", "/rests/data", &headers, Some(body.as_bytes())).map_err(away)?;
        if (200..300).contains(&status) {
            return Ok(());
        }
        match Failure::of_answer("the datastore", status, &body) {
            Failure::NotAllowed(reason) | Failure::Unreachable(reason) | Failure::TimedOut(reason) => {
                Err(Trouble::Away(reason))
            }
            taken if status == 409 && has_tag(&body, "in-use") => Err(Trouble::Taken(taken.to_string())),
            refused if status < 500 => Err(Trouble::Refused(refused.to_string())),
            failed => Err(Trouble::Away(failed.to_string())),
        }
    }
}

/// Whether one of the errors in an answer has this tag (RFC 8040 section 7.1; of a YANG Patch they stand in its status).
fn has_tag(body: &[u8], tag: &str) -> bool {
    fn looks(value: &Value, tag: &str) -> bool {
        match value {
            Value::Object(fields) => {
                fields.iter().any(|(name, value)| (name == "error-tag" && value == tag) || looks(value, tag))
            }
            Value::Array(values) => values.iter().any(|value| looks(value, tag)),
            _ => false,
        }
    }
    serde_json::from_slice(body).is_ok_and(|body| looks(&body, tag))
}

fn away(failure: Failure) -> Trouble {
    Trouble::Away(failure.to_string())
}

/// One that follows a cluster.
pub struct Follower {
    asked: Kube,
    subnets: Option<Subnets>,
    feed: Feed,
    tell: mpsc::Sender<Told>,
    told: mpsc::Receiver<Told>,
    tenure: Tenure,
    tally: Tally,
}

impl Follower {
    /// Begins to listen to the cluster.
    ///
    /// # Errors
    /// When it cannot be told how to reach the cluster, or a range cannot be shared out.
    pub fn start(asked: &Kube) -> Result<Follower, Failure> {
        let subnets = asked.subnets()?;
        let (tell, told) = mpsc::channel();
        let reach = Reach { kubeconfig: asked.kubeconfig.clone(), patience: asked.api_timeout };
        let feed = Feed::start(&reach, &tell).map_err(unknown)?;
        let tenure = if asked.lease.is_some() { Tenure::of_election() } else { Tenure::always() };
        Ok(Follower { asked: asked.clone(), subnets, feed, tell, told, tenure, tally: Tally::default() })
    }

    /// By which it is told to stop.
    pub fn stopper(&self) -> impl Fn() + Send + use<> {
        let tell = self.tell.clone();
        // Nobody may listen any more; then it has stopped.
        move || drop(tell.send(Told::Stop))
    }

    /// Its numbers, as a page that OpenMetrics has.
    pub fn numbers(&self) -> impl Fn() -> String + Send + Sync + use<> {
        let (tally, tenure) = (self.tally.clone(), self.tenure.clone());
        move || tally.text(&tenure, Instant::now())
    }

    /// Keeps the datastore true until it is told to stop; then gives the lead back.
    pub fn run(mut self, requests: impl Requests) {
        let identity = self.asked.name();
        let candidacy = self.asked.candidacy(&identity);
        let tenure = self.tenure;
        if let Some(candidacy) = &candidacy {
            self.feed.campaign(candidacy, &tenure, &self.tell);
        }
        let teller = (!self.asked.silent).then(|| self.feed.teller(&identity, &tenure, &self.tell));
        drop(self.tell);
        let writer = Writer::new(&self.asked.cluster_id, Restconf(requests), tenure.clone());
        let resync = Duration::from_secs(self.asked.resync.into());
        let range = self.asked.service_cidr.clone().unwrap_or_default();
        let writer = writer.ranging(range).subnetting(self.subnets);
        writer.giving(self.asked.allocate).telling(teller).counting(self.tally).run(&self.told, resync);
        if let Some(candidacy) = &candidacy {
            self.feed.resign(candidacy, &tenure);
        }
    }
}

fn unknown(error: NoClient) -> Failure {
    Failure::Failed(format!(
        "--kube: {error}; give --kubeconfig, set KUBECONFIG, or run it in a pod of the cluster"
    ))
}

/// Follows the cluster until the process is stopped. `metrics`: where it is told how that goes.
///
/// # Errors
/// When it cannot be told how to reach the cluster, or the address cannot be had.
pub fn keep(client: &Client, asked: &Kube, metrics: Option<SocketAddr>) -> Result<(), Failure> {
    let follower = Follower::start(asked)?;
    if let Some(at) = metrics {
        page::serve(at, follower.tally.clone(), follower.tenure.clone())
            .map_err(|error| Failure::Failed(format!("--metrics {at}: {error}")))?;
    }
    follower.feed.tell_signals(&follower.tell).map_err(unknown)?;
    follower.run(client);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_told_by_its_tag() {
        let of = |tag: &str| json!({"ietf-yang-patch:yang-patch-status": {"errors": {"error": [{"error-tag": tag, "error-message": "in-use"}]}}});
        assert!(has_tag(of("in-use").to_string().as_bytes(), "in-use"));
        assert!(!has_tag(of("invalid-value").to_string().as_bytes(), "in-use"));
        assert!(!has_tag(b"in-use", "in-use"));
    }

    #[test]
    fn a_range_of_services_has_a_prefix_of_a_version() {
        let range = service_range("10.97.0.0/16,fd00:97::/112").unwrap();
        assert_eq!((range.v4.as_deref(), range.v6.as_deref()), (Some("10.97.0.0/16"), Some("fd00:97::/112")));
        assert_eq!(service_range("fd00:97::/112").unwrap().v4, None);
        for (text, why) in
            [("10.97.0.1/16", "10.97.0.0/16"), ("10.97.0.0/16,10.98.0.0/16", "one version"), ("x", "x")]
        {
            assert!(service_range(text).unwrap_err().contains(why), "{text}");
        }
    }

    #[test]
    fn a_cluster_has_a_uuid() {
        assert_eq!(
            uuid("0000000A-0000-0000-0000-000000000001").unwrap(),
            "0000000a-0000-0000-0000-000000000001"
        );
        assert!(uuid("prod").unwrap_err().contains("UUID"));
    }
}
