"""Robot keywords for external networks: hosts that are no pods, floating addresses, and what the wire says of them."""

from robot.api import logger
from robot.api.deco import keyword, library

import carry
from beside import Beside
from lab import Outside, run, wait_until
from packets import checks_packets

# Sends one ARP request (RFC 826) and counts the answers of a second.
ASK = """
import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
s.bind(("eth0", 0x0806))
mac, target = s.getsockname()[4], socket.inet_aton(sys.argv[1])
own = socket.inet_aton("203.0.113.9")
s.send(b"\\xff" * 6 + mac + bytes.fromhex("08060001080006040001") + mac + own + bytes(6) + target)
count, end = 0, time.monotonic() + 1
while (left := end - time.monotonic()) > 0:
    s.settimeout(left)
    try:
        frame = s.recv(100)
    except TimeoutError:
        break
    count += frame[20:22] == b"\\0\\2" and frame[28:32] == target
print(count)
"""
# The same with a neighbour solicitation (RFC 4861 section 4.3), answered by advertisements with the flag that says so.
ASK_V6 = """
import socket, struct, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x86dd))
s.bind(("eth0", 0x86dd))
mac = s.getsockname()[4]
own, target = (socket.inet_pton(socket.AF_INET6, text) for text in ("2001:db8:113::9", sys.argv[1]))
group = socket.inet_pton(socket.AF_INET6, "ff02::1:ff00:0")[:13] + target[13:]
message = bytes([135, 0, 0, 0, 0, 0, 0, 0]) + target + bytes([1, 1]) + mac
words = own + group + struct.pack("!II", len(message), 58) + message
total = sum(struct.unpack(f"!{len(words) // 2}H", words))
while total >> 16:
    total = (total & 0xffff) + (total >> 16)
message = message[:2] + struct.pack("!H", ~total & 0xffff) + message[4:]
header = struct.pack("!IHBB", 6 << 28, len(message), 58, 255) + own + group
s.send(bytes([0x33, 0x33]) + group[12:] + mac + bytes([0x86, 0xdd]) + header + message)
count, end = 0, time.monotonic() + 1
while (left := end - time.monotonic()) > 0:
    s.settimeout(left)
    try:
        frame = s.recv(200)
    except TimeoutError:
        break
    count += frame[20:21] + frame[54:55] == bytes([58, 136]) and frame[58] & 0x40 == 0x40 and frame[62:78] == target
print(count)
"""
NETWORK = "0fbad80d-b0b4-4580-8d14-11fcaced2ac6"


@library(scope="SUITE", auto_keywords=False)
class Floating(Beside):
    def __init__(self):
        self.hosts = {}

    # -- bodies

    @keyword
    def external_network_body(self, vlan, first="203.0.113.5", last="203.0.113.20", gateway="203.0.113.1"):
        network = {
            "id": NETWORK, "provider-network-type": "VLAN",
            "coeus-external:physical-network": "physnet", "coeus-external:segmentation-id": int(vlan),
            "coeus-external:subnet": "203.0.113.0/24", "coeus-external:gateway": gateway,
            "coeus-external:ipv6-subnet": "2001:db8:113::/64", "coeus-external:ipv6-gateway": "2001:db8:113::1",
            "coeus-external:granted": [
                {"first": first, "last": last}, {"first": "2001:db8:113::5", "last": "2001:db8:113::20"},
            ],
        }
        return {"odl-nat:networks": [network]}

    @keyword
    def external_network_id(self):
        return NETWORK

    @keyword
    def floating_body(self, router, *mappings):
        """Each mapping: external address, interface, internal address."""
        ports = {}
        for external, port, internal in zip(*[iter(mappings)] * 3):
            ports.setdefault(port, []).append({"internal-ip": internal, "external-ip": external})
        ports = [{"port-name": name, "internal-to-external-port-map": maps} for name, maps in ports.items()]
        return {"odl-nat:router-ports": [{"router-id": router, "external-network-id": NETWORK, "ports": ports}]}

    @keyword
    def with_external_id(self, body, identity):
        """The same body; its first mapping has this id."""
        port = body["odl-nat:router-ports"][0]["ports"][0]
        port["internal-to-external-port-map"][0]["external-id"] = identity
        return body

    @keyword
    def floating_port_body(self, identity, mac):
        return {"odl-nat:floating-ip-id-to-port-mapping": [{"floating-ip-id": identity, "floating-ip-port-mac-address": mac}]}

    @keyword
    def external_subnet_body(self, identity, subnet, gateway, first, last):
        """A further subnet of the network."""
        return {"odl-nat:subnets": [{
            "id": identity, "external-network-id": NETWORK, "coeus-external:subnet": subnet, "coeus-external:gateway": gateway,
            "coeus-external:granted": [{"first": first, "last": last}],
        }]}

    @keyword
    def router_body(self, name, *addresses, enable=True):
        """A router of ext-routers: the VPN of that name, whose pods share these addresses."""
        subnet = "5b1e0000-0000-4000-8000-000000000001"
        return {"odl-nat:routers": [{
            "router-name": name, "network-id": NETWORK, "enable-snat": bool(enable),
            "external-ips": [{"subnet-id": subnet, "ip-address": address} for address in addresses],
        }]}

    @keyword
    def service_body(self, uid, name, namespace, addresses, *pods):
        """A service with addresses outside (separated by commas); its pods by their names."""
        uids = [self.coeus.pod_uid(f"{namespace}:{pod}") for pod in pods]
        service = {"uid": uid, "name": name, "network-NS": namespace, "external-ip-address": addresses.split(",")}
        if uids:
            service["endpoints"] = uids
        return {"service:services": [service]}

    @keyword
    def shared_body(self, node, source, source_v6=None):
        """The pods of a node share an address of the external network, or one of each version."""
        entry = {"address": self.coeus.node(node).local_ip, "source-address": source}
        if source_v6:
            entry["ipv6-source-address"] = source_v6
        return {"coeus-north-south:source-nat": {
            "mode": "external-network", "external-network": NETWORK, "node": [entry],
        }}

    # -- hosts outside

    @keyword
    def add_host_outside(self, name, node, vlan, address, gateway=None):
        """A host on the physical network of a node, which knows nothing of pods."""
        host = Outside(self.lab, self.coeus.node(node), vlan, address)
        if gateway:
            run("ip", "-n", host.namespace, "route", "add", "default", "via", gateway)
        self.hosts[name] = host.namespace

    @keyword
    def give_host_ipv6(self, name, address, gateway=None):
        """An address of IPv6 beside its other one."""
        self.inside(name, "ip", "address", "add", address, "dev", "eth0", "nodad")
        if gateway:
            self.inside(name, "ip", "-6", "route", "add", "default", "via", gateway)

    @keyword
    def make_host_a_router(self, name, *addresses):
        """It forwards, and has these addresses beside its own: what is behind it."""
        self.inside(name, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        for address in addresses:
            self.inside(name, "ip", "address", "add", address, "dev", "lo")
        self.inside(name, "ip", "link", "set", "lo", "up")

    def inside(self, host, *command, check=True):
        return run("ip", "netns", "exec", self.hosts[host], *command, check=check)

    def answers(self, host, address, *options):
        out = self.inside(host, "ping", "-n", "-c", "3", "-i", "0.2", "-W", "1", *options, address, check=False)
        logger.info(out)
        return " 0 received" not in out and "received" in out

    @keyword
    def host_should_reach(self, host, address, timeout=20):
        wait_until(f"{host} reaches {address}", lambda: self.answers(host, address), float(timeout))

    @keyword
    @checks_packets
    def host_should_not_reach(self, host, address):
        if self.answers(host, address):
            raise AssertionError(f"{host} reaches {address} and should not")

    @keyword
    def forget_neighbour(self, host, address):
        self.inside(host, "ip", "neigh", "flush", "to", address, check=False)

    @keyword
    def neighbour_of(self, host, address):
        """The MAC address that a host has for an address."""
        out = self.inside(host, "ip", "neigh", "show", "to", address, check=False).split()
        return out[out.index("lladdr") + 1] if "lladdr" in out else ""

    @keyword
    def who_answers(self, host, address):
        """How many answers one ARP question, or one neighbour solicitation, gets: one of each node that feels asked."""
        out = self.inside(host, "python3", "-c", ASK_V6 if ":" in address else ASK, address)
        logger.info(out)
        return int(out)

    @keyword
    @checks_packets
    def source_seen_by(self, host, pod, address, port=9999):
        """A pod connects to a host over TCP; answers the address that the host saw."""
        return carry.pour(self.hosts[host], self.coeus.pods[pod].namespace, address, port)[1]

    @keyword
    @checks_packets
    def bytes_to_pod(self, host, pod, address, size=1048576, port=8088):
        """A host outside sends to a pod's floating address over TCP; answers how many bytes arrived."""
        return carry.pour(self.coeus.pods[pod].namespace, self.hosts[host], address, port, size)[0]

    @keyword
    @checks_packets
    def bytes_to_host(self, pod, host, address, size=1048576, port=8089):
        """The other way round."""
        return carry.pour(self.hosts[host], self.coeus.pods[pod].namespace, address, port, size)[0]

