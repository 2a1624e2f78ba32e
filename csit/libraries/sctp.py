"""The packets that begin an SCTP association (RFC 9260), by hand: a kernel may have no SCTP, and what switches do with them is the same."""

import struct

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


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
