"""Robot keywords for what lies between pods and everything else: the node, and what is behind an interface."""

import re
import subprocess

from robot.api import logger
from robot.api.deco import keyword, library

import carry
from beside import Beside
from lab import run, wait_until
from packets import checks_packets

PORT = "coeus0"


def listens(namespace, port):
    """Waits until somebody in a namespace listens at a port, of TCP or UDP."""
    def is_there():
        return f":{port} " in run("ip", "netns", "exec", namespace, "ss", "-n", "-l", "-t", "-u")

    wait_until(f"a listener at port {port} of {namespace}", is_there)


@library(scope="SUITE", auto_keywords=False)
class NorthSouth(Beside):
    def node(self, number):
        return self.coeus.node(number)

    # -- the node

    @keyword
    def route_pods_of_node(self, node, pod_cidr):
        """What a node's administrator does once: the port is up, and the pods are behind it."""
        node = self.node(node)
        wait_until(f"{node.name} has {PORT}", lambda: PORT in node.vsctl("list-ports", "br-int").split())
        wait_until(f"the device {PORT} of {node.name}", lambda: PORT in node.inside("ls", "/sys/class/net").split())
        node.inside("ip", "link", "set", PORT, "up")
        # The userspace datapath forwards half-made checksums as they are; let the node finish them.
        node.inside("ethtool", "-K", PORT, "tx", "off")
        node.inside("ip", "route", "replace", pod_cidr, "dev", PORT, "src", node.local_ip)

    @keyword
    def node_address(self, node):
        return self.node(node).local_ip

    @keyword
    def node_forwards(self, node):
        self.node(node).inside("sysctl", "-q", "-w", "net.ipv4.ip_forward=1")

    def node_reaches(self, node, address, timeout):
        def answered():
            out = self.node(node).inside("ping", "-n", "-c", "1", "-W", "1", address, check=False)
            return "1 received" in out

        wait_until(f"node {node} reaches {address}", answered, timeout)

    @keyword
    def node_should_reach(self, node, address, timeout=15):
        self.node_reaches(node, address, float(timeout))

    @keyword
    @checks_packets
    def node_should_not_reach(self, node, address):
        out = self.node(node).inside("ping", "-n", "-c", "3", "-i", "0.2", "-W", "1", address, check=False)
        logger.info(out)
        if " 0 received" not in out:
            raise AssertionError(f"node {node} reaches {address} and should not")

    @keyword
    @checks_packets
    def health_check(self, node, pod, port=8080, size=1048576):
        """The node connects to a pod over TCP; answers how many bytes arrived there."""
        pod = self.coeus.pods[pod]
        return carry.pour(pod.namespace, self.node(node).namespace, pod.address, port, size)[0]

    @keyword
    @checks_packets
    def connect_to_node(self, pod, node, port=10250, size=1048576):
        """A pod connects to a node over TCP; answers how many bytes arrived there."""
        node = self.node(node)
        return carry.pour(node.namespace, self.coeus.pods[pod].namespace, node.local_ip, port, size)[0]

    @keyword
    @checks_packets
    def ping_from(self, pod, source, address):
        """Pings from an address that the pod has beside its own; answers how many answers came."""
        target = self.coeus.pods[pod]
        out = target.inside("ping", "-n", "-c", "5", "-i", "0.2", "-W", "1", "-I", source, address, check=False)
        logger.info(out)
        return int(out.split(" received")[0].rsplit(" ", 1)[1])

    # -- outside

    @keyword
    def connect_outside(self, node, source):
        """A host beyond a node that knows of no pods: only of the address that the node's pods come from. Answers its address."""
        lab, node = self.lab, self.node(node)
        self.outside = f"{lab.tag}out"
        lab.add_namespace(self.outside)
        node.inside("ip", "link", "add", "ext0", "type", "veth", "peer", "name", "eth0", "netns", self.outside)
        for namespace, device, address in ((node.namespace, "ext0", "198.51.100.1/24"), (self.outside, "eth0", "198.51.100.2/24")):
            run("ip", "-n", namespace, "address", "add", address, "dev", device)
            run("ip", "-n", namespace, "link", "set", device, "up")
            run("ip", "netns", "exec", namespace, "ethtool", "-K", device, "tx", "off")
        run("ip", "-n", self.outside, "route", "add", source, "via", "198.51.100.1")
        node.inside("ip", "route", "replace", source, "dev", PORT)
        return "198.51.100.2"

    @keyword
    def connect_outside_v6(self, node, *sources):
        """The same host with an IPv6 address; it knows of these addresses behind the node. Answers its address."""
        node = self.node(node)
        node.inside("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
        for namespace, device, address in ((node.namespace, "ext0", "2001:db8:9::1/64"), (self.outside, "eth0", "2001:db8:9::2/64")):
            run("ip", "-n", namespace, "address", "add", address, "dev", device, "nodad")
        for source in sources:
            run("ip", "-n", self.outside, "route", "add", source, "via", "2001:db8:9::1")
            node.inside("ip", "-6", "route", "replace", source, "dev", PORT)
        return "2001:db8:9::2"

    @keyword
    @checks_packets
    def source_seen_outside(self, pod, address):
        """Where a connection of the pod comes from, as the host outside sees it."""
        listener = subprocess.Popen(
            ["ip", "netns", "exec", self.outside, "timeout", "15", "nc", "-v", "-n", *(["-6"] if ":" in address else []), "-l", "8081"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        try:
            listens(self.outside, 8081)
            self.coeus.pods[pod].inside("sh", "-c", f"echo | timeout 10 nc -N -w 5 {address} 8081")
            return listener.communicate(timeout=20)[1]
        finally:
            listener.kill()

    @keyword
    @checks_packets
    def outside_should_not_reach(self, address):
        out = run("ip", "netns", "exec", self.outside, "ping", "-n", "-c", "3", "-i", "0.2", "-W", "1", address, check=False)
        if " 0 received" not in out:
            raise AssertionError(f"{address} is reached from outside, unasked")

    @keyword
    @checks_packets
    def outside_should_reach(self, address):
        out = run("ip", "netns", "exec", self.outside, "ping", "-n", "-c", "3", "-i", "0.2", "-W", "1", address, check=False)
        if " 0 received" in out:
            raise AssertionError(f"{address} is not reached from outside")

    @keyword
    @checks_packets
    def connect_to_outside(self, pod, address, port=8080, size=1048576):
        """A pod connects to the host outside over TCP; answers how many bytes arrived there."""
        return carry.pour(self.outside, self.coeus.pods[pod].namespace, address, port, size)[0]

    @keyword
    def connections_outside(self, node, address, zones=("65520",)):
        """How many connections of source NAT a node's switch remembers that began at the address; ICMPv6 ends by itself."""
        dump = self.node(node).appctl("dpctl/dump-conntrack")
        logger.info(dump)

        def is_one(line):
            zone = re.search(r"zone=(\d+)", line)
            began_there = f"orig=(src={address}," in line and not line.startswith("icmpv6")
            return began_there and zone is not None and zone.group(1) in zones

        return sum(map(is_one, dump.splitlines()))

    @keyword
    def router_connections(self, node, address):
        """The same of what the pods of VPNs share."""
        return self.connections_outside(node, address, [str(zone) for zone in range(100, 5000)])

    @keyword
    def connections_outside_should_be(self, node, address, count):
        found = self.connections_outside(node, address)
        if found != int(count):
            raise AssertionError(f"node {node} remembers {found} connections of {address}, not {count}")

    @keyword
    def begin_stream_outside(self, pod, address, port=5300):
        """One datagram of the pod opens a way back; the host outside uses it from now on, every tenth of a second."""
        code = (
            "import socket,time;s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);"
            f"s.bind(('0.0.0.0',{port}));s.settimeout(10);_,peer=s.recvfrom(99)\n"
            "for _ in range(600): s.sendto(b'stream',peer);time.sleep(.1)"
        )
        self.stream = subprocess.Popen(["ip", "netns", "exec", self.outside, "python3", "-c", code])
        listens(self.outside, port)
        self.coeus.pods[pod].inside("sh", "-c", f"echo hello | timeout 1 nc -u -p 5301 -w 1 {address} {port} || true")

    @keyword
    def end_stream_outside(self):
        self.stream.kill()
        self.stream.wait(timeout=10)

    @keyword
    def stream_packets(self, pod, seconds=2):
        """How many packets of the stream arrive at the pod."""
        out = self.coeus.pods[pod].inside(
            "timeout", str(seconds), "tcpdump", "-n", "-l", "-i", "eth0", "udp", "and", "src", "port", "5300", check=False
        )
        return sum(1 for line in out.splitlines() if "> " in line)

    @keyword
    def source_nat_body(self, mode, node=None, source=None, source_v6=None):
        nat = {"mode": mode}
        if node:
            nat["node"] = [{"address": self.node(node).local_ip, "source-address": source}]
            if source_v6:
                nat["node"][0]["ipv6-source-address"] = source_v6
        return {"coeus-north-south:source-nat": nat}

    # -- interfaces written by hand

    @keyword
    def plug_interface(self, name, node, address, gateway):
        """A namespace whose port carries the interface of that name."""
        number = len(self.lab.pods) + 1
        mac = f"0a:00:00:01:{number >> 8:02x}:{number & 255:02x}"
        self.coeus.pods[name] = self.lab.add_pod(self.node(node), name, mac, address, gateway)

    @keyword
    def put_behind(self, pod, address):
        """The pod is a router with this address behind it."""
        self.coeus.pods[pod].inside("ip", "address", "add", address, "dev", "lo")

    @keyword
    def interface_bodies(self, name, elan, vpn, address, gateway):
        """Path and body of each part of an interface that is written by hand."""
        adjacency = {"ip_address": f"{address}/32", "adjacency_type": "primary-adjacency", "subnet_gateway_ip": gateway}
        return [
            (f"ietf-interfaces:interfaces/interface/{name}",
             {"ietf-interfaces:interface": [{"name": name, "type": "iana-if-type:l2vlan", "enabled": True}]}),
            (f"elan:elan-interfaces/elan-interface/{name}",
             {"elan:elan-interface": [{"name": name, "elan-instance-name": elan}]}),
            (f"l3vpn:vpn-interfaces/vpn-interface/{name}",
             {"l3vpn:vpn-interface": [{"name": name, "vpn-instance-names": [{"vpn-name": vpn}],
                                       "odl-l3vpn:adjacency": [adjacency]}]}),
        ]

    @keyword
    def route_body(self, prefix, *next_hops):
        return {"odl-l3vpn:adjacency": [
            {"ip_address": prefix, "adjacency_type": "extra-route", "next-hop-ip-list": list(next_hops)}
        ]}

    @keyword
    def answer_with_name(self, pod, address, port=7000):
        """Who connects to the address at the pod is told the pod's name."""
        code = (
            f"import socket;s=socket.create_server(('{address}',{port}),backlog=200)\n"
            f"while True:\n c=s.accept()[0];c.settimeout(2);c.sendall(b'{pod}')\n"
            " try: c.recv(1)\n"
            " except OSError: pass\n"
            " c.close()"
        )
        namespace = self.coeus.pods[pod].namespace
        self.answerers = getattr(self, "answerers", [])
        self.answerers.append(subprocess.Popen(["ip", "netns", "exec", namespace, "python3", "-c", code]))
        listens(namespace, port)

    @keyword
    def answer_no_questions(self, pod):
        """The pod answers no ARP any more; all else of it stays as it is."""
        self.coeus.pods[pod].inside("sysctl", "-q", "-w", "net.ipv4.conf.eth0.arp_ignore=8")

    @keyword
    def answer_questions_again(self, pod):
        self.coeus.pods[pod].inside("sysctl", "-q", "-w", "net.ipv4.conf.eth0.arp_ignore=0")

    @keyword
    def end_answers(self):
        for answerer in getattr(self, "answerers", []):
            answerer.kill()
            answerer.wait(timeout=10)

    @keyword
    def who_answers(self, pod, address, port=7000, connections=96):
        """Connects from as many ports; who answered, by port. The connections are reset, so that the ports are free again."""
        code = (
            "import socket,struct\n"
            f"for port in range(20000,20000+{connections}):\n"
            " s=socket.socket();s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1);s.bind(('',port));s.settimeout(2)\n"
            " s.setsockopt(socket.SOL_SOCKET,socket.SO_LINGER,struct.pack('ii',1,0))\n"
            f" try: s.connect(('{address}',{port}));print(port,s.recv(99).decode())\n"
            " except OSError: print(port,'nobody')\n"
            " s.close()"
        )
        out = self.coeus.pods[pod].inside("python3", "-c", code, timeout=2 * int(connections) + 30)
        logger.info(out)
        return dict(line.split() for line in out.splitlines())

    @keyword
    def all_should_answer(self, answers, *names):
        if set(answers.values()) != set(names):
            raise AssertionError(f"{set(answers.values())} answer, and not {set(names)}")

    @keyword
    def only_those_of_should_move(self, before, after, gone):
        """Every connection goes where it went, but those of one that is gone."""
        moved = {port: (was, after[port]) for port, was in before.items() if was != gone and after[port] != was}
        if moved:
            raise AssertionError(f"connections moved: {moved}")
        if set(after.values()) & {gone, "nobody"}:
            raise AssertionError(f"{gone} or nobody answers: {after}")
