//! Which addresses, routes and name servers an interface gets, and that the datastore knows them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use coeus_cni::{Call, Code, Dns, Error, Ip, Prefix, Request, Route};
use coeus_watch::allocate;

use super::Agent;
use super::add::Undo;
use super::addresses::{Plan, Terms};
use super::datastore::Trouble;
use super::ipam::Delegate;
use super::record::Wrote;
use super::target::Target;

/// Addresses that are tried though others were faster.
const TRIES: u32 = 200;

/// What the container's end gets.
pub(super) struct Layout {
    pub terms: Vec<Terms>,
    pub routes: Vec<Route>,
    pub dns: Dns,
}

impl Agent {
    /// Finds addresses and has the datastore know them.
    pub(super) fn lay_out(
        &self,
        (request, call): (&Request, &Call),
        target: &Target,
        plan: &Plan,
        node: IpAddr,
        undo: &mut Undo<'_>,
    ) -> Result<Layout, Error> {
        let lengths = |address: IpAddr| {
            request.addresses.iter().find(|asked| asked.0 == address).and_then(|asked| asked.1)
        };
        let own = |addresses: &[IpAddr]| -> Layout {
            let terms: Vec<Terms> =
                addresses.iter().map(|address| plan.terms(*address, lengths(*address))).collect();
            let routes = if target.is_first() { defaults(&terms) } else { Vec::new() };
            Layout { routes, dns: dns(request, plan, addresses), terms }
        };
        let asked: Vec<IpAddr> = request.addresses.iter().map(|asked| asked.0).collect();
        let layout = if target.writes == Wrote::Nothing {
            if let Some(other) = asked.iter().find(|asked| !target.addresses.contains(asked)) {
                let has: Vec<String> = target.addresses.iter().map(ToString::to_string).collect();
                let message = format!(
                    "address {other} is asked for, but the datastore has {} for {}",
                    has.join(", "),
                    target.name
                );
                return Err(Error::new(Code::Config, message));
            }
            own(&target.addresses)
        } else if !asked.is_empty() {
            self.write(target, node, &asked, undo)?;
            own(&asked)
        } else if let Some(delegate) = Delegate::of(request, call) {
            self.delegated(&delegate, request, target, plan, node, undo)?
        } else {
            own(&self.choose(target, plan, node, undo)?)
        };
        is_gateway(request, &layout)?;
        undo.save()?;
        Ok(layout)
    }

    fn delegated(
        &self,
        delegate: &Delegate,
        request: &Request,
        target: &Target,
        plan: &Plan,
        node: IpAddr,
        undo: &mut Undo<'_>,
    ) -> Result<Layout, Error> {
        delegate.is_there()?;
        // A plugin that fails may hold an address all the same: its DEL follows in any case.
        undo.record.delegate = Some(delegate.clone());
        undo.save()?;
        let given = delegate.add()?;
        let addresses: Vec<IpAddr> = given.ips.iter().map(|ip| ip.address.address).collect();
        if addresses.is_empty() {
            return Err(Error::new(Code::Ipam, format!("IPAM plugin {} gave no address", delegate.kind)));
        }
        self.write(target, node, &addresses, undo)?;
        let gateway = |ip: &Ip| ip.gateway.or_else(|| plan.terms(ip.address.address, None).gateway);
        let terms: Vec<Terms> =
            given.ips.iter().map(|ip| Terms { address: ip.address, gateway: gateway(ip) }).collect();
        let by =
            |to: &Prefix| terms.iter().find(|terms| terms.address.address.is_ipv4() == to.address.is_ipv4());
        let routes = given.routes.iter().map(|route| Route {
            gateway: route.gateway.or_else(|| by(&route.to)?.gateway),
            ..route.clone()
        });
        let own = dns(request, plan, &addresses);
        let dns = if own == Dns::default() { given.dns.clone() } else { own };
        Ok(Layout { routes: routes.collect(), dns, terms })
    }

    /// The lowest free address of the node or the network. Only the datastore knows all that are taken; it is asked when it has refused
    /// one.
    fn choose(
        &self,
        target: &Target,
        plan: &Plan,
        node: IpAddr,
        undo: &mut Undo<'_>,
    ) -> Result<Vec<IpAddr>, Error> {
        let mut known = BTreeSet::new();
        for _ in 0..TRIES {
            let chosen = {
                let mut held = self.chosen();
                let taken: BTreeSet<IpAddr> = held.union(&known).copied().collect();
                let chosen = allocate::choose(&plan.ranges, &taken, &[]).map_err(|why| {
                    Error::new(Code::Again, format!("{} on node {node}: {why}", target.name)).with(format!(
                        "give the node a pod-cidr in k8s-node:k8s-nodes-info, or network {} an allocation-pool",
                        target.namespace
                    ))
                })?;
                held.extend(&chosen);
                chosen
            };
            undo.record.is_chosen = true;
            match self.write(target, node, &chosen, undo) {
                Ok(()) => return Ok(chosen),
                Err(Trouble::Conflict(why)) => {
                    undo.record.is_chosen = false;
                    let mut held = self.chosen();
                    held.retain(|address| !chosen.contains(address));
                    drop(held);
                    known.extend(self.datastore.taken(&target.namespace)?);
                    if !chosen.iter().any(|address| known.contains(address)) {
                        return Err(Error::new(Code::Config, why));
                    }
                }
                Err(other) => return Err(other.into()),
            }
        }
        Err(Error::new(Code::Again, format!("others took each address that was chosen for {}", target.name)))
    }

    fn write(
        &self,
        target: &Target,
        node: IpAddr,
        addresses: &[IpAddr],
        undo: &mut Undo<'_>,
    ) -> Result<(), Trouble> {
        undo.record.wrote = target.writes;
        undo.record.addresses = addresses.to_vec();
        undo.save().map_err(|error| Trouble::Away(error.message))?;
        let done = match target.writes {
            Wrote::Entry => {
                self.datastore.make(&target.entry.uid, (&target.namespace, &target.pod), node, addresses)
            }
            writes => {
                let is_new = writes == Wrote::Interface;
                self.datastore.address(&target.entry.uid, &target.interface, is_new, addresses)
            }
        };
        // Who was not answered may have written all the same.
        if !matches!(done, Ok(()) | Err(Trouble::Away(_))) {
            undo.record.wrote = Wrote::Nothing;
            undo.record.addresses = Vec::new();
        }
        done
    }
}

/// A default route by the first gateway of each version.
fn defaults(terms: &[Terms]) -> Vec<Route> {
    let mut routes: Vec<Route> = Vec::new();
    for gateway in terms.iter().filter_map(|terms| terms.gateway) {
        let to = Prefix::everything(gateway);
        if routes.iter().all(|route| route.to != to) {
            routes.push(Route { to, gateway: Some(gateway), mtu: None, priority: None });
        }
    }
    routes
}

fn dns(request: &Request, plan: &Plan, addresses: &[IpAddr]) -> Dns {
    if request.config.dns != Dns::default() {
        return request.config.dns.clone();
    }
    plan.pool_of(addresses).map_or_else(Dns::default, |pool| Dns {
        nameservers: pool.dns.clone(),
        domain: pool.domain.clone().unwrap_or_default(),
        ..Dns::default()
    })
}

/// `GW` of `CNI_ARGS` is what the pod would send to.
fn is_gateway(request: &Request, layout: &Layout) -> Result<(), Error> {
    let Some(asked) = request.args.value("GW") else { return Ok(()) };
    let has: Vec<String> =
        layout.terms.iter().filter_map(|terms| terms.gateway).map(|gateway| gateway.to_string()).collect();
    if has.iter().any(|gateway| gateway == asked) {
        return Ok(());
    }
    let message = format!("CNI_ARGS: GW={asked}, but the datastore has {}", has.join(", "));
    Err(Error::new(Code::Config, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_default_route_a_version() {
        let plan = Plan::default();
        let terms: Vec<Terms> = ["10.0.0.5", "10.0.1.5", "fd00::5"]
            .iter()
            .map(|text| plan.terms(text.parse().unwrap(), None))
            .collect();
        let routes: Vec<String> =
            defaults(&terms).iter().map(|route| format!("{} {}", route.to, route.gateway.unwrap())).collect();
        assert_eq!(routes, ["0.0.0.0/0 10.0.0.1", "::/0 fe80::1"]);
    }
}
