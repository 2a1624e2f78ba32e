"""Traffic between network namespaces, by sockets of this process: a socket stays in the namespace that it was made in.

What is sent is random and compared by its digest; whatever is missing, comes twice or comes changed is an AssertionError.
"""

import collections
import ctypes
import hashlib
import os
import select
import socket
import struct
import threading
import time

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
#: Sets a receive buffer beyond the system's limit (socket(7)); Python has no name for it.
SO_RCVBUFFORCE = 33
SEQUENCE = struct.Struct("!I")


def inside(namespace, make):
    """Calls `make` on a thread that stands in the namespace, and returns what it returns."""
    outcome = {}

    def enter():
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            with open(f"/run/netns/{namespace}", encoding="ascii") as handle:
                if libc.setns(handle.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"setns to {namespace}")
            outcome["made"] = make()
        except OSError as error:
            outcome["error"] = error

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["made"]


def endpoint(namespace, address, kind, timeout):
    """A socket bound to an address of the namespace, with a port of the system's choice."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = inside(namespace, lambda: socket.socket(family, kind))
    made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    made.settimeout(timeout)
    made.bind((address, 0))
    return made


def tcp(source, target, size, patience=10.0):
    """Sends `size` bytes over one connection. `source` and `target` are pairs of a namespace and an address."""
    sent, received = os.urandom(size), hashlib.sha256()
    came = 0
    with endpoint(*target, socket.SOCK_STREAM, patience) as listener, endpoint(*source, socket.SOCK_STREAM, patience) as sender:
        listener.listen(1)
        try:
            sender.connect(listener.getsockname())
            taker, _ = listener.accept()
        except OSError as error:
            raise AssertionError(f"no connection: {error}") from None

        thread = threading.Thread(target=send_all, args=(sender, sent))
        thread.start()
        with taker:
            taker.settimeout(patience)
            try:
                while part := taker.recv(1 << 16):
                    received.update(part)
                    came += len(part)
            except OSError as error:
                raise AssertionError(f"{came} of {size} bytes came: {error}") from None
            finally:
                thread.join()
    if received.digest() != hashlib.sha256(sent).digest():
        raise AssertionError(f"what came is not what was sent: {came} of {size} bytes")


def pour(server, client, address, port, size=0, patience=20.0):
    """Sends `size` bytes over TCP to an address and port at which another namespace listens.

    Returns how many came, and the address that the listener saw them come from: 0 and "" where there was no connection.
    """
    family, everywhere = (socket.AF_INET6, "::") if ":" in address else (socket.AF_INET, "0.0.0.0")
    listener = inside(server, lambda: socket.socket(family, socket.SOCK_STREAM))
    sender = inside(client, lambda: socket.socket(family, socket.SOCK_STREAM))
    with listener, sender:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((everywhere, int(port)))
        listener.listen(1)
        for end in (listener, sender):
            end.settimeout(patience)
        try:
            sender.connect((address, int(port)))
            taker, seen = listener.accept()
        except OSError:
            return 0, ""
        thread = threading.Thread(target=send_all, args=(sender, bytes(int(size))))
        thread.start()
        came = 0
        with taker:
            taker.settimeout(patience)
            try:
                while part := taker.recv(1 << 16):
                    came += len(part)
            except OSError:
                pass  # what came is told
            finally:
                thread.join()
    return came, seen[0]


def send_all(sender, data):
    """The other end says how much is missing, if that fails."""
    try:
        sender.sendall(data)
        sender.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def udp(source, target, size, datagram=1200, window=32, patience=2.0):
    """Sends `size` bytes in datagrams, no more than `window` of them ahead of what has come. Each must come once."""
    sent = os.urandom(size)
    parts = [sent[at:at + datagram] for at in range(0, size, datagram)]
    came = collections.Counter()
    with endpoint(*target, socket.SOCK_DGRAM, 0) as taker, endpoint(*source, socket.SOCK_DGRAM, patience) as sender:
        content = {}
        sequence, last = 0, time.monotonic()
        while time.monotonic() - last < patience and len(came) < len(parts):
            while sequence < len(parts) and sequence - len(came) < window:
                sender.sendto(SEQUENCE.pack(sequence) + parts[sequence], taker.getsockname())
                sequence += 1
            last = take(taker, came, content) or last
        # What comes twice may come late.
        take(taker, came, content)
    missing = sum(number not in came for number in range(len(parts)))
    if missing:
        raise AssertionError(f"{missing} of {len(parts)} datagrams are missing")
    twice = sum(times > 1 for times in came.values())
    if twice:
        raise AssertionError(f"{twice} of {len(parts)} datagrams came more than once")
    joined = b"".join(content[number] for number in range(len(parts)))
    if hashlib.sha256(joined).digest() != hashlib.sha256(sent).digest():
        raise AssertionError("what came is not what was sent")


def take(taker, came, content):
    """Waits a moment for a datagram, and takes all that are there. Returns when, None if there was none."""
    select.select([taker], [], [], 0.05)
    last = None
    while True:
        try:
            data = taker.recv(1 << 16)
        except BlockingIOError:
            return last
        (number,) = SEQUENCE.unpack_from(data)
        came[number] += 1
        content[number] = data[SEQUENCE.size:]
        last = time.monotonic()


class Watch:
    """Sees every frame that comes in by a namespace's eth0 from now on."""

    def __init__(self, namespace):
        self.socket = inside(namespace, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        self.socket.setblocking(False)
        self.socket.bind(("eth0", ETH_P_ALL))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, frame):
        """Sends a frame as it is."""
        self.socket.send(frame)

    def frames(self):
        """What has come since it was asked last."""
        seen = []
        while True:
            try:
                frame, where = self.socket.recvfrom(1 << 16)
            except BlockingIOError:
                return seen
            if where[2] != socket.PACKET_OUTGOING:
                seen.append(frame)


def is_fragment(frame):
    """Whether it is a part of an IP packet that was cut: an offset or "more", or an IPv6 fragment header (RFC 791, 8200)."""
    kind = frame[12:14]
    if kind == b"\x08\x00":
        return bool(struct.unpack_from("!H", frame, 20)[0] & 0x3FFF)
    return kind == b"\x86\xdd" and frame[20] == 44
