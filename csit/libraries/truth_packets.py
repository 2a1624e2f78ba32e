"""Real packets for a whole matrix of pods at once: one thread sends and listens for all of them, one answers in all of them.

Whoever should get an answer is asked again until one comes; whoever should get none is listened for until the end, and asked again if
one comes. Each case has new connections, and one that stays the same in all cases (`OLD`).
"""

import contextlib
import os
import selectors
import socket
import struct
import threading
import time

import carry
import sctp
from truth_cases import means, target

#: What is tried between any two pods, by IPv4, and with a 6 by IPv6. ICMP has no port. OLD is UDP/53 from a port that is never another.
PROBES = [
    ("TCP", 80), ("TCP", 8080), ("UDP", 53), ("SCTP", 9090), ("ICMP", 0), ("OLD", 53),
    ("TCP6", 80), ("UDP6", 53), ("SCTP6", 9090), ("ICMP6", 0),
]
#: Protocols of IP that this process speaks itself (IANA).
SCTP, ICMP6 = 132, 58
#: Blocks all of ICMPv6 but echo replies (RFC 3542 section 3.2): a bit a type.
ONLY_REPLIES = (1, bytes(0xff if at != 129 // 8 else 0xff ^ 1 << 129 % 8 for at in range(32)))
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
#: IP_PKTINFO and IPV6_RECVPKTINFO (ip(7), ipv6(7)): which address a packet came to.
TELL = {4: (socket.IPPROTO_IP, 8), 6: (socket.IPPROTO_IPV6, 49)}
#: Seconds in which no answer comes, if none will: at least, and in answers as slow as the slowest that came.
QUIET, SLOWER = 0.15, 3
#: Seconds until somebody is asked again: the first time, and at most.
AGAIN, RARELY = 0.1, 0.4
#: Seconds after which what is wrong is taken for stuck.
STUCK = 2.0
TOKEN = struct.Struct("!IIB")
RESET = struct.pack("ii", 1, 0)


class Answers:
    """Answers on all ports that are tried, in all pods, at whatever address they have."""

    def __init__(self, pods):
        self.selector, self.running = selectors.DefaultSelector(), True
        for pod in pods:
            for kind, version, port in sorted({(*means(kind), port) for kind, port in PROBES} - {("ICMP", 4, 0), ("ICMP", 6, 0)}):
                make = {"TCP": (socket.SOCK_STREAM,), "UDP": (socket.SOCK_DGRAM,), "SCTP": (socket.SOCK_RAW, SCTP)}[kind]
                made = carry.inside(pod.namespace, lambda make=make, version=version: socket.socket(FAMILIES[version], *make))
                made.setblocking(False)
                if kind == "SCTP":
                    made.setsockopt(*TELL[version], 1)
                    self.selector.register(made, selectors.EVENT_READ, lambda made, port=port: self.associate(made, port))
                    continue
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if version == 6:
                    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                made.bind(("::" if version == 6 else "0.0.0.0", port))
                if kind == "TCP":
                    made.listen(256)
                self.selector.register(made, selectors.EVENT_READ, self.accept if kind == "TCP" else self.echo)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while self.running:
            for key, _ in self.selector.select(0.2):
                with contextlib.suppress(OSError):
                    while True:
                        key.data(key.fileobj)

    def accept(self, made):
        taken, _ = made.accept()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        taken.close()

    def echo(self, made):
        said, sender = made.recvfrom(64)
        made.sendto(said, sender)

    def associate(self, made, port):
        came, at, _, sender = made.recvmsg(256, 128)
        came = payload(made, came)
        if int.from_bytes(came[2:4], "big") == port and (said := sctp.answer(came)):
            # From the address that was asked.
            made.sendmsg([said], at, 0, (sender[0], 0))

    def stop(self):
        self.running = False
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()


class Cell:
    """One packet of the matrix."""

    def __init__(self, number, key, wanted):
        self.number, self.key, self.wanted = number, key, wanted
        self.attempt, self.sent, self.answered, self.again = 0, 0.0, None, AGAIN
        self.right = None

    def look(self, now, quiet):
        """Whether it is as it should be; `right` is since when."""
        if self.wanted:
            self.right = self.answered
        else:
            self.right = self.sent if self.answered is None and now - self.sent >= quiet else None
        return self.right is not None

    def is_due(self, now):
        if self.wanted:
            return self.answered is None and now - self.sent >= self.again
        return self.answered is not None and now - self.answered >= 0.05


class Packets:
    """Sends from all pods. `pods` have a namespace and an address that may change."""

    def __init__(self, pods):
        self.pods = pods
        self.spaces, self.old, self.raw = {}, {}, {}
        self.identity, self.port = 0, 0
        for name, pod in pods.items():
            self.spaces[name] = os.open(f"/run/netns/{pod.namespace}", os.O_RDONLY)
            self.old[name] = self.plain(carry.inside(pod.namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
            self.old[name].bind(("0.0.0.0", 40053))
            for kind, protocol in (("ICMP", socket.IPPROTO_ICMP), ("ICMP6", ICMP6), ("SCTP", SCTP), ("SCTP6", SCTP)):
                family = FAMILIES[means(kind)[1]]
                raw = lambda family=family, protocol=protocol: socket.socket(family, socket.SOCK_RAW, protocol)  # noqa: E731
                self.raw[name, kind] = self.plain(carry.inside(pod.namespace, raw))
            self.raw[name, "ICMP6"].setsockopt(ICMP6, *ONLY_REPLIES)

    @staticmethod
    def plain(made):
        made.setblocking(False)
        return made

    def close(self):
        for made in [*self.old.values(), *self.raw.values()]:
            made.close()
        for space in self.spaces.values():
            os.close(space)

    def begin(self, wanted, patience, stuck=lambda wrong: None):
        """Tries a matrix, `{(from, to, kind, port): whether it should pass}`, on a thread of its own; `end` waits for it.
        `stuck` is told what has been wrong for long, and again when it still is."""
        self.cells = [Cell(number, key, passes) for number, (key, passes) in enumerate(wanted.items())]
        self.patience, self.enough, self.failure, self.slowest = patience, threading.Event(), None, 0.0
        self.stuck, self.stuck_at = stuck, time.monotonic() + STUCK
        self.thread = threading.Thread(target=self.guarded)
        self.thread.start()

    def end(self):
        """The cells that are wrong at last, and since when (a monotonic time) all others have been right."""
        self.enough.set()
        self.thread.join()
        if self.failure:
            raise self.failure
        wrong = [cell.key for cell in self.cells if cell.right is None]
        return wrong, max((cell.right for cell in self.cells if cell.right is not None), default=0.0)

    def guarded(self):
        try:
            with contextlib.ExitStack() as stack:
                self.selector = stack.enter_context(selectors.DefaultSelector())
                self.run(stack)
        except Exception as error:  # noqa: BLE001 - told by `end`
            self.failure = error

    def run(self, stack):
        self.identity = (self.identity + len(self.cells)) & 0xffff
        self.new = {}
        for name in self.pods:
            for version in FAMILIES:
                self.speak(name, version, stack)
            self.selector.register(self.old[name], selectors.EVENT_READ, self.datagram)
        for (_, kind), made in self.raw.items():
            self.selector.register(made, selectors.EVENT_READ, self.echo if means(kind)[0] == "ICMP" else self.association)
        for cell in self.cells:
            self.send(cell, stack)
        while True:
            for key, _ in self.selector.select(0.01):
                with contextlib.suppress(BlockingIOError):
                    while key.data(key.fileobj):
                        pass
            now = time.monotonic()
            quiet = max(QUIET, min(SLOWER * self.slowest, 1.0))
            all_right = all([cell.look(now, quiet) for cell in self.cells])
            if self.enough.is_set() and (all_right or now > self.patience):
                return
            if not all_right and now > self.stuck_at:
                self.stuck([cell.key for cell in self.cells if cell.right is None])
                self.stuck_at = time.monotonic() + STUCK
            for cell in self.cells:
                if cell.is_due(now):
                    cell.again = min(cell.again * 1.5, RARELY)
                    self.send(cell, stack)

    def within(self, name, version, kind):
        carry.ctypes.CDLL(None).setns(self.spaces[name], carry.CLONE_NEWNET)
        return socket.socket(FAMILIES[version], kind)

    def speak(self, name, version, stack):
        """Datagrams of a pod are from a new port from now on."""
        made = self.new[name, version] = self.plain(stack.enter_context(self.within(name, version, socket.SOCK_DGRAM)))
        self.selector.register(made, selectors.EVENT_READ, self.datagram)

    def send(self, cell, stack):
        one, other, kind, port = cell.key
        protocol, version = means(kind)
        cell.attempt += 1
        cell.sent, cell.answered = time.monotonic(), None
        to = target(self.pods[other].address, kind)
        with contextlib.suppress(OSError):
            if protocol == "TCP":
                made = self.plain(stack.enter_context(self.within(one, version, socket.SOCK_STREAM)))
                made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                with contextlib.suppress(BlockingIOError):
                    made.connect((to, port))
                attempt = cell.attempt
                self.selector.register(made, selectors.EVENT_WRITE, lambda made: self.connected(made, cell, attempt))
            elif protocol == "ICMP":
                request = echo_request((self.identity + cell.number) & 0xffff, cell.attempt & 0xffff, version)
                self.raw[one, kind].sendto(request, (to, 0))
            elif protocol == "SCTP":
                self.port = self.port % 20000 + 1
                said = sctp.init(30000 + self.port, port, self.tag(cell))
                self.raw[one, kind].sendto(said, (to, 0))
            else:
                if kind != "OLD" and cell.attempt > 1:
                    # Who asks again does so from another port, as clients do.
                    self.speak(one, version, stack)
                sender = self.old[one] if kind == "OLD" else self.new[one, version]
                sender.sendto(TOKEN.pack(self.identity, cell.number, cell.attempt & 0xff), (to, port))

    def tag(self, cell):
        """Says in 32 bits which cell it is, of which matrix, and which attempt; the lowest bit, since no tag is zero."""
        return (self.identity & 0xfff) << 20 | cell.number << 8 | (cell.attempt & 0x7f) << 1 | 1

    def came(self, cell, attempt):
        if attempt == cell.attempt & 0xff and cell.answered is None:
            cell.answered = time.monotonic()
            self.slowest = max(self.slowest, cell.answered - cell.sent)

    def connected(self, made, cell, attempt):
        self.selector.unregister(made)
        if made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
            self.came(cell, attempt & 0xff)
        made.close()
        return False

    def datagram(self, made):
        said = made.recv(64)
        if len(said) == TOKEN.size:
            identity, number, attempt = TOKEN.unpack(said)
            if identity == self.identity and number < len(self.cells):
                self.came(self.cells[number], attempt)
        return True

    def echo(self, made):
        kind, _, _, identity, attempt = struct.unpack_from("!BBHHH", payload(made, made.recv(256)))
        number = (identity - self.identity) & 0xffff
        if kind in (0, 129) and number < len(self.cells):
            self.came(self.cells[number], attempt & 0xff)
        return True

    def association(self, made):
        tag = sctp.answered(payload(made, made.recv(256)))
        number = (tag or 0) >> 8 & 0xfff
        if tag and number < len(self.cells):
            cell = self.cells[number]
            if tag == self.tag(cell):
                self.came(cell, cell.attempt & 0xff)
        return True


def payload(made, came):
    """What a raw socket got, without the header that there is in IPv4 (raw(7), ipv6(7))."""
    return came[(came[0] & 15) * 4:] if made.family == socket.AF_INET else came


def echo_request(identity, sequence, version=4):
    """RFC 792; the checksum is RFC 1071's. That of RFC 4443 is the kernel's."""
    if version == 6:
        return struct.pack("!BBHHH", 128, 0, 0, identity, sequence)
    total = 0x0800 + identity + sequence
    total = (total & 0xffff) + (total >> 16)
    total = (total & 0xffff) + (total >> 16)
    return struct.pack("!BBHHH", 8, 0, ~total & 0xffff, identity, sequence)
