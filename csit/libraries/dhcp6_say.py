"""Says one DHCPv6 message on eth0 as a client would, and prints the answer as JSON; "null" if there is none.

Runs inside a pod: python3 dhcp6_say.py '{"kind": 1, "address": "fd00:1::9"}'. It needs nothing but Python and root, and can say
what real clients say rarely or never: DECLINE, CONFIRM, messages to one address, octets that are no message.
"""

import json
import random
import socket
import struct
import sys
import time

SERVERS = "ff02::1:2"


def option(code, data):
    return struct.pack("!HH", code, len(data)) + data


def options(data):
    found = {}
    while len(data) >= 4:
        code, length = struct.unpack("!HH", data[:4])
        found[code], data = data[4:4 + length], data[4 + length:]
    return found


def message(asked, xid):
    if "raw" in asked:
        return bytes.fromhex(asked["raw"])
    client = bytes.fromhex(asked.get("duid", "00030001" + "020000000001"))
    said = bytes([asked["kind"]]) + xid + option(1, client) + option(8, bytes(2)) + option(6, struct.pack("!HH", 23, 24))
    if "server" in asked:
        said += option(2, bytes.fromhex(asked["server"]))
    if asked["kind"] != 11:
        inner = b""
        if "address" in asked:
            inner = option(5, socket.inet_pton(socket.AF_INET6, asked["address"]) + bytes(8))
        said += option(3, struct.pack("!III", asked.get("iaid", 1), 0, 0) + inner)
    return said


def status(found):
    return struct.unpack("!H", found[13][:2])[0] if 13 in found else None


def answer(data):
    found = options(data[4:])
    said = {"kind": data[0], "server": found.get(2, b"").hex(), "status": status(found), "options": {str(code): value.hex() for code, value in found.items()}}
    if 3 in found:
        inner = options(found[3][12:])
        said["ia-status"] = status(inner)
        if 5 in inner:
            said["address"] = socket.inet_ntop(socket.AF_INET6, inner[5][:16])
            said["lifetime"] = struct.unpack("!I", inner[5][20:24])[0]
    return said


def main():
    asked = json.loads(sys.argv[1])
    index = socket.if_nametoindex("eth0")
    client = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    client.bind(("::", 546, 0, index))
    client.settimeout(0.5)
    for _ in range(1 if asked.get("once") else 6):
        xid = random.randbytes(3)
        client.sendto(message(asked, xid), (asked.get("to", SERVERS), 547, 0, index))
        until = time.monotonic() + 1
        while time.monotonic() < until:
            try:
                data, _ = client.recvfrom(2000)
            except socket.timeout:
                continue
            if data[1:4] == xid:
                print(json.dumps(answer(data)))
                return
    print("null")


main()
