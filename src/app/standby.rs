//! A controller that follows the active one of its store, until it is that itself.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use tracing::{info, warn};

use super::leader::{Campaign, Leader, Lease, this_process};
use super::store::Store;
use super::{Prepared, StartError};
use crate::datastore::journal::etcd::Place;
use crate::northbound::restconf::Active;

/// Between two looks at who leads.
const PAUSE: Duration = Duration::from_millis(500);

impl Prepared {
    /// Waits until this controller is the active one of its store. `None`: nobody else can have it, there is nothing to wait for.
    ///
    /// # Errors
    /// When a file of the credentials cannot be read. An etcd that is away is waited for.
    pub async fn lead(&self) -> Result<Option<Lease>, StartError> {
        let (Store::Etcd(place), Some(relay)) = (&self.settings.store, &self.app.relay) else {
            return Ok(None);
        };
        let told = Leader {
            who: this_process("coeus serve"),
            address: own_address(self.restconf, place),
            certificate: self.certificate.clone(),
            secret: self.secret.clone(),
        };
        let mut campaign = Campaign::telling(place, &self.settings.store_credentials, &told)?;
        let mut said = None;
        loop {
            match campaign.try_once().await {
                Ok(Ok(lease)) => {
                    info!(store = %place, "this controller is the active one now");
                    return Ok(Some(lease));
                }
                Ok(Err(leader)) => {
                    if said.as_ref() != Some(&leader) {
                        info!(store = %place, "another controller is the active one ({leader}); this one follows");
                        relay.follow(Some(active(&leader)));
                        said = Some(leader);
                    }
                }
                Err(error) => {
                    // Who was the active one may be that still, and answer.
                    if said.take().is_some() {
                        warn!(%error, "who the active controller is cannot be found out");
                    }
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn active(leader: &Leader) -> Active {
    let Leader { who, address, certificate, secret } = leader.clone();
    Active { name: who, address, fingerprint: certificate, secret }
}

/// Where others reach what listens here: on all addresses means by the one that leads to etcd.
pub(super) fn own_address(listens: SocketAddr, place: &Place) -> String {
    let towards = |endpoint: &String| -> Option<IpAddr> {
        let any = if listens.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).ok()?;
        // Nothing is sent: the system chooses the address that it would send from.
        socket.connect(endpoint.as_str()).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let address = match listens.ip() {
        address if address.is_unspecified() => place.endpoints.iter().find_map(towards).unwrap_or(address),
        address => address,
    };
    SocketAddr::new(address, listens.port()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_told_an_address_that_leads_here() {
        let place = "etcd://127.0.0.1:2379/x".parse().unwrap();
        for (listens, told) in [
            ("10.0.0.7:8443", "10.0.0.7:8443"),
            ("0.0.0.0:8443", "127.0.0.1:8443"),
            ("[2001:db8::1]:1", "[2001:db8::1]:1"),
        ] {
            assert_eq!(own_address(listens.parse().unwrap(), &place), told);
        }
    }
}
