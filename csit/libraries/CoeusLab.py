"""Robot keywords over the laboratory: nodes, pods, pings, flows. RESTCONF goes through RequestsLibrary in the suites."""

import os
import re
import signal
import sys
import types
import uuid

from robot.api import logger
from robot.api.deco import keyword, library

import carry
import frames
from lab import Lab, LabError, Outside, pod_json, run, wait_until
from packets import checks_packets


@library(scope="SUITE", auto_keywords=False)
class CoeusLab:
    def __init__(self):
        self.lab = None
        self.pods = {}

    # -- set-up and tear-down

    @keyword
    def start_lab(self, nodes=2, *options):
        """Starts the controller and `nodes` nodes that point their OVS at it, and nothing else."""
        self.lab = Lab()
        self.pods = {}
        self.lab.start_controller(*options)
        for _ in range(int(nodes)):
            self.lab.add_node()
        for node in self.lab.switched:
            wait_until(f"{node.name} has br-int", node.has_bridge)

    @keyword
    def stop_lab(self):
        if self.lab:
            logger.info(self.lab.log()[-20000:])
            self.lab.close()
            self.lab = None

    @keyword
    def controller_password(self):
        return self.lab.password

    @keyword
    def stop_controller(self, how="TERM"):
        return self.lab.stop_controller(getattr(signal, f"SIG{how}"))

    @keyword
    def start_controller(self, *options):
        self.lab.start_controller(*options)

    # -- bodies

    @keyword
    def pod_uid(self, name):
        """A uid that is the same for the same pod name, so that suites can be read."""
        return str(uuid.uuid3(uuid.NAMESPACE_DNS, name))

    @keyword
    def pod_body(self, name, namespace, node, address=None):
        host = self.node(node).local_ip
        return pod_json(self.pod_uid(f"{namespace}:{name}"), name, namespace, host, address or None)

    @keyword
    def node_body(self, node, pod_cidr):
        index = int(node)
        host = self.node(node).local_ip
        return {"k8s-node:k8s-nodes": [{
            "uid": self.pod_uid(f"node{index}"), "host-name": f"node{index}", "internal-ip-address": host, "pod-cidr": pod_cidr,
        }]}

    @keyword
    def network_pod_body(self, name, namespace, node, address, kind, segmentation_id=0):
        body = self.pod_body(name, namespace, node, address)
        body["pod:pods"][0]["interface"][0].update({"network-type": kind, "segmentation-id": int(segmentation_id)})
        return body

    # -- nodes

    @keyword
    def dpid_of(self, node):
        return self.node(node).dpid()

    @keyword
    def tables_of(self, node):
        return self.node(node).tables()

    @keyword
    def ports_of(self, node, bridge):
        return self.node(node).vsctl("list-ports", bridge).split()

    @keyword
    def port_packets(self, node, port):
        return self.node(node).port_packets(port)

    @keyword
    def kill_daemon_of(self, node, daemon):
        self.node(node).kill(daemon)

    @keyword
    def freeze_daemon_of(self, node, daemon):
        """It is there and does nothing, until it is thawed."""
        self.node(node).kill(daemon, signal.SIGSTOP)

    @keyword
    def thaw_daemon_of(self, node, daemon):
        self.node(node).kill(daemon, signal.SIGCONT)

    @keyword
    def start_daemon_of(self, node, daemon):
        getattr(self.node(node), f"start_{daemon}")()

    @keyword
    def rebuild_node(self, node):
        self.node(node).rebuild()

    @keyword
    def map_physical_network(self, node, mappings):
        node = self.node(node)
        if mappings:
            node.vsctl("set", "open_vswitch", ".", f"other_config:provider_mappings={mappings}")
        else:
            node.vsctl("remove", "open_vswitch", ".", "other_config", "provider_mappings")

    @keyword
    def doctor(self):
        """What `coeus doctor` finds; it fails where something is at fault."""
        environment = {**os.environ, "COEUS_PASSWORD": self.lab.password}
        found = run(self.lab.binary(), "doctor", "--server", "http://127.0.0.1:8181", env=environment, check=False)
        logger.info(found)
        return found

    @keyword
    def set_of_open_vswitch(self, node, command, *words):
        """`set` or `remove` of the table Open_vSwitch."""
        self.node(node).vsctl(command, "open_vswitch", ".", *words)

    @keyword
    def say_underlay_mtu(self, node, octets):
        self.node(node).vsctl("set", "open_vswitch", ".", f"other_config:underlay_mtu={octets}")

    @keyword
    def plug_outside(self, node, vlan, address):
        Outside(self.lab, self.node(node), vlan, address)

    # -- the data plane

    def node(self, number):
        return self.lab.nodes[int(number) - 1]

    @keyword
    def plug_pod(self, name, namespace, node, address=None, gateway=None):
        """Does the CNI's part: veth, addresses, port with iface-id `namespace:name` and attached-mac."""
        number = len(self.lab.pods) + 1
        mac = f"0a:00:00:00:{number >> 8:02x}:{number & 255:02x}"
        self.pods[f"{namespace}:{name}"] = self.lab.add_pod(
            self.node(node), f"{namespace}:{name}", mac, address or None, gateway or None
        )

    @keyword
    def plug_further_interface(self, name, namespace, node, uid, address, gateway=None):
        """Does the CNI's part for an interface beyond a pod's first; it is known by its interface's name afterwards."""
        self.plug_pod(f"{name}:{uid[:8]}", namespace, node, address, gateway)

    @keyword
    def add_address(self, pod, address, gateway=None):
        self.pods[pod].add_address(address, gateway or None)

    @keyword
    def dual_pod_body(self, name, namespace, node, address, *further):
        """A pod whose interface has several addresses."""
        body = self.pod_body(name, namespace, node, address)
        body["pod:pods"][0]["interface"][0]["coeus-pod:secondary-ip-address"] = list(further)
        return body

    @keyword
    def add_interface_to_body(self, body, uid, address):
        body["pod:pods"][0]["interface"].append({"uid": uid, "ip-address": address})
        return body

    @keyword
    def solicit_router(self, pod):
        """Lets the pod's kernel ask for a router, and returns its default route and what it takes for the link's MTU."""
        target = self.pods[pod]
        # The question is asked when the interface comes up. An address of its own would go with the link.
        target.inside("sysctl", "-q", "-w", "net.ipv6.conf.eth0.accept_ra=2", "net.ipv6.conf.eth0.keep_addr_on_down=1")
        target.inside("ip", "link", "set", "eth0", "mtu", "1500")
        target.inside("ip", "-6", "route", "flush", "default")
        target.inside("ip", "link", "set", "eth0", "down")
        target.inside("ip", "link", "set", "eth0", "up")
        route = wait_until(f"{pod} has a router", lambda: target.inside("ip", "-6", "route", "show", "default").strip(), 20)
        return route, int(target.inside("cat", "/proc/sys/net/ipv6/conf/eth0/mtu"))

    @keyword
    def duplicate_is_noticed(self, pod, address):
        """Gives the pod another pod's address: its kernel must find out."""
        target = self.pods[pod]
        target.inside("ip", "address", "add", address, "dev", "eth0")
        try:
            wait_until(
                f"{pod} sees that {address} is in use",
                lambda: "dadfailed" in target.inside("ip", "-6", "address", "show", "dev", "eth0"), 20,
            )
        finally:
            target.inside("ip", "address", "delete", address, "dev", "eth0")

    @keyword
    def attack(self, attacker, victim, kind, v6, victim_v6, times=5):
        """Sends each frame of a class `times` times from a raw socket in the pod. All must end in the flow of their class,
        which drops, and none may come to the victim. Returns how many were sent."""
        own, target = self.pods[attacker], self.pods[victim]
        side = lambda pod, v6: types.SimpleNamespace(mac=pod.mac, v4=pod.address, v6=v6)  # noqa: E731
        built = frames.attacks(side(own, v6), side(target, victim_v6))[kind]
        count = lambda: sum(own.node.packets(table, text) for table, text in frames.COUNTERS[kind])  # noqa: E731
        before = count()
        with carry.Watch(target.namespace) as watch:
            self.send_raw(attacker, *[frame.hex() for frame in built * int(times)])
            sent = len(built) * int(times)
            counted = lambda: count() - before >= sent  # noqa: E731
            came = []
            try:
                wait_until(f"{sent} frames are counted", lambda: came.extend(watch.frames()) or set(built) & set(came) or counted(), 20)
            except LabError as error:
                raise AssertionError(f"{kind}: {error}; {count() - before} were") from None
            arrived = sum(frame in built for frame in came + watch.frames())
        if arrived:
            raise AssertionError(f"{kind}: {arrived} of the attack came to {victim}")
        return sent

    @keyword
    def send_raw(self, pod, *hexes):
        """Sends frames as they are from the pod's interface."""
        code = (
            "import socket,sys\n"
            "s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)\n"
            "s.bind(('eth0',0))\n"
            "[s.send(bytes.fromhex(h)) for h in sys.argv[1:]]"
        )
        self.pods[pod].inside(sys.executable, "-c", code, *hexes)

    @keyword
    def unplug_pod(self, name, namespace):
        self.pods.pop(f"{namespace}:{name}").unplug()

    @keyword
    def readdress_pod(self, pod, address, gateway):
        target = self.pods[pod]
        target.inside("ip", "address", "flush", "dev", "eth0", "scope", "global")
        target.configure(address, gateway)

    @keyword
    def ping_should_pass(self, pod, address, timeout=15):
        if not self.pods[pod].reaches(address, float(timeout)):
            raise AssertionError(f"{pod} does not reach {address}")

    @keyword
    def ping_should_pass_once(self, pod, address):
        """The very first packet is answered; nothing is tried again."""
        if not self.pods[pod].ping(address, count=1, wait=2):
            raise AssertionError(f"{pod} does not reach {address} at once")

    @keyword
    @checks_packets
    def ping_should_fail(self, pod, address):
        if self.pods[pod].ping(address, count=3, wait=0.5):
            raise AssertionError(f"{pod} reaches {address} and should not")

    @keyword
    def all_pods_should_reach_all(self, namespace, timeout=20):
        """Every pod of the namespace pings every other one of it."""
        members = {name: pod for name, pod in self.pods.items() if name.startswith(f"{namespace}:")}
        count = 0
        for name, pod in members.items():
            for other, target in members.items():
                if name != other:
                    if not pod.reaches(target.address, float(timeout)):
                        raise AssertionError(f"{name} does not reach {other} at {target.address}")
                    count += 1
        logger.info(f"{count} pairs answered")
        return count

    @keyword
    def pod_should_reach_every_nth(self, pod, namespace, step=7):
        """One pod pings a sample of its namespace: for large suites."""
        members = [p for name, p in sorted(self.pods.items()) if name.startswith(f"{namespace}:") and name != pod]
        for target in members[:: int(step)]:
            if not self.pods[pod].reaches(target.address):
                raise AssertionError(f"{pod} does not reach {target.iface_id} at {target.address}")

    @keyword
    def ttl_seen(self, pod, address):
        out = self.pods[pod].inside("ping", "-n", "-c", "2", "-W", "2", address)
        return int(re.search(r"ttl=(\d+)", out).group(1))

    @keyword
    def resolved_mac(self, pod, address):
        """What the pod's kernel learned by ARP."""
        out = self.pods[pod].inside("ip", "neighbour", "show", address)
        match = re.search(r"lladdr (\S+)", out)
        if not match:
            raise AssertionError(f"{pod} has no neighbour entry for {address}: {out!r}")
        return match.group(1)

    @keyword
    def dpn_id(self, node):
        """The datapath id of a node's switch in decimal, as OpenDaylight writes it."""
        return str(int(self.node(node).dpid(), 16))

    @keyword
    def pod_port(self, pod):
        """Name and OpenFlow number of the port behind a pod."""
        target = self.pods[pod]
        return target.port, target.node.vsctl("get", "interface", target.port, "ofport").strip()

    @keyword
    def pod_mac(self, pod):
        return self.pods[pod].mac

    @keyword
    def addresses_v6(self, pod):
        """The global IPv6 addresses of the pod's interface."""
        return re.findall(r"inet6 (\S+)/", self.pods[pod].inside("ip", "-6", "address", "show", "dev", "eth0", "scope", "global"))

    @keyword
    def routes_v6(self, pod):
        return self.pods[pod].inside("ip", "-6", "route", "show", "dev", "eth0")

    @keyword
    def add_address_v6(self, pod, address):
        self.pods[pod].inside("ip", "address", "replace", address, "dev", "eth0")

    @keyword
    @checks_packets
    def tcp_transfer(self, source, target, port=5000, size=2097152, address=None):
        """Sends `size` bytes over TCP and returns how many arrived."""
        ends = self.pods[target].namespace, self.pods[source].namespace
        came, _ = carry.pour(*ends, address or self.pods[target].address, port, size)
        return came

    @keyword
    def start_ping_at_1_khz(self, pod, address, count):
        import subprocess

        self.ping = subprocess.Popen(
            ["ip", "netns", "exec", self.pods[pod].namespace, "ping", "-n", "-q", "-i", "0.001", "-c", str(count), "-W", "2", address],
            stdout=subprocess.PIPE, text=True,
        )

    @keyword
    def packets_lost(self):
        """Waits for the ping to end and returns how many of its packets were not answered."""
        out = self.ping.communicate(timeout=120)[0]
        logger.info(out)
        sent, received = re.search(r"(\d+) packets transmitted, (\d+) received", out).groups()
        return int(sent) - int(received)

    @keyword
    def forget_neighbours(self, pod):
        self.pods[pod].inside("ip", "neighbour", "flush", "all")

    @keyword
    def switch_leaf(self, node, leaf):
        return self.lab.switch_status(self.node(node)).get(leaf)

    @keyword
    def punted_packets(self):
        """Packets that any switch handed to the controller."""
        return sum(node.packets(60, "controller(") for node in self.lab.nodes)

    @keyword
    def tables_should_be_as_from_scratch(self, *options):
        """Stops the controller, computes what every switch should hold from its data alone, and compares line by line. `options`: with which it starts again."""
        self.wait_for_switches()
        self.lab.stop_controller()
        wanted = self.lab.flows_from_scratch()
        for node in self.lab.switched:
            held, should = node.tables(), wanted.get(node.dpid(), [])
            if held != should:
                missing = [line for line in should if line not in held]
                extra = [line for line in held if line not in should]
                raise AssertionError(f"{node.name}:\nmissing\n" + "\n".join(missing) + "\nextra\n" + "\n".join(extra))
            logger.info(f"{node.name}: {len(held)} flows, groups and meters, all as computed")
        self.lab.start_controller(*options)
        self.wait_for_switches()

    @keyword
    def wait_for_switches(self):
        """Waits until every switch is connected, has stopped changing, and goes by nothing that it cached before."""
        for node in self.lab.switched:
            wait_until(f"the switch of {node.name} is connected", lambda: self.lab.switch_status(node).get("connected"), 20)
            seen = []

            def settled():
                seen.append(node.tables())
                return len(seen) > 3 and seen[-1] == seen[-2] == seen[-3]

            wait_until(f"{node.name} has settled", settled, 20, pause=0.15)
        self.lab.forget_cached_flows()

    # -- the switch

    @keyword
    def flows_naming(self, node, text):
        """The flows of br-int on a node whose line contains the text."""
        return [line for line in self.node(node).flows() if text in line]

    @keyword
    def flow_count(self, node):
        return len(self.node(node).flows())

    @keyword
    def flow_count_should_become(self, node, count, timeout=15):
        node = self.node(node)
        try:
            wait_until(f"{count} flows on {node.name}", lambda: len(node.flows()) == int(count), float(timeout))
        except LabError as error:
            raise AssertionError(f"{error}; it has {len(node.flows())}:\n" + "\n".join(node.flows())) from None

    @keyword
    def stale_ports(self, node):
        return self.node(node).stale_ports()

    @keyword
    def packets_in_table(self, node, table, text=""):
        return self.node(node).packets(int(table), text)
