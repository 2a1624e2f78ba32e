"""What the truth table tries: policies by what they are made of, changes one after the other, and what they mean.

Each policy is drawn by its direction, target, peer and port; each case is a step with so many policies on a pod. Cases are chosen so
that soon every two values of two of these have met.
"""

import ipaddress
import itertools
import re

from Policies import drawn, on_port, selects

SPACES = ["blue", "red", "green"]
PARTS = {
    "direction": ["ingress", "egress", "both"],
    "target": ["all", "label", "expression", "not in"],
    "peer": [
        "everybody", "pods", "namespaces", "pods of namespaces", "block", "block with exception", "IPv6 block", "IPv6 block with exception", "nobody",
    ],
    "port": ["all", "number", "name", "range", "protocol", "two", "SCTP", "SCTP range"],
    "stack": [1, 2, 3],
    "step": ["create", "update", "delete", "relabel pod", "relabel namespace", "move", "restart"],
}
#: How often a step comes in so many cases.
STEPS = ["create"] * 9 + ["update"] * 10 + ["delete"] * 4 + ["relabel pod"] * 5 + ["relabel namespace"] * 3 + ["move"] * 3
#: Each so many-th case is a restart of the controller.
RESTART = 20
MOST = 6


def six(address):
    """The IPv6 address of the pod that has this IPv4 address."""
    _, space, node, host = address.split(".")
    return f"fd00:{space}:{node}::{host}"


def served(address):
    """The address at which the pod of this one is asked by SCTP, and by nothing else. Open vSwitch before 3.4 takes all associations between
    two addresses for one connection (docs/guide/policy.md, limits), so who asks and who is asked must not be the same two."""
    one, space, node, host = address.split(".")
    return f"{one}.{space}.{int(node) + 100}.{host}"


def target(address, kind):
    """Where a packet of the matrix goes that is for the pod of this address."""
    protocol, version = means(kind)
    address = served(address) if protocol == "SCTP" else address
    return six(address) if version == 6 else address


def means(kind):
    """Protocol and IP version of a packet of the matrix."""
    protocol, version = re.fullmatch(r"([A-Z]+)(6?)", kind).groups()
    return "UDP" if protocol == "OLD" else protocol, 6 if version else 4


def pairs(parts):
    """Every two values, with what they are values of."""
    return set(itertools.combinations(sorted((name, str(value)) for name, value in parts.items()), 2))


ALL_PAIRS = {
    pair for one, other in itertools.combinations(sorted(PARTS), 2)
    for pair in itertools.product([(one, str(value)) for value in PARTS[one]], [(other, str(value)) for value in PARTS[other]])
}


class World:
    """Pods, namespaces and policies as they are meant to be, and the next change of them."""

    def __init__(self, generator, addresses):
        self.generator, self.addresses = generator, addresses
        self.labels = {pod: {"app": "ab"[at % 2], "tier": "ab"[at // 2 % 2]} for at, pod in enumerate(sorted(addresses))}
        self.ports = {pod: 80 if at % 3 else 8080 for at, pod in enumerate(sorted(addresses))}
        self.namespaces = {space: {} for space in SPACES}
        self.isolated = set()
        self.policies, self.seen, self.drawn = {}, set(), 0

    # -- what comes next

    def draw(self, at_random):
        """A step and what it is about; nothing is changed yet."""
        self.drawn += 1
        step = self.generator.choice(STEPS) if self.drawn % RESTART else "restart"
        if step == "create" and len(self.policies) >= MOST:
            step = "delete"
        if step in ("update", "delete") and not self.policies:
            step = "create"
        if step in ("create", "update"):
            if step == "create":
                name = next(f"policy {at}" for at in itertools.count() if f"policy {at}" not in self.policies)
            else:
                name = self.generator.choice(sorted(self.policies))
            space, parts, spec = self.best(step, name, at_random)
            return step, name, (space, parts, spec)
        if step == "delete":
            return step, self.generator.choice(sorted(self.policies)), None
        if step == "relabel pod":
            labels = {key: self.generator.choice("ab") for key in ("app", "tier") if self.generator.random() < 0.7}
            return step, self.generator.choice(sorted(self.labels)), labels
        if step == "relabel namespace":
            labels = {"stage": self.generator.choice("ab")} if self.generator.random() < 0.8 else {}
            return step, self.generator.choice(SPACES), (labels, self.generator.random() < 0.15)
        return step, self.generator.choice(sorted(self.labels)), None

    def best(self, step, name, at_random):
        """Of some policies the one that meets most that has not met."""
        best = None
        for _ in range(1 if at_random else 30):
            # Policies come in stacks: most of them are in one namespace.
            space = self.generator.choice([SPACES[0], *SPACES])
            parts = {part: self.generator.choice(PARTS[part]) for part in ("direction", "target", "peer", "port")}
            news = len(pairs({**parts, "step": step, "stack": self.stack(space, name)}) - self.seen)
            if best is None or news > best[0]:
                best = news, space, parts
        _, space, parts = best
        if at_random:
            own = sorted(self.addresses.values())
            return space, None, drawn(self.generator, own + [six(address) for address in own])
        return space, parts, self.spec(parts, space)

    def stack(self, space, name):
        others = sum(policy[0] == space for other, policy in self.policies.items() if other != name)
        return min(others + 1, PARTS["stack"][-1])

    def note(self, step, name):
        """Remembers what has met in a case: with a written policy its step, with a step of something else all policies."""
        for other, (space, parts, _) in self.policies.items():
            if parts and (name == other or step not in ("create", "update")):
                self.seen |= pairs({**parts, "step": step, "stack": self.stack(space, other)})

    def spec(self, parts, space):
        one = self.generator.choice
        targets = {
            "all": {}, "label": {"matchLabels": {"app": one("ab")}},
            "expression": {"matchExpressions": [{"key": "tier", "operator": one(["Exists", "DoesNotExist"])}]},
            "not in": {"matchExpressions": [{"key": "app", "operator": one(["In", "NotIn"]), "values": [one("ab")]}]},
        }
        pods, spaces = {"matchLabels": {"app": one("ab")}}, {"matchLabels": {"stage": one("ab")}}
        if one([True, False]):
            spaces = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [one(SPACES)]}]}
        hole = one(sorted(self.addresses.values()))
        net = ipaddress.ip_network(f"{hole}/16", strict=False)
        wide = ipaddress.ip_network(f"{six(hole)}/32", strict=False)
        peers = {
            "everybody": [], "pods": [{"podSelector": pods}], "namespaces": [{"namespaceSelector": spaces}],
            "pods of namespaces": [{"namespaceSelector": spaces, "podSelector": pods}],
            "block": [{"ipBlock": {"cidr": str(one([net, ipaddress.ip_network(f"{hole}/32")]))}}],
            "block with exception": [{"ipBlock": {"cidr": one(["0.0.0.0/0", "10.0.0.0/8"]), "except": [str(net), "10.12.2.0/24"][:one([1, 2])]}}],
            "IPv6 block": [{"ipBlock": {"cidr": str(one([wide, ipaddress.ip_network(f"{six(hole)}/128")]))}}],
            "IPv6 block with exception": [{"ipBlock": {"cidr": one(["::/0", "fd00::/16"]), "except": [str(wide), "fd00:12:2::/48"][:one([1, 2])]}}],
        }
        port = {
            "all": [], "number": [{"protocol": "TCP", "port": one([80, 8080])}], "name": [{"protocol": "TCP", "port": "http"}],
            "range": [{"protocol": "TCP", "port": 81, "endPort": 9000}], "protocol": [{"protocol": "UDP"}],
            "two": [{"protocol": "TCP", "port": 80}, {"protocol": "UDP", "port": 53}],
            "SCTP": [{"protocol": "SCTP", "port": one([9090, 9091])}], "SCTP range": [{"protocol": "SCTP", "port": 9000, "endPort": one([9080, 9100])}],
        }[parts["port"]]
        spec = {"podSelector": targets[parts["target"]], "policyTypes": []}
        for way, peer in (("ingress", "from"), ("egress", "to")):
            if parts["direction"] not in (way, "both"):
                continue
            spec["policyTypes"].append(way.title())
            if parts["peer"] == "nobody":
                continue
            rule = {**({peer: peers[parts["peer"]]} if peers[parts["peer"]] else {}), **({"ports": port} if port else {})}
            spec[way] = [rule]
        return spec

    # -- what is meant

    def wanted(self, probes, target=target):
        """Each packet of the matrix: whether it should pass. `target` is where it goes."""
        found = {}
        for one, other in itertools.permutations(sorted(self.labels), 2):
            for kind, port in probes:
                (protocol, version), source = means(kind), self.addresses[one]
                ends = six(source) if version == 6 else source, target(self.addresses[other], kind)
                goes = self.lets("egress", one, other, ends[1], protocol, port)
                found[one, other, kind, port] = goes and self.lets("ingress", other, one, ends[0], protocol, port)
        return found

    def lets(self, direction, own, peer, address, kind, port):
        """`address` is the peer's."""
        space = own.split(":")[0]
        if direction == "ingress" and space in self.isolated and peer.split(":")[0] == space:
            return True
        isolated = direction == "ingress" and space in self.isolated
        names = {"http": self.ports[own if direction == "ingress" else peer]}
        for of, _, spec in self.policies.values():
            types = spec.get("policyTypes") or ["Ingress"] + (["Egress"] if spec.get("egress") else [])
            if of != space or direction.title() not in types or not selects(spec.get("podSelector", {}), self.labels[own]):
                continue
            isolated = True
            for rule in spec.get(direction, []):
                peers = rule.get("to" if direction == "egress" else "from")
                if not peers and on_port(rule.get("ports"), kind, port, names):
                    return True
                for wanted in peers or []:
                    # Behind a block are addresses, which have no names of ports.
                    known = {} if direction == "egress" and "ipBlock" in wanted else names
                    if self.is_peer(wanted, space, peer, address) and on_port(rule.get("ports"), kind, port, known):
                        return True
        return not isolated

    def is_peer(self, wanted, own, pod, address):
        if block := wanted.get("ipBlock"):
            address = ipaddress.ip_address(address)
            holes = block.get("except", [])
            return address in ipaddress.ip_network(block["cidr"]) and not any(address in ipaddress.ip_network(hole) for hole in holes)
        space = pod.split(":")[0]
        if "namespaceSelector" not in wanted:
            return space == own and selects(wanted.get("podSelector", {}), self.labels[pod])
        labels = {**self.namespaces[space], "kubernetes.io/metadata.name": space}
        return selects(wanted["namespaceSelector"], labels) and selects(wanted.get("podSelector", {}), self.labels[pod])
