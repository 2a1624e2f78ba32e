"""Robot keywords for virtual machines: a node whose only way to pods elsewhere is one port of another node's br-int.

A machine is played by a namespace with an Open vSwitch of its own, that no controller knows; tagged ports of its bridge stand for VLAN
devices, which not every kernel has.
"""

from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

from beside import Beside
from lab import LabError, run, wait_until

BRIDGE = "br-trunk"


@library(scope="SUITE", auto_keywords=False)
class Machines(Beside):
    @property
    def cni(self):
        return BuiltIn().get_library_instance("Cni")

    @keyword
    def make_machine(self, on, name):
        """A machine on a node, whose port there has that iface-id; returns the number that it has as a node."""
        lab, host = self.lab, self.coeus.node(on)
        machine = lab.add_node(connect=False)
        machine.bridge = BRIDGE
        outer = f"vm{machine.index}"
        run("ip", "-n", host.namespace, "link", "add", outer, "type", "veth", "peer", "name", "trunk0", "netns", machine.namespace)
        run("ip", "-n", host.namespace, "link", "set", outer, "up")
        run("ip", "-n", machine.namespace, "link", "set", "trunk0", "up")
        machine.vsctl("add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev", "--", "add-port", BRIDGE, "trunk0")
        wait_until(f"{host.name} has br-int", host.has_bridge)
        self.plug_machine(on, machine.index, name)
        return machine.index

    @keyword
    def plug_machine(self, on, machine, name):
        port = f"vm{machine}"
        self.coeus.node(on).vsctl("add-port", "br-int", port, "--", "set", "interface", port, f'external_ids:iface-id="{name}"')

    @keyword
    def unplug_machine(self, on, machine):
        self.coeus.node(on).vsctl("del-port", "br-int", f"vm{machine}")

    @keyword
    def start_agent_in_machine(self, machine, name, *options):
        node = self.coeus.node(machine)
        self.cni.start_agent(machine, words=["--address", node.local_ip, "--trunk", name, "--bridge", BRIDGE, *options])

    @keyword
    def tag_of(self, pod):
        known = self.coeus.pods[pod]
        return int(known.node.vsctl("get", "port", known.port, "tag"))

    @keyword
    def sub_port_of(self, pod):
        """What the datastore says of it: its parent and its tag; nothing if it is none."""
        body = self.lab.request("GET", "/restconf/config/pod:coe")[1] or {}
        namespace, name = pod.split(":")
        for entry in body.get("pod:coe", {}).get("pods", []):
            if (entry.get("network-NS"), entry.get("name")) == (namespace, name):
                trunk = entry["interface"][0].get("coeus-pod:trunk")
                return trunk and (trunk["parent-interface"], trunk["vlan-id"])
        return None

    @keyword
    def kernel_has_vlans(self):
        """Whether VLAN devices can be made."""
        try:
            run("ip", "link", "add", "link", "lo", "name", "vlan-try", "type", "vlan", "id", "7")
        except LabError:
            return False
        run("ip", "link", "delete", "vlan-try", check=False)
        return True
