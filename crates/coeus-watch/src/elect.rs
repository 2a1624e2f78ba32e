//! Holds the lease of the watchers, if nobody else does.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use tracing::{info, warn};

use crate::feed::Told;
use crate::lease::{Election, Step, Tenure, Timing};

/// One that would be leader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidacy {
    /// Name of the lease.
    pub lease: String,
    /// Its namespace; without one, that of the account or of the kubeconfig's context.
    pub namespace: Option<String>,
    /// By which the watchers are told apart.
    pub identity: String,
    pub timing: Timing,
}

/// The lease, as one candidate sees it.
pub struct Campaign {
    api: Api<Lease>,
    candidacy: Candidacy,
    election: Election,
    tenure: Tenure,
}

impl Campaign {
    pub fn new(client: &Client, candidacy: &Candidacy, tenure: Tenure) -> Campaign {
        let api = match &candidacy.namespace {
            Some(namespace) => Api::namespaced(client.clone(), namespace),
            None => Api::default_namespaced(client.clone()),
        };
        let election = Election::new(&candidacy.identity, candidacy.timing);
        Campaign { api, candidacy: candidacy.clone(), election, tenure }
    }

    /// Takes the lease when it is free and renews it, for as long as somebody listens.
    pub async fn run(mut self, told: Sender<Told>) {
        let mut trouble = String::new();
        loop {
            let asked = Instant::now();
            let outcome = tokio::time::timeout(self.candidacy.timing.deadline(), self.look(asked)).await;
            let outcome = outcome.unwrap_or_else(|_| Err("no answer in time".into()));
            let news = match outcome {
                Ok(true) => {
                    trouble.clear();
                    let begins =
                        self.tenure.granted(asked + self.candidacy.timing.deadline(), Instant::now());
                    begins.then_some("leader")
                }
                Ok(false) => {
                    trouble.clear();
                    self.tenure.ended().then_some("not leader any more")
                }
                Err(reason) => {
                    if trouble != reason {
                        warn!(
                            lease = self.candidacy.lease,
                            reason, "the lease cannot be had; it is asked for again"
                        );
                        trouble = reason;
                    }
                    let is_over = self.tenure.term(Instant::now()).is_none() && self.tenure.ended();
                    is_over.then_some("not leader any more: the lease could not be renewed")
                }
            };
            if let Some(news) = news {
                info!(lease = self.candidacy.lease, identity = self.candidacy.identity, "{news}");
            }
            if news.is_some() && told.send(Told::Led).is_err() {
                return;
            }
            tokio::time::sleep(self.candidacy.timing.pause()).await;
        }
    }

    /// Whether it is ours now.
    async fn look(&mut self, now: Instant) -> Result<bool, String> {
        let lease = self.api.get_opt(&self.candidacy.lease).await.map_err(|error| error.to_string())?;
        let outcome = match self.election.step(lease.as_ref(), now, Timestamp::now()) {
            Step::Wait => return Ok(false),
            Step::Create(spec) => self.api.create(&PostParams::default(), &self.written(spec, None)).await,
            Step::Replace(spec, version) => self.replace(spec, version).await,
        };
        match outcome {
            Ok(_) => Ok(true),
            // Somebody was faster; who that is, the next look says. If it was ours, it is so until its time is over.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                Err("another changed it at the same time".into())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    async fn replace(&self, spec: LeaseSpec, version: Option<String>) -> kube::Result<Lease> {
        let lease = self.written(spec, version);
        self.api.replace(&self.candidacy.lease, &PostParams::default(), &lease).await
    }

    fn written(&self, spec: LeaseSpec, version: Option<String>) -> Lease {
        let name = Some(self.candidacy.lease.clone());
        Lease {
            metadata: ObjectMeta { name, resource_version: version, ..ObjectMeta::default() },
            spec: Some(spec),
        }
    }

    /// Gives the lease back if it is ours. Nothing may be written after that is begun.
    pub async fn resign(&self) {
        self.tenure.ended();
        let give_back = async {
            if let Some(lease) = self.api.get_opt(&self.candidacy.lease).await?
                && let Some(spec) = self.election.resigned(&lease)
            {
                self.replace(spec, lease.metadata.resource_version).await?;
                info!(lease = self.candidacy.lease, "the lease is given back");
            }
            Ok::<_, kube::Error>(())
        };
        match tokio::time::timeout(Duration::from_secs(3), give_back).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "the lease is not given back; others wait until it ends"),
            Err(_) => warn!("the lease is not given back in time; others wait until it ends"),
        }
    }
}
