"""Robot keywords for addresses that move from node to node: a host on the wire asks for one all the time, and keeps what it sees. And for
hosts that answer solicitations in their own way."""

import collections
import ipaddress
import socket
import struct
import threading
import time
import types

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

import carry
import frames

#: Seconds between two questions, and how many askers take turns: an answer finds its question although it comes late.
PAUSE = 0.04
ASKERS = 32
SOLICITATION, ADVERTISEMENT = 135, 136
SOLICITED, OVERRIDE = 0x40, 0x20


@library(scope="SUITE", auto_keywords=False)
class Announcements:
    def __init__(self):
        self.asking = []
        self.terse = []

    @keyword
    def begin_to_ask(self, host, *addresses):
        """A host asks who has these addresses, by ARP or neighbour solicitations, until `End Asking`."""
        self.stop_asking()
        namespace = BuiltIn().get_library_instance("Floating").hosts[host]
        self.asking = [Asking(namespace, ipaddress.ip_address(address)) for address in addresses]

    @keyword
    def stop_asking(self):
        """Without looking at what was seen."""
        for asking in self.asking:
            asking.end()
        self.asking = []

    @keyword
    def end_asking(self, more=1.5):
        """Asks for so many seconds more. Of each address: how many questions there were, how many were answered, how many by more
        than one, and how often it was announced."""
        time.sleep(float(more))
        seen = [asking.end() for asking in self.asking]
        self.asking = []
        for one in seen:
            logger.info(one)
        return seen

    @keyword
    def answer_without_option(self, host, address):
        """A host has an address beside its own, and says so without saying its MAC address (RFC 4861 section 4.4)."""
        floating = BuiltIn().get_library_instance("Floating")
        # No kernel answers at one link for an address that is at another.
        floating.inside(host, "ip", "address", "add", f"{address}/128", "dev", "lo")
        self.terse.append(Terse(floating.hosts[host], ipaddress.IPv6Address(address)))

    @keyword
    def end_answers_without_option(self):
        """How often they were asked."""
        asked = [terse.end() for terse in self.terse]
        self.terse = []
        return sum(asked)


class Terse(threading.Thread):
    def __init__(self, namespace, address):
        super().__init__(daemon=True)
        self.address = address
        self.watch = carry.Watch(namespace)
        self.mac = self.watch.socket.getsockname()[4]
        self.asked = 0
        self.ends = threading.Event()
        self.start()

    def run(self):
        while not self.ends.wait(0.02):
            for frame in self.watch.frames():
                if frame[12:14] == b"\x86\xdd" and frame[20] == 58 and frame[54] == SOLICITATION and frame[62:78] == self.address.packed:
                    self.asked += 1
                    self.watch.send(advertisement(self.mac, self.address, ipaddress.IPv6Address(frame[22:38]), frame[6:12]))
        self.watch.socket.close()

    def end(self):
        self.ends.set()
        self.join()
        return self.asked


class Asking(threading.Thread):
    """Each question comes from another address, which the answer names."""

    def __init__(self, namespace, address):
        super().__init__(daemon=True)
        self.address = address
        self.watch = carry.Watch(namespace)
        self.mac = self.watch.socket.getsockname()[4]
        # Hosts of the lab's external network that nobody is.
        first = ipaddress.ip_address("203.0.113.128" if address.version == 4 else "2001:db8:113::a:0")
        self.askers = [first + number for number in range(ASKERS)]
        self.answers = collections.Counter()
        self.questions, self.answered, self.twice, self.announced = 0, 0, 0, 0
        self.ends = threading.Event()
        self.start()

    def run(self):
        question = arp_request if self.address.version == 4 else solicitation
        while not self.ends.wait(PAUSE):
            self.look()
            asker = self.askers[self.questions % ASKERS]
            self.count(self.answers.pop(asker, 0) if self.questions >= ASKERS else None)
            self.watch.send(question(self.mac, asker, self.address))
            self.questions += 1
        self.look()
        for asker in self.askers[:self.questions]:
            self.count(self.answers.pop(asker, 0))
        self.watch.socket.close()

    def count(self, answers):
        """Takes in how many answers a question of before had."""
        if answers:
            self.answered += 1
            self.twice += answers > 1

    def look(self):
        for frame in self.watch.frames():
            told = arp_told(frame) if self.address.version == 4 else nd_told(frame)
            if told is None or told[0] != self.address:
                continue
            if told[1] is None:
                self.announced += 1
            else:
                self.answers[told[1]] += 1

    def end(self):
        self.ends.set()
        self.join()
        return types.SimpleNamespace(
            address=str(self.address), questions=self.questions, answered=self.answered, twice=self.twice, announced=self.announced)


def arp_request(mac, asker, target):
    own = frames.text(mac)
    return frames.ethernet(own, 0x806, frames.arp(1, own, str(asker), str(target)))


def arp_told(frame):
    """Whose address a frame tells of, and to whom (nobody: unasked). RFC 826; RFC 5227 section 3."""
    if frame[12:14] != b"\x08\x06" or frame[20:22] not in (b"\0\1", b"\0\2"):
        return None
    sender, target = (ipaddress.IPv4Address(frame[at:at + 4]) for at in (28, 38))
    if sender == target:
        return sender, None
    return (sender, target) if frame[20:22] == b"\0\2" else None


def solicitation(mac, asker, target):
    """RFC 4861 section 4.3, to the target's solicited-node group."""
    own = frames.text(mac)
    group = ipaddress.IPv6Address(ipaddress.IPv6Address("ff02::1:ff00:0").packed[:13] + target.packed[13:])
    message = summed(asker, group, frames.neighbour(SOLICITATION, str(target), 1, own))
    to = "33:33:" + frames.text(group.packed[12:])
    return frames.ethernet(own, 0x86DD, frames.ipv6(str(asker), str(group), socket.IPPROTO_ICMPV6, message), to=to)


def advertisement(mac, address, asker, to):
    """An answer without any option."""
    message = summed(address, asker, frames.icmpv6(ADVERTISEMENT, bytes([SOLICITED | OVERRIDE, 0, 0, 0]) + address.packed))
    return frames.ethernet(frames.text(mac), 0x86DD, frames.ipv6(str(address), str(asker), socket.IPPROTO_ICMPV6, message), to=frames.text(to))


def summed(source, to, message):
    """The message with its checksum (RFC 4443 section 2.3)."""
    words = source.packed + to.packed + struct.pack("!II", len(message), 58) + message
    total = sum(struct.unpack(f"!{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return message[:2] + struct.pack("!H", ~total & 0xFFFF) + message[4:]


def nd_told(frame):
    """The same of neighbour advertisements: an answer says that it is one, what is announced replaces what was known (RFC 4861 section
    7.2.6)."""
    if frame[12:14] != b"\x86\xdd" or frame[20] != 58 or frame[54] != ADVERTISEMENT:
        return None
    target = ipaddress.IPv6Address(frame[62:78])
    if frame[58] & SOLICITED:
        return target, ipaddress.IPv6Address(frame[38:54])
    return (target, None) if frame[58] & OVERRIDE else None
