//! `coeus watch --kube`: keeps the datastore true to a Kubernetes cluster, as a client like any other.

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use coeus_watch::List;
use coeus_watch::feed::Feed;
use coeus_watch::writer::{Datastore, Trouble, Writer};
use serde_json::{Value, json};

use super::{Client, Failure};

/// The part of `coeus watch` that is about Kubernetes.
#[derive(clap::Args, Debug, Clone)]
#[command(next_help_heading = "Kubernetes")]
pub struct Kube {
    /// Keep the datastore true to a Kubernetes cluster until stopped, instead of showing what changes
    #[arg(long, conflicts_with_all = ["path", "content", "from", "output"])]
    pub kube: bool,
    /// How to reach the cluster; without it KUBECONFIG, ~/.kube/config, or the account of the pod that this runs in
    #[arg(long, value_name = "FILE", requires = "kube")]
    pub kubeconfig: Option<PathBuf>,
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
}

/// A UUID (RFC 9562 section 4) in lower case, as the datastore writes them.
fn uuid(text: &str) -> Result<String, String> {
    let fits = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let is_one = fits && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    if is_one {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("it is no UUID, such as 00000000-0000-0000-0000-000000000001".into())
    }
}

impl Datastore for &Client {
    fn read(&self, list: List) -> Result<Value, Trouble> {
        match self.data(list.container(), &[("content", "config".into())]) {
            Err(Failure::NotFound(_)) => Ok(json!({})),
            other => other.map_err(away),
        }
    }

    fn write(&self, patch: &Value) -> Result<(), Trouble> {
        let headers =
            [("Content-Type", "application/yang-patch+json"), ("Accept", "application/yang-data+json")];
        let answer = self
            .request("PATCH", "/rests/data", &headers, Some(patch.to_string().as_bytes()))
            .map_err(away)?;
        if (200..300).contains(&answer.status) {
            return Ok(());
        }
        match Failure::of_answer("PATCH", answer.status, &answer.body) {
            Failure::NotAllowed(reason) | Failure::Unreachable(reason) | Failure::TimedOut(reason) => {
                Err(Trouble::Away(reason))
            }
            refused if answer.status < 500 => Err(Trouble::Refused(refused.to_string())),
            failed => Err(Trouble::Away(failed.to_string())),
        }
    }
}

fn away(failure: Failure) -> Trouble {
    Trouble::Away(failure.to_string())
}

/// Follows the cluster until the process is stopped.
///
/// # Errors
/// When it cannot be told how to reach the cluster.
pub fn keep(client: &Client, asked: &Kube) -> Result<(), Failure> {
    let (tell, told) = mpsc::channel();
    let _feed = Feed::start(asked.kubeconfig.as_deref(), &tell).map_err(|error| {
        Failure::Failed(format!(
            "watch --kube: {error}; give --kubeconfig, set KUBECONFIG, or run it in a pod of the cluster"
        ))
    })?;
    drop(tell);
    Writer::new(&asked.cluster_id, client).run(&told, Duration::from_secs(asked.resync.into()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_has_a_uuid() {
        assert_eq!(
            uuid("0000000A-0000-0000-0000-000000000001").unwrap(),
            "0000000a-0000-0000-0000-000000000001"
        );
        assert!(uuid("prod").unwrap_err().contains("UUID"));
    }
}
