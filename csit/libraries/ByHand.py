"""Bodies of what netvirt's users write by hand: instances, and the three entries that make an interface."""

from robot.api.deco import keyword, library


@library(scope="GLOBAL", auto_keywords=False)
class ByHand:
    @keyword
    def elan_body(self, name, vni):
        return {"elan:elan-instance": [{
            "elan-instance-name": name, "segment-type": "elan:segment-type-vxlan", "segmentation-id": int(vni),
        }]}

    @keyword
    def vpn_body(self, name, rd, imports="", exports=""):
        """A VPN with a route target to import and one to export, or the same for both."""
        kinds = {imports: "import_extcommunity", exports: "export_extcommunity"} if imports != exports else {imports: "both"}
        targets = [{"vrfRTValue": target, "vrfRTType": kind} for target, kind in kinds.items() if target]
        family = {"route-distinguisher": [rd], **({"vpnTargets": {"vpnTarget": targets}} if targets else {})}
        return {"l3vpn:vpn-instance": [{"vpn-instance-name": name, "ipv4-family": family}]}

    @keyword
    def interface_body(self, name, port=""):
        """An interface on the port with its name as `iface-id`, or on one that is named."""
        entry = {"name": name, "type": "iana-if-type:l2vlan", "enabled": True, "odl-interface:l2vlan-mode": "trunk"}
        return {"ietf-interfaces:interface": [{**entry, **({"odl-interface:parent-interface": port} if port else {})}]}

    @keyword
    def member_body(self, name, elan):
        return {"elan:elan-interface": [{"name": name, "elan-instance-name": elan}]}

    @keyword
    def routed_body(self, name, vpn, *addresses):
        """An interface of a VPN with its addresses, each as `address-gateway`; `vpn+vpn` has the second as its Internet VPN."""
        adjacencies = []
        for address, gateway in (pair.split("-") for pair in addresses):
            adjacencies.append({
                "ip_address": f"{address}/{128 if ':' in address else 32}",
                "adjacency_type": "primary-adjacency", "subnet_gateway_ip": gateway,
            })
        first, *internet = vpn.split("+")
        vpns = [{"vpn-name": first}]
        vpns += [{"vpn-name": other, "associated-subnet-type": "V6InternetVPN"} for other in internet]
        entry = {"name": name, "vpn-instance-names": vpns, "odl-l3vpn:adjacency": adjacencies}
        return {"l3vpn:vpn-interface": [entry]}
