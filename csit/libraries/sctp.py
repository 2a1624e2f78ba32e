"""The packets that begin an SCTP association (RFC 9260), by hand: a kernel may have no SCTP, and what switches do with them is the same."""

import contextlib
import random
import socket
import struct
import threading
import time

import carry

INIT, INIT_ACK = 1, 2


def packet(source, target, tag, kind, own_tag):
    """One INIT or INIT ACK with its checksum (sections 3.3.2 and 3.3.3). `tag` is the verification tag, `own_tag` the one to be answered with."""
    chunk = struct.pack("!BBHIIHHI", kind, 0, 20, own_tag, 65535, 1, 1, 1)
    head = struct.pack("!HHI", source, target, tag)
    return head + struct.pack("<I", crc32c(head + b"\0" * 4 + chunk)) + chunk


def init(source, target, own_tag=1):
    return packet(source, target, 0, INIT, own_tag)


def answer(came):
    """The INIT ACK to an INIT, or nothing. Its state cookie, which a client would have to send back, is left out."""
    if len(came) < 32 or came[12] != INIT:
        return None
    source, target = struct.unpack_from("!HH", came)
    return packet(target, source, int.from_bytes(came[16:20], "big"), INIT_ACK, 1)


def answered(came):
    """The tag of the INIT that this answers, or nothing."""
    return int.from_bytes(came[4:8], "big") if len(came) >= 32 and came[12] == INIT_ACK else None


def reaches(namespace, source, target, port, patience):
    """Whether an INIT is answered in so many seconds. IPv4."""
    return who_answers(namespace, source, target, port, patience) is not None


def who_answers(namespace, source, target, port, patience):
    """The address and port that the answer to an INIT comes from, or nothing in so many seconds. IPv4."""
    tag = random.randrange(1, 1 << 32)
    with carry.inside(namespace, raw) as made:
        made.bind((source, 0))
        made.sendto(init(random.randrange(20000, 60000), port, tag), (target, 0))
        end = time.monotonic() + patience
        while (left := end - time.monotonic()) > 0:
            made.settimeout(left)
            with contextlib.suppress(TimeoutError):
                came, (sender, _) = made.recvfrom(256)
                if answered(payload(came)) == tag:
                    return sender, int.from_bytes(payload(came)[:2], "big")
    return None


class Answers(threading.Thread):
    """Answers INITs to an address of a namespace, at any port. IPv4."""

    def __init__(self, namespace, address):
        super().__init__(daemon=True)
        self.made = carry.inside(namespace, raw)
        self.made.bind((address, 0))
        self.made.settimeout(0.2)
        #: Who sent INITs here, and to which ports.
        self.seen = set()
        self.running = True
        self.start()

    def run(self):
        while self.running:
            with contextlib.suppress(OSError):
                came, (sender, _) = self.made.recvfrom(256)
                if said := answer(payload(came)):
                    self.seen.add((sender, int.from_bytes(payload(came)[2:4], "big")))
                    self.made.sendto(said, (sender, 0))
        self.made.close()

    def stop(self):
        self.running = False
        self.join()


def raw():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, 132)


def payload(came):
    """A raw socket of IPv4 gets the header as well (raw(7))."""
    return came[(came[0] & 15) * 4:]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
