//! MAC addresses of floating addresses that cannot be.

use super::super::super::apply::Model;
use super::super::PortMac;
use super::super::port_macs::is_made;
use super::{Coming, FaultPlace, FloatingFault};
use crate::schema::Text;

impl Model {
    /// The MAC address of a floating address is one that nobody else has on an external network.
    pub(super) fn check_port_mac(
        &self,
        id: &Text,
        row: &PortMac,
        coming: &Coming<'_>,
    ) -> Result<(), FloatingFault> {
        let fault = |in_use, what: String| {
            let message = format!("floating-ip-port-info: floating ip {id}: {what}");
            Err(FloatingFault { at: FaultPlace::PortMac(id.clone()), in_use, message })
        };
        let Some(written) = row.written.as_ref().filter(|_| !row.deleted) else { return Ok(()) };
        let Some(mac) = row.mac() else {
            let next = "give one of a single interface, such as fa:16:3e:00:00:01, or leave it out";
            return fault(
                false,
                format!("floating-ip-port-mac-address {written:?} is no such address; {next}"),
            );
        };
        if is_made(mac) {
            let next = "leave it out, and the switch answers with the one that follows from the address";
            return fault(
                false,
                format!(
                    "floating-ip-port-mac-address {mac} is of those that are made of IP addresses (02:c0, 02:c6); {next}"
                ),
            );
        }
        let known = self.external.macs.iter().filter(|(other, _)| !coming.macs.contains_key(other));
        let fresh = coming.macs.iter().filter_map(|(other, row)| Some((*other, (*row)?.mac()?)));
        let mut all = known.map(|(other, mac)| (other, *mac)).chain(fresh);
        if let Some((other, _)) = all.find(|(other, has)| *other != id && *has == mac) {
            return fault(
                true,
                format!(
                    "floating-ip-port-mac-address {mac} is that of floating ip {other}; choose another one"
                ),
            );
        }
        Ok(())
    }
}
