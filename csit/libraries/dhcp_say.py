"""Says one DHCP message on eth0 as a client or relay agent would, and prints the answer as JSON; "null" if there is none.

Runs inside a pod: python3 dhcp_say.py '{"kind": 1, "requested": "192.168.10.9"}'. It needs nothing but Python and root, and can
say what real clients say rarely or never: DECLINE, INFORM, requests of relay agents.
"""

import json
import random
import socket
import struct
import sys
import time

BROADCAST = b"\xff" * 6
COOKIE = bytes([99, 130, 83, 99])


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def address(text):
    return socket.inet_aton(text or "0.0.0.0")


def frame(asked, mac, xid):
    chaddr = bytes.fromhex(asked["chaddr"].replace(":", "")) if "chaddr" in asked else mac
    giaddr = asked.get("giaddr")
    message = struct.pack("!BBBBIHH", 1, 1, 6, 0, xid, 0, 0) + address(asked.get("ciaddr")) + bytes(8) + address(giaddr)
    message += chaddr + bytes(10 + 64 + 128) + COOKIE + bytes([53, 1, asked["kind"]])
    for code, name in ((50, "requested"), (54, "server")):
        if name in asked:
            message += bytes([code, 4]) + address(asked[name])
    for code, data in asked.get("options", {}).items():
        data = bytes.fromhex(data)
        message += bytes([int(code), len(data)]) + data
    message += b"\xff"
    udp = struct.pack("!HHHH", 67 if giaddr else 68, 67, 8 + len(message), 0) + message
    source, target = address(asked.get("source")), socket.inet_aton("255.255.255.255")
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + source + target
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    return BROADCAST + mac + b"\x08\x00" + header + udp


def answer(raw, xid):
    """The message in a frame from a server, if it is one for this request."""
    if raw[12:14] != b"\x08\x00" or raw[23] != 17:
        return None
    start = 14 + (raw[14] & 15) * 4
    source, target = struct.unpack("!HH", raw[start:start + 4])
    message = raw[start + 8:]
    if source != 67 or target not in (67, 68) or len(message) < 240 or message[0] != 2:
        return None
    if struct.unpack("!I", message[4:8])[0] != xid:
        return None
    options, rest = {}, message[240:]
    while rest and rest[0] != 255:
        if rest[0]:
            options[str(rest[0])] = rest[2:2 + rest[1]].hex()
            rest = rest[2 + rest[1]:]
        else:
            rest = rest[1:]
    dotted = socket.inet_ntoa
    return {
        "kind": int(options.get("53", "0"), 16), "address": dotted(message[16:20]), "next-server": dotted(message[20:24]),
        "to": dotted(raw[30:34]), "port": target, "file": message[108:236].rstrip(b"\0").decode(), "options": options,
    }


def main():
    asked = json.loads(sys.argv[1])
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    link.bind(("eth0", 0))
    mac = link.getsockname()[4]
    xid = random.randrange(1 << 32)
    # A request may be lost in a busy machine; what is not to be answered is said once.
    for _ in range(1 if asked.get("once") else 5):
        link.send(frame(asked, mac, xid))
        deadline = time.monotonic() + 2
        while (left := deadline - time.monotonic()) > 0:
            link.settimeout(left)
            try:
                heard = answer(link.recv(4096), xid)
            except TimeoutError:
                break
            if heard:
                print(json.dumps(heard))
                return
    print("null")


main()
