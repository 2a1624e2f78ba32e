"""What switches say of packets, by `ofproto/trace`: one connection a switch to its control socket, many questions."""

import ipaddress
import json
import re
import socket

from truth_cases import means

#: The first port that a system gives to a client (IANA, dynamic ports).
CLIENT_PORT = 49152


class Control:
    """The control socket of ovs-vswitchd (ovs-appctl(8)): JSON-RPC without a length, one object after another."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        self.decoder, self.text = json.JSONDecoder(), ""

    def close(self):
        self.socket.close()

    def ask(self, questions):
        """The answers to many `(method, words)`, which are all sent before the first answer is read."""
        asked = [json.dumps({"id": at, "method": method, "params": list(words)}) for at, (method, words) in enumerate(questions)]
        found = []
        # The switch reads no further while it cannot write: not everything at once.
        for at in range(0, len(asked), 16):
            part = asked[at:at + 16]
            self.socket.sendall("".join(part).encode())
            found += [self.answer() for _ in part]
        return found

    def answer(self):
        while True:
            try:
                answer, end = self.decoder.raw_decode(self.text)
            except ValueError:
                read = self.socket.recv(1 << 16)
                if not read:
                    raise AssertionError("the switch closed its control socket") from None
                self.text += read.decode(errors="replace")
                continue
            self.text = self.text[end:].lstrip()
            if answer.get("error"):
                raise AssertionError(f"the switch says: {answer['error']}")
            return answer["result"]


def flow(in_port, source, target, kind, port, macs, ttl=64, tunnel=""):
    """A packet in the words of ovs-ofctl(8)."""
    (protocol, version), name = means(kind), kind.lower()
    ip = "nw" if version == 4 else "ipv6"
    words = f"in_port={in_port},dl_src={macs[0]},dl_dst={macs[1]},{ip}_src={source},{ip}_dst={target},nw_ttl={ttl}{tunnel}"
    if protocol == "ICMP":
        return f"{name},{words}," + ("icmp_type=8,icmp_code=0" if version == 4 else "icmpv6_type=128,icmpv6_code=0")
    flags = ",tcp_flags=syn" if protocol == "TCP" else ""
    ports = f"{protocol.lower()}_src={CLIENT_PORT},{protocol.lower()}_dst={port}"
    return f"{name},{words},{ports}{flags}"


def outputs(text):
    """OpenFlow ports that a trace leaves by, and where it enters a tunnel: node, VNI, MACs and TTL as they come out there."""
    ports = {int(port) for port in re.findall(r"^ *output:(\d+)$", text, re.M)}
    tunnels = []
    for line in re.findall(r"^Datapath actions: (.*)$", text, re.M):
        pushed = re.search(r"tnl_push\(.*?ipv4\(src=[\d.]+,dst=([\d.]+).*?vni=(0x[0-9a-f]+)", line)
        if pushed:
            tunnels.append((str(ipaddress.ip_address(pushed.group(1))), int(pushed.group(2), 16), line[:pushed.start()]))
    return ports, tunnels


def rewritten(before, macs, ttl):
    """MACs and TTL after datapath actions."""
    source, target = macs
    for found in re.findall(r"set\(eth\(([^)]*)\)\)", before):
        source = next(iter(re.findall(r"src=([0-9a-f:]+)", found)), source)
        target = next(iter(re.findall(r"dst=([0-9a-f:]+)", found)), target)
    for found in re.findall(r"set\(ipv(?:4\([^)]*?ttl|6\([^)]*?hlimit)=(\d+)", before):
        ttl = int(found)
    return (source, target), ttl
