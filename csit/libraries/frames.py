"""Ethernet frames that no honest pod sends, for the suite about anti-spoofing. Checksums are left zero: no switch reads them."""

import ipaddress
import struct

ALL = "ff:ff:ff:ff:ff:ff"


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def text(octets):
    """A MAC address as people write it."""
    return ":".join(f"{octet:02x}" for octet in octets)


def ethernet(source, kind, payload, to=ALL):
    return mac(to) + mac(source) + struct.pack("!H", kind) + payload.ljust(46, b"\0")


def ipv4(source, to, protocol, payload, more=False):
    """`more`: it is a first fragment (RFC 791)."""
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 7, 0x2000 if more else 0, 64, protocol, 0)
    return header + ipaddress.IPv4Address(source).packed + ipaddress.IPv4Address(to).packed + payload


def ipv6(source, to, protocol, payload, hops=255):
    header = struct.pack("!IHBB", 6 << 28, len(payload), protocol, hops)
    return header + ipaddress.IPv6Address(source).packed + ipaddress.IPv6Address(to).packed + payload


def ipv6_first(source, to, protocol, payload):
    """The first fragment of a packet (RFC 8200 section 4.5)."""
    return ipv6(source, to, 44, struct.pack("!BBHI", protocol, 0, 1, 7) + payload)


def options(following, length, shown=None):
    """A destination options header with nothing in it but padding (RFC 8200 section 4.6), or the part of it that is `shown`."""
    return (struct.pack("!BBBB", following, length // 8 - 1, 1, length - 4) + bytes(length - 4))[:shown]


def udp(source, to, payload=b"attack"):
    return struct.pack("!HHHH", source, to, 8 + len(payload), 0) + payload


def arp(operation, sender_mac, sender, target):
    parts = struct.pack("!HHBBH", 1, 0x800, 6, 4, operation), mac(sender_mac), ipaddress.IPv4Address(sender).packed
    return b"".join(parts) + bytes(6) + ipaddress.IPv4Address(target).packed


def icmpv6(kind, body):
    return struct.pack("!BBH", kind, 0, 0) + body


def neighbour(kind, target, option, address):
    return icmpv6(kind, bytes(4) + ipaddress.IPv6Address(target).packed + struct.pack("!BB", option, 1) + mac(address))


def link_local(address):
    """The address that a host makes of its MAC address (RFC 4291 appendix A)."""
    a = mac(address)
    return str(ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + bytes([a[0] ^ 2]) + a[1:3] + b"\xff\xfe" + a[3:]))


def attacks(own, victim):
    """Frames by class. `own` and `victim` have `mac`, `v4`, `v6`; the attacker is a pod with both versions."""
    lla, other_lla = link_local(own.mac), link_local(victim.mac)
    v4 = lambda payload, source=own.v4, to=victim.v4: ipv4(source, to, 17, payload)  # noqa: E731
    nd = lambda payload, source=lla: ethernet(own.mac, 0x86DD, ipv6(source, "ff02::1", 58, payload))  # noqa: E731
    first_v4 = lambda payload, to: ethernet(own.mac, 0x800, ipv4(own.v4, to, 17, payload, more=True))  # noqa: E731
    first_v6 = lambda kind, payload, to="ff02::1": ethernet(own.mac, 0x86DD, ipv6_first(lla, to, kind, payload))  # noqa: E731
    plain = ethernet(own.mac, 0x800, v4(udp(1, 2)))
    return {
        "vlan": [plain[:12] + b"\x81\x00\x00\x07" + plain[12:], plain[:12] + b"\x88\xa8\x00\x07" + plain[12:]],
        "link protocol": [
            ethernet(own.mac, 0x88CC, b"", to="01:80:c2:00:00:0e"),
            ethernet(own.mac, 0x26, b"\x42\x42\x03", to="01:80:c2:00:00:00"),
            ethernet(own.mac, 0x88CC, b""),
        ],
        "router": [nd(icmpv6(134, bytes(12))), nd(icmpv6(137, bytes(36))), nd(icmpv6(134, bytes(12)), "fe80::1")],
        "dhcp server": [
            ethernet(own.mac, 0x800, v4(udp(67, 68), to="255.255.255.255")),
            ethernet(own.mac, 0x86DD, ipv6(lla, "ff02::1", 17, udp(547, 546))),
        ],
        "router fragment": [
            first_v6(58, icmpv6(134, bytes(12))),
            first_v6(58, icmpv6(134, bytes(4)), victim.v6),
            first_v6(58, icmpv6(137, bytes(36))),
        ],
        "dhcp server fragment": [
            first_v4(udp(67, 68, b"\2" + bytes(399)), "255.255.255.255"),
            first_v4(udp(67, 68, b""), victim.v4),
            first_v6(17, udp(547, 546, b"\2" + bytes(399))),
            first_v6(17, udp(547, 546, b""), victim.v6),
        ],
        "hidden header": [
            # The headers fill the fragment; what they lead to is in the next one.
            first_v6(60, options(17, 16)),
            first_v6(60, options(58, 16)),
            first_v6(51, struct.pack("!BBHII", 17, 2, 0, 7, 7) + bytes(4)),
            # Nothing but the fragment's own header, or a second one.
            first_v6(17, b"", victim.v6),
            first_v6(58, b""),
            first_v6(44, struct.pack("!BBHI", 58, 0, 1, 8)),
            # A header that goes on in the next fragment, and one that ends with the packet.
            first_v6(60, options(17, 64, 16)),
            first_v6(0, options(58, 64, 16)),
            first_v6(60, b""),
            ethernet(own.mac, 0x86DD, ipv6(lla, "ff02::1", 60, options(58, 64, 16))),
        ],
        "source mac": [ethernet(victim.mac, 0x800, v4(udp(1, 2))), ethernet("0a:ba:d0:00:00:01", 0x88B5, b"")],
        "arp sender": [
            ethernet(own.mac, 0x806, arp(2, own.mac, victim.v4, own.v4)),
            ethernet(own.mac, 0x806, arp(2, victim.mac, own.v4, victim.v4)),
            ethernet(own.mac, 0x806, arp(1, own.mac, "10.11.1.1", victim.v4)),
        ],
        "nd sender": [
            nd(neighbour(136, victim.v6, 2, own.mac)),
            nd(neighbour(136, own.v6, 2, victim.mac), own.v6),
            nd(neighbour(135, victim.v6, 1, victim.mac)),
            nd(neighbour(136, "fe80::1", 2, own.mac)),
        ],
        "ipv4 source": [
            ethernet(own.mac, 0x800, v4(udp(1, 2), source=victim.v4)),
            ethernet(own.mac, 0x800, v4(udp(1, 2), source="10.11.1.1")),
            ethernet(own.mac, 0x800, v4(udp(68, 67), source="0.0.0.0", to="255.255.255.255")),
        ],
        "ipv6 source": [
            ethernet(own.mac, 0x86DD, ipv6(victim.v6, own.v6, 17, udp(1, 2))),
            ethernet(own.mac, 0x86DD, ipv6("::", victim.v6, 17, udp(1, 2))),
        ],
        "link local": [nd(neighbour(135, victim.v6, 1, own.mac), other_lla)],
    }


#: Where each class is counted: table, and what its flow's line contains.
COUNTERS = {
    "vlan": [(0, "vlan_tci=0x1000/0x1000")],
    "link protocol": [(208, "6900002,")],
    "router": [(208, "6900003,")],
    "dhcp server": [(208, "6900004,")],
    "router fragment": [(208, "6900003,")],
    "dhcp server fragment": [(208, "6900004,")],
    "hidden header": [(208, "690000b,")],
    "source mac": [(208, "6900005,")],
    "arp sender": [(209, "6900006,"), (210, "6900006,")],
    "nd sender": [(209, "6900007,"), (210, "6900007,")],
    "ipv4 source": [(210, "6900008,")],
    "ipv6 source": [(210, "6900009,")],
    "link local": [(210, "690000a,")],
}
