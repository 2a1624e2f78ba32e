"""Robot keywords for services that are asked from outside: hosts as clients, who they are seen as, and nodes that hand over node ports."""

import collections
import re
import socket
import threading
import time

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

import carry
import sctp
from beside import Beside
from lab import run, wait_until
from packets import checks_packets, should_be_refused, should_move_on

PORT = "coeus0"
#: Where a node hands over what it gets for node ports.
HANDED = "169.254.77.3"
HANDED_V6 = "fd77:c0e5::3"
WAIT = 2


@library(scope="SUITE", auto_keywords=False)
class ServicesOutside(Beside):
    def __init__(self):
        self.servers = []
        #: Servers of associations, by pod.
        self.associations = {}

    def namespace(self, host):
        return BuiltIn().get_library_instance("Floating").hosts[host]

    # -- bodies

    @keyword
    def service_outside_body(self, uid, name, namespace, address, ports, outside=None, *further):
        """Each port is `name:protocol:port:target-port:node-port`; further leafs are `name=value`."""
        def port(text):
            name, protocol, number, target, node = text.split(":")
            return {"name": name or f"p{number}", "coeus-service:protocol": protocol, "port": int(number),
                    "target-port": target, "node-port": int(node)}

        body = {"uid": uid, "name": name, "network-NS": namespace, "cluster-ip-address": address,
                "service-ports": [port(text) for text in ports]}
        if outside:
            body["external-ip-address"] = [outside]
        body.update(leaf.split("=") for leaf in further)
        return {"service:services": [body]}

    # -- clients

    def client(self, host, address, kind):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return carry.inside(self.namespace(host), lambda: socket.socket(family, kind))

    def ask(self, host, address, port, protocol, wait=WAIT):
        with self.client(host, address, socket.SOCK_DGRAM if protocol == "UDP" else socket.SOCK_STREAM) as client:
            client.settimeout(wait)
            client.connect((address, int(port)))
            if protocol == "UDP":
                client.send(b"who?")
            return client.recv(200).decode()

    @keyword
    @checks_packets
    def host_should_be_answered(self, host, address, port, protocol="TCP", among=None, times=16, all_of_them=True):
        """A host asks some times, each time anew: those named answer, each of them if there are tries enough."""
        answers = collections.Counter()
        for _ in range(int(times)):
            try:
                answers[self.ask(host, address, port, protocol)] += 1
            except OSError as error:
                raise AssertionError(f"{host} asked {address}:{port} ({protocol}): {error}; before: {dict(answers)}") from None
        logger.info(dict(answers))
        wanted = set(among)
        if not set(answers) <= wanted or all_of_them and set(answers) != wanted:
            raise AssertionError(f"{address}:{port} was answered by {dict(answers)}, not by {wanted}")

    @keyword
    @checks_packets
    def host_should_get_no_answer(self, host, address, port, protocol="TCP"):
        try:
            answer = self.ask(host, address, port, protocol)
        except OSError:
            return
        raise AssertionError(f"{host} asked {address}:{port} and was answered by {answer}")

    @keyword
    @checks_packets
    def host_should_be_refused(self, host, address, port, protocol="TCP"):
        """It is told at once: a reset, or an ICMP error."""
        should_be_refused(f"{host} asked {address}:{port} ({protocol})", lambda: self.ask(host, address, port, protocol))

    @keyword
    def host_should_be_answered_again(self, host, address, port, seconds=15, protocol="TCP"):
        """For how long nobody answered, in seconds. Each try is short: the endpoint that is chosen may be one that is away."""
        start = time.monotonic()

        def answered():
            try:
                return self.ask(host, address, port, protocol, wait=0.4)
            except OSError:
                return ""

        wait_until(f"{address}:{port} answers {host}", answered, float(seconds))
        took = time.monotonic() - start
        logger.info(f"after {took:.1f} s")
        return took

    @keyword
    def who_answers_host(self, host, address, port, protocol="TCP"):
        return self.ask(host, address, port, protocol)

    @keyword
    @checks_packets
    def bytes_back(self, host, address, port, size=1048576):
        """Sends so many bytes to a service by TCP, which sends them back; returns how many came back."""
        with self.client(host, address, socket.SOCK_STREAM) as client:
            client.settimeout(10)
            client.connect((address, int(port)))
            client.recv(200)
            sender = threading.Thread(target=lambda: client.sendall(b"\0" * int(size)))
            sender.start()
            came = 0
            try:
                while came < int(size) and (part := client.recv(1 << 16)):
                    came += len(part)
            finally:
                sender.join()
            return came

    @keyword
    def host_should_move_on(self, host, address, port, away, seconds=1.0):
        """A host that sends datagrams from one port and never pauses: after `away` was called, others answer within so many seconds."""
        with self.client(host, address, socket.SOCK_DGRAM) as client:
            client.settimeout(0.05)
            client.connect((address, int(port)))
            return should_move_on(host, client, away, seconds)

    # -- servers

    @keyword
    def start_server_that_tells_sources(self, pod, port, protocol="TCP", version="v4"):
        """It answers everybody with the address that he has there."""
        family = socket.AF_INET6 if version == "v6" else socket.AF_INET
        kind = socket.SOCK_DGRAM if protocol == "UDP" else socket.SOCK_STREAM
        self.servers.append(Teller(carry.inside(self.coeus.pods[pod].namespace, lambda: socket.socket(family, kind)), int(port)))

    @keyword
    def start_server_of_associations(self, pod):
        """It answers the packets that begin SCTP associations, at any port: kernels may have no SCTP."""
        pod_of_lab = self.coeus.pods[pod]
        self.associations[pod] = sctp.Answers(pod_of_lab.namespace, pod_of_lab.address)

    @keyword
    @checks_packets
    def host_should_be_associated(self, host, own, address, port, *among):
        """A host begins an SCTP association: what was asked answers, not who did it, and one of these pods saw the host and that port."""
        for server in self.associations.values():
            server.seen.clear()
        sender = sctp.who_answers(self.namespace(host), own, address, int(port), WAIT)
        seen = {pod: server.seen for pod, server in self.associations.items() if server.seen}
        logger.info(f"answered from {sender}, seen by {seen}")
        if sender != (address, int(port)) or not seen or not set(seen) <= set(among) or any(who != {(own, int(port))} for who in seen.values()):
            raise AssertionError(f"{host} asked {address}:{port} and was answered from {sender}; {seen} saw it, not {own} at one of {among}")

    @keyword
    @checks_packets
    def host_should_not_be_associated(self, host, own, address, port):
        if sender := sctp.who_answers(self.namespace(host), own, address, int(port), WAIT):
            raise AssertionError(f"{host} asked {address}:{port} and was answered from {sender}")

    @keyword
    def stop_tellers(self):
        for server in [*self.servers, *self.associations.values()]:
            server.stop()

    # -- nodes

    @keyword
    def hand_over_node_ports(self, node):
        """What a node's administrator does once: what is for a node port goes to the switch, whoever asks."""
        node = self.coeus.node(node)
        for setting in ("ip_forward", "conf.all.rp_filter", f"conf.{PORT}.rp_filter", f"conf.{PORT}.accept_local"):
            value = 0 if setting.endswith("rp_filter") else 1
            node.inside("sysctl", "-q", "-w", f"net.ipv4.{setting}={value}")
        node.inside("ip", "route", "replace", "default", "via", HANDED, "dev", PORT, "onlink", "table", "77")
        for protocol in ("tcp", "udp", "sctp"):
            node.inside("ip", "rule", "add", "pref", "50", "to", node.local_ip, "ipproto", protocol, "dport", "30000-32767", "lookup", "77")
        node.inside("ip", "rule", "add", "pref", "100", "lookup", "local")
        node.inside("ip", "rule", "del", "pref", "0")

    def node_v6(self, node):
        return f"2001:db8:56::{int(node)}"

    @keyword
    def give_node_ipv6(self, node, pod_cidr):
        """The node has an address of IPv6, and hands over what comes there for node ports. Answers the entry of such a node, which is still
        known by the end of its tunnels."""
        where, address = self.coeus.node(node), self.node_v6(node)
        where.inside("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
        where.inside("ip", "link", "set", "lo", "up")
        where.inside("ip", "address", "add", f"{address}/128", "dev", "lo")
        where.inside("ip", "-6", "route", "replace", "default", "via", HANDED_V6, "dev", PORT, "onlink", "table", "77")
        for protocol in ("tcp", "udp", "sctp"):
            where.inside("ip", "-6", "rule", "add", "pref", "50", "to", address, "ipproto", protocol, "dport", "30000-32767", "lookup", "77")
        where.inside("ip", "-6", "rule", "add", "pref", "100", "lookup", "local")
        where.inside("ip", "-6", "rule", "del", "pref", "0")
        body = self.coeus.node_body(node, pod_cidr)
        body["k8s-node:k8s-nodes"][0].update({"internal-ip-address": address, "external-ip-address": where.local_ip})
        return body

    @keyword
    def connect_beyond_by_ipv6(self, node, host):
        """A host that `Connect Beyond` made knows its node by IPv6, too; answers the host's address."""
        namespace = self.namespace(host)
        prefix = f"2001:db8:{100 + int(node)}"
        device = run("ip", "-n", namespace, "-o", "link", "show", "eth0").split("@if")[1].split(":")[0]
        node = self.coeus.node(node)
        device = next(line.split(": ")[1].split("@")[0] for line in node.inside("ip", "-o", "link").splitlines() if line.startswith(f"{device}: "))
        for where, name, address in ((node.namespace, device, f"{prefix}::1/64"), (namespace, "eth0", f"{prefix}::2/64")):
            run("ip", "-n", where, "address", "add", address, "dev", name, "nodad")
        run("ip", "-n", namespace, "route", "add", "default", "via", f"{prefix}::1")
        return f"{prefix}::2"

    @keyword
    def clients_learned(self, node, *parts):
        """Whose endpoints a switch has learned, by flows that say all of this."""
        lines = self.coeus.node(node).ofctl("dump-flows", "br-int", "table=35").splitlines()
        learned = [line for line in lines if "hard_timeout" in line and all(part in line for part in parts)]
        return [re.search(r"(?:nw|ipv6)_src=([^, ]+)", line).group(1) for line in learned]

    @keyword
    def route_further_to_node_port(self, node, prefix):
        node = self.coeus.node(node)
        node.inside("ip", "route", "replace", prefix, "dev", PORT, "src", node.local_ip)

    @keyword
    def connect_beyond(self, node, host):
        """A host that knows a node, and by it what that has; answers the host's address."""
        node = self.coeus.node(node)
        floating = BuiltIn().get_library_instance("Floating")
        number = len(floating.hosts) + 1
        namespace = f"{self.lab.tag}b{number}"
        self.lab.add_namespace(namespace)
        device, net = f"beyond{number}", f"198.51.{100 + number}"
        node.inside("ip", "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        for where, name, address in ((node.namespace, device, f"{net}.1/24"), (namespace, "eth0", f"{net}.2/24")):
            run("ip", "-n", where, "address", "add", address, "dev", name)
            run("ip", "-n", where, "link", "set", name, "up")
            run("ip", "netns", "exec", where, "ethtool", "-K", name, "tx", "off")
        run("ip", "-n", namespace, "route", "add", "default", "via", f"{net}.1")
        floating.hosts[host] = namespace
        return f"{net}.2"


class Teller(threading.Thread):
    def __init__(self, listener, port):
        super().__init__(daemon=True)
        self.listener = listener
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if listener.family == socket.AF_INET6:
            self.listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.listener.bind(("", port))
        if listener.type == socket.SOCK_STREAM:
            self.listener.listen(64)
        self.listener.settimeout(0.2)
        self.ends = threading.Event()
        self.start()

    def run(self):
        while not self.ends.is_set():
            try:
                self.tell()
            except OSError:
                continue
        self.listener.close()

    def tell(self):
        if self.listener.type == socket.SOCK_DGRAM:
            _, client = self.listener.recvfrom(200)
            self.listener.sendto(client[0].encode(), client)
            return
        taken, client = self.listener.accept()
        with taken:
            taken.sendall(client[0].encode())

    def stop(self):
        self.ends.set()
        self.join()
