"""Robot keywords for isolation policies: written as Kubernetes has them, judged by what they mean, tried with real packets."""

import contextlib
import ipaddress
import random
import socket
import threading
import time

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

import carry
import sctp
from beside import Beside
from lab import wait_until

#: What is tried between any two pods. ICMP has no port.
PROBES = [("TCP", 80), ("TCP", 8080), ("UDP", 53), ("ICMP", 0)]
#: Seconds in which an answer comes, or none will.
QUIET = 0.5


@library(scope="SUITE", auto_keywords=False)
class Policies(Beside):
    def __init__(self):
        self.policies = {}
        self.labels = {}
        self.servers = {}

    def request(self, method, path, body=None, wanted=(200, 201, 204)):
        session = BuiltIn().get_library_instance("RequestsLibrary")._cache.switch("coeus")
        answer = session.request(method, f"http://127.0.0.1:8181{path}", json=body, timeout=30)
        if answer.status_code not in wanted:
            raise AssertionError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer

    def change(self, method, path, body=None):
        """A write that is over when all switches have it, and none of them goes by what it cached before.

        Waiting for `revalidator/wait` is not enough: in the userspace datapath of Open vSwitch 3.1.0 a cached flow now and then stays as
        it was, though its tables say otherwise (docs/guide/policy.md, limits).
        """
        answer = self.request(method, f"{path}?wait=programmed&timeout=20s", body, (200, 201))
        if (state := answer.headers.get("Coeus-Programmed")) != "programmed":
            raise AssertionError(f"{method} {path}: it is {state} on the switches: {answer.text}")
        self.lab.forget_cached_flows()

    # -- what is written

    @keyword
    def put_policy(self, name, spec, namespace="blue", established="cut"):
        """A NetworkPolicy's spec as Kubernetes has it."""
        body = self.policy_body(name, spec, namespace, established)
        self.change("PUT", self.policy_path(name), body)
        self.policies[name] = spec

    @keyword
    def policy_path(self, name):
        return f"/rests/data/k8s:k8s/network-policies/network-policy={self.coeus.pod_uid('policy ' + name)}"

    @keyword
    def policy_body(self, name, spec, namespace="blue", established="cut"):
        return {"k8s:network-policy": [{
            "uuid": self.coeus.pod_uid("policy " + name), "name": name, "coeus-policy:namespace": namespace,
            "coeus-policy:established-flows": established, "network-policy-spec": written(spec),
        }]}

    @keyword
    def policy_is_refused(self, spec, *words):
        """The write fails, says why, and leaves nothing."""
        answer = self.request("PUT", self.policy_path("refused"), self.policy_body("refused", spec), (400, 409))
        for word in words:
            if word not in answer.text:
                raise AssertionError(f"{word!r} is not said: {answer.text}")
        self.request("GET", self.policy_path("refused"), wanted=(404, 409))

    @keyword
    def delete_policy(self, name):
        self.change("DELETE", self.policy_path(name))
        del self.policies[name]

    @keyword
    def delete_all_policies(self):
        for name in list(self.policies):
            self.delete_policy(name)

    @keyword
    def label_pod(self, pod, *labels):
        """Replaces the labels of a pod; each is `key=value`."""
        labels = dict(label.split("=") for label in labels)
        path = f"/rests/data/pod:coe/pods={self.coeus.pod_uid(pod)}"
        entry = self.request("GET", f"{path}?content=config").json()["pod:pods"]
        entry[0]["coeus-policy:label"] = [{"key": key, "value": value} for key, value in labels.items()]
        entry[0]["coeus-policy:named-port"] = [{"name": "http", "protocol": "TCP", "port": 80}]
        self.change("PUT", path, {"pod:pods": entry})
        self.labels[pod] = labels

    @keyword
    def first_packets(self, name, address, label, to, node=1):
        """A pod that sends datagrams to ports 53 and 54 of another one before it is plugged in and before it has an entry. Its entry is written
        once it is plugged in. Answers how many of either kind arrived in the second after the first; the pod goes again."""
        full, key_value = f"blue:{name}", label.split("=")
        path = f"/rests/data/pod:coe/pods={self.coeus.pod_uid(full)}"
        self.coeus.plug_pod(name, "blue", node, f"{address}/24", "10.11.1.1")
        pod, target = self.coeus.pods[full], self.coeus.pods[to]
        # Nobody has answered yet, so nobody is asked.
        pod.inside("ip", "neighbour", "replace", target.address, "lladdr", target.mac, "dev", "eth0")
        ends, seen = threading.Event(), {53: 0, 54: 0}
        sender = carry.inside(pod.namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        flood = threading.Thread(target=send_until, args=(ends, sender, target.address, list(seen)))
        body = self.coeus.pod_body(name, "blue", node, address)
        body["pod:pods"][0]["coeus-policy:label"] = [{"key": key_value[0], "value": key_value[1]}]
        source = socket.inet_aton(address)
        with carry.Watch(target.namespace) as watch:
            flood.start()
            try:
                self.request("PUT", path, body)
                end = time.monotonic() + 10
                while time.monotonic() < end:
                    time.sleep(0.02)
                    for frame in watch.frames():
                        if frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[26:30] == source:
                            seen[int.from_bytes(frame[36:38], "big")] += 1
                            end = min(end, time.monotonic() + 1) if sum(seen.values()) == 1 else end
            finally:
                ends.set()
                flood.join()
                sender.close()
                self.request("DELETE", path)
                self.coeus.unplug_pod(name, "blue")
        logger.info(f"{full} with {label}: {seen}")
        return seen[53], seen[54]

    @keyword
    def isolate_namespace(self, name, isolated):
        body = {"coeus-policy:namespace": [{"name": name, "isolated": isolated == "yes"}]}
        self.change("PUT", f"/rests/data/coeus-policy:namespaces/namespace={name}", body)

    # -- access lists by hand

    @keyword
    def put_access_list(self, name, *rules):
        """Each rule is `DIRECTION [PROTOCOL [PORTS]] [from NETWORK-OR-GROUP]`, with `from` for both directions."""
        self.change("PUT", self.list_path(name), access_list(name, rules))

    @keyword
    def access_list_is_refused(self, name, rule, words):
        answer = self.request("PUT", self.list_path(name), access_list(name, [rule]), (400, 409))
        if words not in answer.text or name not in answer.text:
            raise AssertionError(f"{words!r} or {name} is not said: {answer.text}")
        self.request("GET", self.list_path(name), wanted=(404, 409))

    def list_path(self, name):
        return f"/rests/data/ietf-access-control-list:access-lists/acl=ietf-access-control-list:ipv4-acl,{name}"

    @keyword
    def bind_access_lists(self, interface, *names):
        body = {"name": interface, "aclservice:port-security-enabled": True, "aclservice:security-groups": list(names)}
        self.change("PUT", f"/rests/data/ietf-interfaces:interfaces/interface={interface}", {"ietf-interfaces:interface": [body]})

    # -- what is tried

    @keyword
    def serve_in_pods(self):
        """Every pod answers on every port that is tried."""
        for name, pod in self.coeus.pods.items():
            self.servers[name] = Server(pod)

    @keyword
    def stop_servers(self):
        for server in self.servers.values():
            server.stop()

    @keyword
    def packets_should_tell(self, patience=6):
        """Every cell of the truth table with real packets, until all are as they are meant."""
        began = time.monotonic()
        while True:
            wrong = [cell for cell in self.cells() if cell]
            if not wrong:
                return
            if time.monotonic() - began > float(patience):
                # Open vSwitch 3.1.0 now and then keeps a cached verdict that its tables do not give: ask without the cache.
                self.lab.forget_cached_flows()
                still = [cell for cell in self.cells() if cell]
                said = f"{'; '.join(wrong[:8])}; labels {self.labels}; policies {self.policies}"
                if still:
                    raise AssertionError(f"{len(still)} cells are wrong: {said}")
                logger.warn(f"wrong until the switches forgot what they had cached: {said}")
                return

    def cells(self):
        pods = [name for name in self.coeus.pods if name in self.labels]
        found, threads = [], []

        def tried(one, other, kind, port):
            wanted = self.allows(one, other, kind, port)
            if self.passes(one, other, kind, port) != wanted:
                found.append(f"{kind}/{port} from {one} to {other} should {'pass' if wanted else 'fail'}")

        for one in pods:
            for other in pods:
                for kind, port in PROBES if one != other else []:
                    threads.append(threading.Thread(target=tried, args=(one, other, kind, port)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    def passes(self, one, other, kind, port):
        source, target = self.coeus.pods[one], self.coeus.pods[other]
        if kind == "ICMP":
            return source.ping(target.address, count=1, wait=QUIET) > 0
        if kind == "SCTP":
            return sctp.reaches(source.namespace, source.address, target.address, port, QUIET)
        version = 6 if kind.endswith("6") else 4
        stream = socket.SOCK_STREAM if kind.startswith("TCP") else socket.SOCK_DGRAM
        with carry.endpoint(source.namespace, source.addresses[version], stream, QUIET) as sender:
            try:
                sender.connect((target.addresses[version], port))
                sender.send(b"?")
                return bool(sender.recv(1))
            except OSError:
                return False

    @keyword
    def connection_should(self, verb, one, other, port=80, kind="TCP"):
        """`pass` or `fail`, at last. A kind with a 6 is by IPv6."""
        wanted = verb == "pass"
        wait_until(f"{kind}/{port} from {one} to {other} {verb}es", lambda: self.passes(one, other, kind, int(port)) == wanted, 20)

    @keyword
    def long_datagrams_should(self, verb, one, other, port=53, size=8000):
        """Datagrams that are sent as fragments, and their answers."""
        source, target = self.coeus.pods[one], self.coeus.pods[other]
        came = 0
        # What should come may be slow on a busy machine.
        patience = 3 if verb == "pass" else QUIET
        with carry.endpoint(source.namespace, source.address, socket.SOCK_DGRAM, patience) as sender:
            sender.connect((target.address, int(port)))
            for number in range(5):
                said = bytes([number]) * int(size)
                with contextlib.suppress(OSError):
                    sender.send(said)
                    came += sender.recv(1 << 16) == said
        if came != (5 if verb == "pass" else 0):
            raise AssertionError(f"{came} of 5 long datagrams from {one} to {other} came back")

    @keyword
    def open_connection(self, one, other, port=80):
        """A connection that says something, for later."""
        source, target = self.coeus.pods[one], self.coeus.pods[other]
        self.open = carry.endpoint(source.namespace, source.address, socket.SOCK_STREAM, 3)
        self.open.connect((target.address, int(port)))
        self.open_connection_should("pass")

    @keyword
    def open_connection_should(self, verb):
        try:
            self.open.send(b"?")
            went = bool(self.open.recv(1))
        except OSError:
            went = False
        if went != (verb == "pass"):
            raise AssertionError(f"the connection did not {verb}")

    @keyword
    def close_connection(self):
        self.open.close()

    @keyword
    def try_random_policies(self, seed, cases):
        """Policies and labels drawn from a seed, each case a change of one thing; answers the slowest and the middle time."""
        generator, times = random.Random(int(seed)), []
        for number in range(int(cases)):
            step, began = generator.random(), time.monotonic()
            name = f"random {generator.randrange(3)}"
            if step < 0.2:
                pod = generator.choice(sorted(self.labels))
                self.label_pod(pod, *[f"{key}={generator.choice('ab')}" for key in ("app", "tier") if generator.random() < 0.7])
            elif step < 0.3 and name in self.policies:
                self.delete_policy(name)
            else:
                self.put_policy(name, drawn(generator, [self.coeus.pods[pod].address for pod in sorted(self.labels)]))
            try:
                self.packets_should_tell()
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, case {number}: {error}") from None
            times.append(round(time.monotonic() - began, 3))
        times.sort()
        logger.info(f"seconds from PUT to the last cell: {times}")
        return times[-1], times[len(times) // 2]

    # -- what is meant

    def allows(self, one, other, kind, port):
        return self.lets("egress", one, other, kind, port) and self.lets("ingress", other, one, kind, port)

    def lets(self, direction, own, peer, kind, port):
        isolated = False
        for spec in self.policies.values():
            types = spec.get("policyTypes") or ["Ingress"] + (["Egress"] if spec.get("egress") else [])
            if direction.title() not in types or not selects(spec.get("podSelector", {}), self.labels[own]):
                continue
            isolated = True
            for rule in spec.get(direction, []):
                peers = rule.get("to" if direction == "egress" else "from")
                if (not peers or any(self.is_peer(wanted, peer) for wanted in peers)) and on_port(rule.get("ports"), kind, port):
                    return True
        return not isolated

    def is_peer(self, wanted, pod):
        if block := wanted.get("ipBlock"):
            address = ipaddress.ip_address(self.coeus.pods[pod].address)
            return address in ipaddress.ip_network(block["cidr"]) and not any(
                address in ipaddress.ip_network(hole) for hole in block.get("except", [])
            )
        space = {"kubernetes.io/metadata.name": pod.split(":")[0]}
        return selects(wanted.get("namespaceSelector", {}), space) and selects(wanted.get("podSelector", {}), self.labels[pod])


def send_until(ends, sender, address, ports):
    """A datagram to each port every millisecond."""
    while not ends.wait(0.001):
        for port in ports:
            with contextlib.suppress(OSError):
                sender.sendto(b"first", (address, port))


class Server:
    """Answers in a pod on all ports that are tried."""

    def __init__(self, pod):
        self.sockets, self.running = [], True
        self.associations = sctp.Answers(pod.namespace, pod.address)
        for kind, port, address in [(*probe, address) for probe in PROBES for address in pod.addresses.values()]:
            if kind == "ICMP":
                continue
            stream = kind == "TCP"
            make = socket.SOCK_STREAM if stream else socket.SOCK_DGRAM
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            made = carry.inside(pod.namespace, lambda make=make, family=family: socket.socket(family, make))
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                # An address that is new cannot be named yet, but waited for.
                wait_until(f"{address} can be named", lambda made=made, address=address, port=port: named(made, address, port), 10)
            else:
                made.bind((address, port))
            if stream:
                made.listen(128)
            self.sockets.append(made)
            threading.Thread(target=self.streams if stream else self.datagrams, args=(made,), daemon=True).start()

    def streams(self, made):
        with contextlib.suppress(OSError):
            while self.running:
                taken, _ = made.accept()
                threading.Thread(target=self.echo, args=(taken,), daemon=True).start()

    def echo(self, taken):
        with contextlib.suppress(OSError), taken:
            taken.settimeout(60)
            while said := taken.recv(64):
                taken.send(said)

    def datagrams(self, made):
        with contextlib.suppress(OSError):
            while self.running:
                said, sender = made.recvfrom(1 << 16)
                # Without a sender, the socket was shut.
                if sender:
                    made.sendto(said, sender)

    def stop(self):
        self.running = False
        self.associations.stop()
        for made in self.sockets:
            with contextlib.suppress(OSError):
                made.shutdown(socket.SHUT_RDWR)
            made.close()


def named(made, address, port):
    with contextlib.suppress(OSError):
        made.bind((address, port))
        return True


def selects(selector, labels):
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    for one in selector.get("matchExpressions", []):
        there, values = one["key"] in labels, one.get("values", [])
        holds = {
            "In": there and labels.get(one["key"]) in values,
            "NotIn": not there or labels[one["key"]] not in values,
            "Exists": there,
            "DoesNotExist": not there,
        }[one["operator"]]
        if not holds:
            return False
    return True


def on_port(ports, kind, port, names=None):
    if not ports:
        return True
    for one in ports:
        if one.get("protocol", "TCP") != kind:
            continue
        first = one.get("port")
        if isinstance(first, str):
            first = ({"http": 80} if names is None else names).get(first, -1)
        if first is None or first <= port <= one.get("endPort", first):
            return True
    return False


def access_list(name, rules):
    """netvirt's words for rules that are written short."""
    aces = []
    for number, rule in enumerate(rules):
        rule, _, peer = rule.partition(" from ")
        direction, kind, ports = [*rule.split(), "", ""][:3]
        matches = {"protocol": {"tcp": 6, "udp": 17, "sctp": 132, "icmp": 1}[kind]} if kind else {}
        if ports:
            first, _, last = ports.partition("-")
            matches["destination-port-range"] = {"lower-port": int(first), "upper-port": int(last or first)}
        ace = {"rule-name": f"rule {number}", "actions": {"permit": [None]}, "aclservice:direction": f"aclservice:direction-{direction}"}
        if "/" in peer:
            matches[f"{'source' if direction == 'ingress' else 'destination'}-ipv{6 if ':' in peer else 4}-network"] = peer
        elif peer:
            ace["aclservice:remote-group-id"] = peer
        aces.append({**ace, "matches": matches})
    kind = "ietf-access-control-list:ipv4-acl"
    return {"ietf-access-control-list:acl": [{"acl-type": kind, "acl-name": name, "access-list-entries": {"ace": aces}}]}


def written(spec):
    """The same in the words of the models."""
    def selector(given):
        labels = [{"key": key, "value": value} for key, value in given.get("matchLabels", {}).items()]
        found = {"match-labels": labels} if labels else {}
        if given.get("matchExpressions"):
            found["coeus-policy:match-expressions"] = given["matchExpressions"]
        return found

    def peer(given):
        found = {}
        if "podSelector" in given:
            found["peer-pod-selector"] = selector(given["podSelector"])
        if "namespaceSelector" in given:
            found["peer-namespace-selector"] = selector(given["namespaceSelector"])
        if "ipBlock" in given:
            found["ip-block"] = given["ipBlock"]
        return {"network-policy-peer": found}

    def port(given):
        found = {"protocol": given.get("protocol", "TCP")}
        if "port" in given:
            found["port"] = str(given["port"])
        if "endPort" in given:
            found["coeus-policy:end-port"] = given["endPort"]
        return {"network-policy-port": found}

    body = {}
    if selector(spec.get("podSelector", {})):
        body["pod-selector"] = selector(spec["podSelector"])
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        rules = []
        for rule in spec.get(direction, []):
            found = {}
            if rule.get("ports"):
                found[f"{direction}-ports"] = [port(one) for one in rule["ports"]]
            if rule.get(peers):
                found[peers] = [peer(one) for one in rule[peers]]
            rules.append({f"network-policy-{direction}-rule": found})
        if rules:
            body[direction] = rules
    if spec.get("policyTypes"):
        body["policy-types"] = [kind.lower() for kind in spec["policyTypes"]]
    return body


def drawn(generator, addresses):
    """A policy's spec, drawn at random."""
    def selector():
        key, values = generator.choice(["app", "tier"]), generator.sample(["a", "b"], generator.randint(1, 2))
        kind = generator.randrange(6)
        if kind < 2:
            return {}
        if kind < 4:
            return {"matchLabels": {key: values[0]}}
        operator = generator.choice(["In", "NotIn", "Exists", "DoesNotExist"])
        values = {"values": values} if operator in ("In", "NotIn") else {}
        return {"matchExpressions": [{"key": key, "operator": operator, **values}]}

    def peer():
        kind = generator.randrange(3)
        if kind == 0:
            return {"podSelector": selector()}
        if kind == 1:
            return {"namespaceSelector": generator.choice([{}, {"matchLabels": {"kubernetes.io/metadata.name": "blue"}}]), "podSelector": selector()}
        hole = ipaddress.ip_network(generator.choice(addresses))
        nets = ["0.0.0.0/0", "10.0.0.0/8"] if hole.version == 4 else ["::/0", "fd00::/16"]
        return {"ipBlock": {"cidr": generator.choice(nets), "except": [str(hole)]}}

    def port():
        return generator.choice([
            {"protocol": "TCP", "port": 80}, {"protocol": "UDP", "port": 53}, {"protocol": "UDP"},
            {"protocol": "TCP", "port": "http"}, {"protocol": "TCP", "port": 81, "endPort": 9000}, {"protocol": "SCTP", "port": 9090},
        ])

    def rules():
        some = lambda make: [make() for _ in range(generator.randrange(3))]  # noqa: E731
        return [{"from": some(peer), "to": some(peer), "ports": some(port)} for _ in range(generator.randrange(3))]

    types = generator.choice([["Ingress"], ["Egress"], ["Ingress", "Egress"], []])
    ingress, egress = ([{key: rule[key] for key in (way, "ports")} for rule in rules()] for way in ("from", "to"))
    return {"podSelector": selector(), "policyTypes": types, "ingress": ingress, "egress": egress}
