"""Robot keywords for switches that several controllers share: who is each one's master, and how long a change of that takes."""

import json
import time

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

from Etcd import CONTROLLERS
from lab import come_to, wait_until

NAMES = {f"tcp:{address}:6653": name for name, (address, *_) in CONTROLLERS.items()}


@library(scope="SUITE", auto_keywords=False)
class Owners:
    @property
    def coeus(self):
        return BuiltIn().get_library_instance("CoeusLab")

    @property
    def etcd(self):
        return BuiltIn().get_library_instance("Etcd")

    @keyword
    def add_nodes(self, *dpids):
        """A node a datapath id, whose switch knows the addresses of all controllers; which of them comes first follows from the id."""
        lab, managers = self.coeus.lab, [f"tcp:{address}:6640" for address, *_ in CONTROLLERS.values()]
        for dpid in dpids:
            node = lab.add_node(connect=False)
            node.vsctl("add-br", "br-int", "--", "set", "bridge", "br-int", "datapath_type=netdev", "fail_mode=secure",
                       f"other_config:datapath-id={int(dpid):016x}")
            node.vsctl("set-manager", *managers)
            for manager in managers:
                node.vsctl("set", "manager", manager, "max_backoff=1000")

    def roles(self, node):
        """Controller and role, as the switch sees them."""
        text = node.vsctl("--format=json", "--columns=target,role,is_connected", "list", "controller")
        return {NAMES[target]: role for target, role, connected in json.loads(text)["data"] if connected and role}

    def masters(self):
        """The masters of each switch, in the order of the nodes."""
        roles = [self.roles(node) for node in self.coeus.lab.nodes]
        logger.info(roles)
        return ["".join(name for name, role in sorted(of.items()) if role == "master") for of in roles]

    def others(self):
        return [self.roles(node) for node in self.coeus.lab.nodes]

    @keyword
    def masters_should_become(self, *names, seconds=20):
        """Waits until each switch has this one master, and nobody else may change it. Open vSwitch tells of roles every five seconds."""
        wanted = list(names)
        come_to("the masters", self.masters, lambda found: found == wanted, float(seconds))
        come_to("all others are slaves", self.others, lambda all: all and not any("other" in of.values() for of in all), 10)

    @keyword
    def masters_should_stay(self, *names, seconds=4):
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            found = self.masters()
            assert found == list(names), f"{found}, not {list(names)}"
            time.sleep(0.2)

    @keyword
    def masters_should_stay_single(self, seconds):
        """No switch ever has two masters, and in the end each has one."""
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            found = self.masters()
            assert all(len(names) < 2 for names in found), f"{found}"
            time.sleep(0.2)
        come_to("one master each", self.masters, lambda found: all(len(names) == 1 for names in found), 5)

    @keyword
    def now(self):
        return time.monotonic()

    @keyword
    def seconds_since(self, begun):
        seconds = time.monotonic() - begun
        logger.info(f"{seconds:.1f} s", also_console=True)
        return seconds

    @keyword
    def all_should_tell_the_same_of_switches(self, *names):
        """What is shown of switches is read from each controller; only when they were heard last may differ."""

        def told(name):
            status, _, text = self.etcd.ask(name, "GET", "/rests/data/coeus-status:switches")
            if status != 200:
                return status
            switches = json.loads(text)["coeus-status:switches"]["switch"]
            for switch in switches:
                switch.get("openflow-session", {}).pop("last-seen", None)
                switch.get("ovsdb-session", {}).pop("last-seen", None)
            return sorted(switches, key=lambda switch: switch["dpid"])

        def all_told():
            return [told(name) for name in names]

        def same(all_of_them):
            first = all_of_them[0]
            return isinstance(first, list) and len(first) == len(self.coeus.lab.nodes) and all(one["connected"] for one in first) and all(one == first for one in all_of_them)

        come_to("they tell the same", all_told, same, 20)

    @keyword
    def counters_should_come_from_all(self, *names):
        """Counters of each switch's flows are read through each controller."""
        for name in names:
            for node in self.coeus.lab.nodes:
                number = int(node.dpid(), 16)
                path = f"/rests/data/opendaylight-inventory:nodes/node=openflow%3A{number}"

                def counted():
                    status, _, text = self.etcd.ask(name, "GET", path)
                    return status == 200 and "packets-matched" in text

                wait_until(f"{name} tells the counters of {node.name}", counted, 10)

    @keyword
    def written_and_programmed(self, name, path, body):
        """A write that waits for the switches; what was said of each switch."""
        status, _, text = self.etcd.ask(name, "PUT", f"{path}?wait=programmed&timeout=20s", body, timeout=30)
        logger.info(f"{status} {text}")
        assert status in (200, 201), f"{status} {text}"
        return json.loads(text)
