"""Robot keywords for services: bodies, servers that tell who they are, and clients that ask them."""

import collections
import ipaddress
import pathlib
import select
import shutil
import socket
import struct
import subprocess
import threading
import time
import types

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

import carry
import frames
import sctp
from lab import wait_until
from packets import checks_packets, should_be_refused, should_move_on

KINDS = {"TCP": (socket.SOCK_STREAM, 6), "UDP": (socket.SOCK_DGRAM, 17), "SCTP": (socket.SOCK_STREAM, 132)}
#: Seconds that an answer may take.
WAIT = 2


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


@library(scope="SUITE", auto_keywords=False)
class Services:
    def __init__(self):
        self.servers = {}
        self.kept = {}

    @property
    def lab(self):
        return BuiltIn().get_library_instance("CoeusLab")

    # -- bodies

    @keyword
    def service_body(self, uid, name, namespace, address, *ports, **further):
        """Each port is `name:protocol:port:target-port`; what is empty is left out."""
        body = {"uid": uid, "name": name, "network-NS": namespace, "service-ports": [port_body(port, "target-port") for port in ports]}
        if address:
            body["cluster-ip-address"] = address
        body.update(further)
        return {"service:services": [body]}

    @keyword
    def endpoints_body(self, uid, name, namespace, addresses, *ports):
        """Each port is `name:protocol:port`."""
        return {"service:endpoints": [{
            "uid": uid, "name": name, "network-NS": namespace,
            "endpoint-addresses": [{"ip-address": address} for address in addresses],
            "endpoint-ports": [port_body(port, None) for port in ports],
        }]}

    # -- servers

    @keyword
    def start_server(self, pod, protocol, port, version="v4"):
        """A server in a pod that answers everybody with the pod's name."""
        server = Server(self.lab.pods[pod], protocol, int(port), pod, 6 if version == "v6" else 4)
        self.servers[pod, protocol, int(port), version] = server

    @keyword
    def start_server_outside(self, port, name):
        """A TCP server of the host that `Connect Outside` made."""
        host = types.SimpleNamespace(namespace=BuiltIn().get_library_instance("NorthSouth").outside)
        self.servers[name, "TCP", int(port), "v4"] = Server(host, "TCP", int(port), name, 4)

    @keyword
    def start_dns_server(self, pod, name, address):
        """A DNS server in a pod that knows one name: dnsmasq."""
        self.servers[pod, "DNS", 53, "v4"] = DnsServer(self.lab.pods[pod], name, address)

    @keyword
    @checks_packets
    def name_should_resolve(self, pod, server, name, address, by_tcp=False):
        """The pod's own resolver asks a server for a name, as any program would; by TCP as it does for long answers."""
        namespace = self.lab.pods[pod].namespace
        folder = pathlib.Path("/etc/netns") / namespace
        folder.mkdir(parents=True)
        try:
            options = "options timeout:1 attempts:2" + (" use-vc" if by_tcp else "")
            (folder / "resolv.conf").write_text(f"nameserver {server}\n{options}\n", encoding="ascii")
            # `ip netns exec` puts the folder's files over those of /etc.
            out = self.lab.pods[pod].inside("getent", "ahostsv4", name, check=False)
        finally:
            shutil.rmtree(folder)
        if address not in out.split():
            raise AssertionError(f"{pod} resolves {name} by {server} to {out.split() or 'nothing'}, not to {address}")

    @keyword
    @checks_packets
    def endpoints_that_see(self, pod, address, port, *servers):
        """Sends the first packet of an SCTP association (RFC 9260) to a service, from several ports, and returns which of these pods saw
        it come to themselves, and at which ports. Kernels without SCTP cannot play its servers."""
        source = self.lab.pods[pod]
        watches = {name: carry.Watch(self.lab.pods[name].namespace) for name in servers}
        gateway = "02:c0:e5:00:00:01"
        try:
            source.ping(address, count=1, wait=0.1)
            route = source.inside("ip", "neighbour", "show", "dev", "eth0")
            gateway = next((line.split()[2] for line in route.splitlines() if "lladdr" in line and ":c0:e5:" in line), gateway)
            for number in range(16):
                packet = sctp.init(40000 + number, int(port))
                raw = with_checksum(frames.ipv4(source.addresses[4], address, 132, packet))
                self.lab_send(pod, frames.ethernet(source.mac, 0x800, raw, to=gateway))
            time.sleep(0.5)
            seen = {}
            for name, watch in watches.items():
                own = ipaddress.ip_address(self.lab.pods[name].addresses[4]).packed
                came = [frame for frame in watch.frames() if frame[12:14] == b"\x08\x00" and frame[23] == 132 and frame[30:34] == own]
                if came:
                    seen[name] = sorted({int.from_bytes(frame[36:38], "big") for frame in came})
            return seen
        finally:
            for watch in watches.values():
                watch.socket.close()

    def lab_send(self, pod, frame):
        BuiltIn().get_library_instance("CoeusLab").send_raw(pod, frame.hex())

    @keyword
    def stop_servers(self):
        for server in self.servers.values():
            server.stop()
        for kept in self.kept.values():
            kept.close()
        self.servers, self.kept = {}, {}

    # -- clients

    def client(self, pod, address, protocol, timeout=WAIT, port=0):
        kind, number = KINDS[protocol]
        made = carry.inside(self.lab.pods[pod].namespace, lambda: socket.socket(family(address), kind, number))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.settimeout(timeout)
        own = self.lab.pods[pod].addresses[6 if ":" in address else 4]
        made.bind((own, int(port)))
        return made

    def ask(self, pod, address, port, protocol, timeout=WAIT):
        """The name of who answered. The answer must come from where the question went."""
        with self.client(pod, address, protocol, timeout) as client:
            client.connect((address, int(port)))
            if protocol == "UDP":
                client.send(b"who?")
            return client.recv(200).decode()

    @keyword
    def who_answers_pod(self, pod, address, port, protocol="TCP"):
        return self.ask(pod, address, port, protocol)

    @keyword
    def node_should_be_answered(self, node, address, port, among):
        """The node itself asks a service by TCP."""
        def ask():
            with socket.create_connection((address, int(port)), WAIT) as client:
                return client.recv(200).decode()

        namespace = self.lab.node(node).namespace
        answers = {carry.inside(namespace, ask) for _ in range(16)}
        if answers != set(among):
            raise AssertionError(f"node {node} was answered by {answers}")

    @keyword
    def start_server_on_node(self, node, port, name):
        """A TCP server of a node itself."""
        host = types.SimpleNamespace(namespace=self.lab.node(node).namespace)
        self.servers[name, "TCP", int(port), "v4"] = Server(host, "TCP", int(port), name, 4)

    @keyword
    @checks_packets
    def service_should_answer(self, pod, address, port, protocol="TCP", times=12, among=None, all_of_them=True):
        """A pod asks a service some times, each time anew. Only those named answer, and (if there are tries enough) each of them."""
        answers = collections.Counter()
        for _ in range(int(times)):
            try:
                answers[self.ask(pod, address, port, protocol)] += 1
            except OSError as error:
                raise AssertionError(f"{pod} asked {address}:{port} ({protocol}) and got {error}; before: {dict(answers)}") from None
        logger.info(f"{pod} asked {address}:{port} ({protocol}): {dict(answers)}")
        wanted = set(among or answers)
        if not set(answers) <= wanted:
            raise AssertionError(f"{address}:{port} was answered by {dict(answers)}, not by {wanted}")
        if all_of_them and set(answers) != wanted:
            raise AssertionError(f"{address}:{port} was answered by {dict(answers)} only, not by {wanted}")
        return dict(answers)

    @keyword
    @checks_packets
    def service_should_be_silent(self, pod, address, port, protocol="TCP"):
        try:
            answer = self.ask(pod, address, port, protocol, 0.7)
        except OSError as error:
            return str(error)
        raise AssertionError(f"{pod} asked {address}:{port} ({protocol}) and was answered by {answer}")

    @keyword
    @checks_packets
    def service_should_refuse(self, pod, address, port, protocol="TCP"):
        """The client is told at once: a reset, or an ICMP error."""
        should_be_refused(f"{pod} asked {address}:{port} ({protocol})", lambda: self.ask(pod, address, port, protocol, WAIT))

    @keyword
    def keep_connection(self, name, pod, address, port):
        """Opens a TCP connection that stays, and returns who is at its other end."""
        kept = self.client(pod, address, "TCP")
        kept.connect((address, int(port)))
        self.kept[name] = kept
        return kept.recv(200).decode()

    @keyword
    def connection_should_live(self, name):
        kept = self.kept[name]
        kept.send(b"still?")
        answer = kept.recv(200)
        if not answer:
            raise AssertionError(f"connection {name} was closed")
        return answer.decode()

    @keyword
    @checks_packets
    def transfer_through_service(self, pod, address, port, size=1048576):
        """Sends so many bytes to a service, which sends them back; returns how many came back."""
        size = int(size)
        with self.client(pod, address, "TCP", 10) as client:
            client.connect((address, int(port)))
            client.recv(200)
            sender = threading.Thread(target=lambda: client.sendall(b"\0" * size))
            sender.start()
            came = 0
            try:
                while came < size and (part := client.recv(1 << 16)):
                    came += len(part)
            finally:
                sender.join()
            return came

    @keyword
    def client_of(self, server, address, port, *pods):
        """A pod whose datagrams to a service come to this server; one that is the server itself is none."""
        for pod in pods:
            if pod != server and self.ask(pod, address, port, "UDP") == server:
                return pod
        raise AssertionError(f"nobody of {pods} is answered by {server}")

    @keyword
    def udp_sender_should_move_on(self, pod, address, port, away, seconds=1.0):
        """A sender that never pauses, from one port: after `away` was called, others answer within so many seconds."""
        with self.client(pod, address, "UDP", 0.05) as client:
            client.connect((address, int(port)))
            return should_move_on(pod, client, away, seconds)


class Server(threading.Thread):
    """Answers in a pod's namespace: by TCP and SCTP with the name at once, then with what it gets; by UDP with the name."""

    def __init__(self, pod, protocol, port, name, version):
        super().__init__(daemon=True)
        kind, number = KINDS[protocol]
        self.name_sent, self.protocol = name.encode(), protocol
        wildcard = "::" if version == 6 else "0.0.0.0"
        self.listener = carry.inside(pod.namespace, lambda: socket.socket(family(wildcard), kind, number))
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if version == 6:
            self.listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        # An address of version 6 that is new cannot be named yet.
        self.listener.bind((wildcard, port))
        if protocol != "UDP":
            self.listener.listen(64)
        self.ends = threading.Event()
        self.start()

    def run(self):
        open_ones = [self.listener]
        while not self.ends.is_set():
            for ready in select.select(open_ones, [], [], 0.1)[0]:
                try:
                    if ready is not self.listener:
                        data = ready.recv(1 << 16)
                        if not data:
                            raise ConnectionError
                        ready.sendall(data)
                    elif self.protocol == "UDP":
                        _, client = ready.recvfrom(1 << 16)
                        ready.sendto(self.name_sent, client)
                    else:
                        taken, _ = ready.accept()
                        taken.settimeout(5)
                        taken.sendall(self.name_sent)
                        open_ones.append(taken)
                except OSError:
                    if ready is not self.listener:
                        open_ones.remove(ready)
                        ready.close()
        for one in open_ones:
            one.close()

    def stop(self):
        self.ends.set()
        self.join()


class DnsServer:
    """dnsmasq in a pod's namespace, which knows one name and asks nobody else."""

    def __init__(self, pod, name, address):
        words = ["--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces", "--user=root", "--pid-file="]
        words += ["--except-interface=lo", f"--listen-address={pod.addresses[4]}", "--local=/#/", f"--host-record={name},{address}"]
        self.process = subprocess.Popen(["ip", "netns", "exec", pod.namespace, "dnsmasq", *words])
        wait_until("dnsmasq serves", lambda: ":53 " in pod.inside("ss", "-lun"), 10)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def with_checksum(packet):
    """An IPv4 packet whose header has its checksum, which connection tracking reads (RFC 1071)."""
    total = sum(struct.unpack("!10H", packet[:20]))
    total = (total & 0xFFFF) + (total >> 16)
    return packet[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + packet[12:]


def port_body(text, target):
    parts = text.split(":") + [""] * 4
    body = {"port": int(parts[2])}
    if parts[0]:
        body["name"] = parts[0]
    if parts[1] and parts[1] != "TCP":
        body["coeus-service:protocol"] = parts[1]
    if target and parts[3]:
        body[target] = parts[3]
    return body
