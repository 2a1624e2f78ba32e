"""Robot keywords for every kind of traffic between two pods, for its absence, and for what is for all in an ELAN."""

import ipaddress
import os
import socket
import time

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

import carry
import frames
from packets import checks_packets

#: What fits into the tunnel, and so the MTU of a pod (1500 less the 50 bytes of VXLAN).
MTU = 1450
MIB = 1 << 20
#: Bytes of the headers of an echo request, by version of IP.
ECHO_HEADERS = {4: 28, 6: 48}
#: Seconds of patience from which a check that failed is repeated once.
PATIENT = 1
#: So long a frame may be on its way.
QUIET = 0.4


@library(scope="SUITE", auto_keywords=False)
class Traffic:
    @property
    def lab(self):
        return BuiltIn().get_library_instance("CoeusLab")

    def pod(self, name):
        return self.lab.pods[name]

    @keyword
    def traffic_should_pass(self, source, target, version, kind, patience=10.0):
        """One kind: `icmp`, `tcp`, `udp`, `full` (as large as may be, and not to be fragmented), `fragments`.

        Nothing may be missing. A busy userspace datapath loses a packet now and then, so who is patient is asked twice, with a
        warning.
        """
        version = int(version[-1])
        one, other = self.pod(source), self.pod(target)
        check = {"icmp": self._icmp, "tcp": self._tcp, "udp": self._udp, "full": self._full, "fragments": self._fragments}[kind]
        began, patience = time.monotonic(), float(patience)
        for again in (patience > PATIENT, False):
            try:
                check(one, other, version, patience)
                break
            except AssertionError as error:
                said = f"{kind} from {source} to {target} at {other.addresses[version]}: {error}"
            if not again:
                raise AssertionError(said)
            logger.warn(f"once more: {said}")
        logger.info(f"{kind} from {source} to {target} in {time.monotonic() - began:.2f} s")

    def _icmp(self, one, other, version, patience):
        self._echo(one, other, version, patience)

    def _tcp(self, one, other, version, patience):
        carry.tcp((one.namespace, one.addresses[version]), (other.namespace, other.addresses[version]), MIB, patience)

    def _udp(self, one, other, version, patience):
        ends = [(pod.namespace, pod.addresses[version]) for pod in (one, other)]
        carry.udp(*ends, MIB, patience=min(patience, 2))

    def _full(self, one, other, version, patience):
        most = MTU - ECHO_HEADERS[version]
        self._echo(one, other, version, patience, "-M", "do", "-s", most)
        refusal = one.inside("ping", "-n", "-c", 1, "-W", 1, "-M", "do", "-s", most + 1, other.addresses[version], check=False)
        if " 1 received" in refusal:
            raise AssertionError("a byte more than the MTU is not refused, so this was not the MTU")

    def _fragments(self, one, other, version, patience):
        with carry.Watch(other.namespace) as watch:
            self._echo(one, other, version, patience, "-s", 5000)
            ends = [(pod.namespace, pod.addresses[version]) for pod in (one, other)]
            carry.udp(*ends, 16 * 8000, datagram=8000, window=4, patience=min(patience, 2))
            parts = sum(carry.is_fragment(frame) for frame in watch.frames())
        # Three echo requests of 4 parts, and 16 datagrams of 6.
        if parts < 3 * 4 + 16 * 6:
            raise AssertionError(f"only {parts} fragments came")

    def _echo(self, one, other, version, patience, *options):
        """Three echo requests, and an answer to each."""
        wait = min(patience, 2)
        out = one.inside(
            "ping", "-n", "-c", 3, "-i", 0.01, "-W", wait, *options, other.addresses[version], check=False, timeout=wait + 15
        )
        if " 3 received" not in out or "DUP" in out:
            raise AssertionError(out.strip().splitlines()[-2:] or "no answer")

    @keyword
    @checks_packets
    def nothing_should_pass(self, source, target, version):
        """Echoes, a connection, datagrams and fragments of the source: none may be seen at the target."""
        version = int(version[-1])
        one, other = self.pod(source), self.pod(target)
        address, to = one.addresses[version], other.addresses[version]
        with carry.Watch(other.namespace) as watch:
            with carry.endpoint(one.namespace, address, socket.SOCK_STREAM, QUIET) as sender:
                try:
                    sender.connect((to, 9))
                except OSError:
                    pass
                else:
                    raise AssertionError(f"{source} is connected to {target}")
            with carry.endpoint(one.namespace, address, socket.SOCK_DGRAM, QUIET) as sender:
                for size in (1, 1200, 4000):
                    try:
                        sender.sendto(os.urandom(size), (to, 9))
                    except OSError as error:
                        logger.info(f"{size} bytes to {to}: {error}")
            answers = one.ping(to, count=2, wait=QUIET)
            seen = [frame for frame in watch.frames() if ipaddress.ip_address(address).packed in frame[14:54]]
        if seen or answers:
            raise AssertionError(f"{target} sees {len(seen)} packets of {source} and answers {answers} echo requests")

    @keyword
    @checks_packets
    def only_members_should_get(self, source, kind, *members):
        """A frame for all, or for a group: each member but the sender gets one copy, and nobody else of the lab any."""
        sender = self.pod(source)
        frame = for_all(sender)[kind]
        watches = {name: carry.Watch(pod.namespace) for name, pod in self.lab.pods.items()}
        try:
            watches[source].send(frame)
            time.sleep(QUIET)
            copies = {name: watch.frames().count(frame) for name, watch in watches.items()}
        finally:
            for watch in watches.values():
                watch.socket.close()
        wanted = {name: int(name in members and name != source) for name in watches}
        wrong = [f"{name} got {copies[name]}, not {wanted[name]}" for name in wanted if copies[name] != wanted[name]]
        if wrong:
            raise AssertionError(f"{kind} of {source}: {', '.join(wrong)}")
        return sum(copies.values())

    @keyword
    def break_switch(self, node, command, *words):
        """Changes a switch behind the controller's back, with a command of ovs-ofctl for br-int."""
        self.lab.node(node).ofctl(command, "br-int", *words)


def for_all(pod):
    """Frames that are for more than one, by kind; no two are alike."""
    unique = os.urandom(18)
    v4 = lambda to: frames.ipv4(pod.addresses[4], to, 17, frames.udp(5000, 5001, unique))  # noqa: E731
    v6 = lambda to: frames.ipv6(pod.addresses[6], to, 17, frames.udp(5000, 5001, unique))  # noqa: E731
    nobody = str(ipaddress.ip_address(pod.addresses[4]) + 99)
    question = frames.arp(1, pod.mac, pod.addresses[4], nobody) + unique
    return {
        "broadcast": frames.ethernet(pod.mac, 0x88B5, unique),
        "ARP for nobody": frames.ethernet(pod.mac, 0x806, question),
        "IPv4 broadcast": frames.ethernet(pod.mac, 0x800, v4("255.255.255.255")),
        "IPv4 multicast": frames.ethernet(pod.mac, 0x800, v4("239.1.2.3"), to="01:00:5e:01:02:03"),
        "IPv6 multicast": frames.ethernet(pod.mac, 0x86DD, v6("ff02::1"), to="33:33:00:00:00:01"),
        "unknown address": frames.ethernet(pod.mac, 0x88B5, unique, to="0a:ba:d0:00:00:02"),
        "reserved group": frames.ethernet(pod.mac, 0x88B5, unique, to="01:80:c2:00:00:00"),
    }
