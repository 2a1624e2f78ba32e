"""Robot keywords for the truth table of isolation policies: nine pods, and after each change four answers for each two of them.

    what is meant ── the evaluator of policies ── the flows that switches should hold ── ofproto/trace on the switches ── packets
"""

import json
import random
import re
import time

from robot.api import logger
from robot.api.deco import keyword, library

import truth_traces
from Policies import written
from beside import Beside
from lab import run, wait_until
from truth_cases import ALL_PAIRS, SPACES, World, means, served, six, target
from truth_packets import PROBES, Answers, Packets

#: Seconds until packets have to be right. A loaded machine is slow.
PATIENCE = 20


@library(scope="SUITE", auto_keywords=False)
class TruthTable(Beside):
    def __init__(self):
        self.world = self.packets = self.answers = None
        self.controls, self.tunnels, self.places = [], [], {}
        self.times, self.cached, self.turned, self.moves = {}, 0, 0, 0

    @property
    def pods(self):
        return self.coeus.pods

    def request(self, method, path, body=None):
        status, answer = self.lab.request(method, path, body)
        if status not in (200, 201):
            raise AssertionError(f"{method} {path}: {status} {answer}")
        return answer

    # -- the bed

    @keyword
    def start_truth_table(self, seed):
        """After the pods: servers in them, labels, and one connection to each switch's control socket."""
        generator = random.Random(int(seed))
        self.world = World(generator, {name: pod.address for name, pod in self.pods.items()})
        for pod in self.world.labels:
            self.add_addresses(pod)
            self.write_pod(pod)
            self.learn_place(pod)
        self.answers = Answers(self.pods.values())
        self.packets = Packets(self.pods)
        find = ["--bare", "--columns=ofport", "find", "interface", "type=vxlan"]
        self.tunnels = [int(node.vsctl(*find)) for node in self.lab.nodes]
        self.controls = [truth_traces.Control(node.dir / "vs.ctl") for node in self.lab.nodes]

    @keyword
    def stop_truth_table(self):
        for part in [self.packets, *self.controls]:
            if part:
                part.close()
        if self.answers:
            self.answers.stop()

    def add_addresses(self, name):
        """The pod has an IPv6 address as well, and those at which it is asked by SCTP, from which it asks nobody; all at once."""
        pod = self.pods[name]
        pod.addresses[6] = six(pod.address)
        asked = served(pod.address)
        for words in (f"{six(pod.address)}/64 nodad", f"{six(asked)}/128 nodad preferred_lft 0", f"{asked}/32"):
            address, *how = words.split()
            run("ip", "-n", pod.namespace, "address", "add", address, "dev", "eth0", *how)
        run("ip", "-n", pod.namespace, "-6", "route", "replace", "default", "via", "fe80::1", "dev", "eth0")

    def learn_place(self, name):
        """The port of a pod, and the MAC of its gateway."""
        pod = self.pods[name]
        gateway = pod.address.rsplit(".", 1)[0] + ".1"

        def known():
            # Whether it answers is a matter of policy; the question who has its address is not.
            pod.ping(gateway, count=1, wait=0.2)
            return re.search(r"lladdr (\S+)", pod.inside("ip", "neighbour", "show", gateway))

        mac = wait_until(f"{name} knows its gateway", known).group(1)
        self.places[name] = (pod.node, int(pod.node.vsctl("get", "interface", pod.port, "ofport")), mac)

    # -- what is written

    def policy_path(self, name):
        return f"/rests/data/k8s:k8s/network-policies/network-policy={self.coeus.pod_uid(name)}"

    def change(self, method, path, body=None):
        """A write, until all switches have it; packets are the judge of that."""
        answer = self.request(method, f"{path}?wait=programmed&timeout=20s", body)
        state = (answer or {}).get("coeus-status:programmed", {}).get("state")
        if state != "programmed":
            raise AssertionError(f"{method} {path}: {state} on the switches: {answer}")

    def write_pod(self, name):
        space, short = name.split(":")
        pod = self.pods[name]
        node = self.lab.nodes.index(pod.node) + 1
        asked = served(pod.address)
        body = self.coeus.dual_pod_body(short, space, node, pod.address, six(pod.address), asked, six(asked))
        labels = self.world.labels[name]
        body["pod:pods"][0]["coeus-policy:label"] = [{"key": key, "value": value} for key, value in labels.items()]
        body["pod:pods"][0]["coeus-policy:named-port"] = [{"name": "http", "protocol": "TCP", "port": self.world.ports[name]}]
        self.request("PUT", f"/rests/data/pod:coe/pods={self.coeus.pod_uid(name)}?wait=programmed&timeout=20s", body)

    def step(self, step, name, what):
        """One change, and what is meant from then on. Answers when it began: with the first write."""
        world, began = self.world, time.monotonic()
        if step in ("create", "update"):
            space, _, spec = what
            world.policies[name] = what
            body = {"uuid": self.coeus.pod_uid(name), "name": name, "coeus-policy:namespace": space, "network-policy-spec": written(spec)}
            self.change("PUT", self.policy_path(name), {"k8s:network-policy": [body]})
        elif step == "delete":
            del world.policies[name]
            self.change("DELETE", self.policy_path(name))
        elif step == "relabel pod":
            world.labels[name] = what
            self.write_pod(name)
        elif step == "relabel namespace":
            self.relabel_namespace(name, *what)
        elif step == "move":
            began = self.move(name)
        else:
            began = self.restart()
        return began

    def relabel_namespace(self, name, labels, isolated):
        self.world.namespaces[name] = labels
        (self.world.isolated.add if isolated else self.world.isolated.discard)(name)
        entry = {"name": name, "isolated": isolated, "label": [{"key": key, "value": value} for key, value in labels.items()]}
        self.change("PUT", f"/rests/data/coeus-policy:namespaces/namespace={name}", {"coeus-policy:namespace": [entry]})

    def move(self, name):
        """The pod is on another node, at an address of that node; its labels and its network namespace come along."""
        pod, nodes = self.pods[name], self.lab.nodes
        target = nodes[(nodes.index(pod.node) + 1 + self.moves % (len(nodes) - 1)) % len(nodes)]
        self.moves += 1
        head = f"10.1{1 + SPACES.index(name.split(':')[0])}.{target.index}"
        pod.node.vsctl("del-port", "br-int", pod.port)
        run("ip", "-n", pod.node.namespace, "link", "set", pod.port, "netns", target.namespace)
        run("ip", "-n", target.namespace, "link", "set", pod.port, "up")
        pod.node = target
        self.coeus.readdress_pod(name, f"{head}.{20 + self.moves % 200}/24", f"{head}.1")
        self.add_addresses(name)
        self.world.addresses[name] = pod.address
        began = time.monotonic()
        target.vsctl(
            "add-port", "br-int", pod.port, "--", "set", "interface", pod.port,
            f'external_ids:iface-id="{name}"', f'external_ids:attached-mac="{pod.mac}"',
        )
        self.write_pod(name)
        self.learn_place(name)
        return began

    def restart(self):
        """The controller ends and begins anew; meanwhile packets go as before."""
        self.lab.stop_controller()
        wanted = self.world.wanted(PROBES)
        self.packets.begin(wanted, time.monotonic() + PATIENCE, self.stuck)
        traced = self.traced(wanted)
        self.compare("without controller", wanted, {"ofproto/trace": traced})
        self.packets_end("without controller")
        began = time.monotonic()
        self.lab.start_controller()
        for node in self.lab.nodes:
            wait_until(f"the switch of {node.name} is back", lambda node=node: self.lab.switch_status(node).get("connected"), 20)
        return began

    # -- the four answers

    def evaluated(self):
        """What policies mean and what flows do, of the controller, which is asked by pods' names and takes their first addresses."""
        kinds = {(kind, port): f"{kind.lower()}/{port}" if port else kind.lower() for kind, port in PROBES if kind != "OLD"}
        body = {"coeus-trace:input": {"from": sorted(self.pods), "probe": list(kinds.values())}}
        cells = self.request("POST", "/rests/operations/coeus-trace:reachability", body)["coeus-trace:output"]["cell"]
        names = {text: probe for probe, text in kinds.items()}
        policy, flows = {}, {}
        for cell in cells:
            key = (cell["from"], cell["to"], *names[cell["probe"]])
            policy[key], flows[key] = cell["policy"] == "allowed", cell["flows"] == "delivered"
        return policy, flows

    def traced(self, wanted):
        """What each switch says of the packet, and of what comes to it through a tunnel."""
        nodes = self.lab.nodes
        found, first = dict.fromkeys((key for key in wanted if key[2] != "OLD"), False), [[] for _ in nodes]
        for key in found:
            one, other, kind, port = key
            source, peer = self.pods[one], self.pods[other]
            node, in_port, gateway = self.places[one]
            # In one namespace on one node is in one ELAN.
            near = one.split(":")[0] == other.split(":")[0] and source.node is peer.node and means(kind)[0] != "SCTP"
            macs = (source.mac, peer.mac if near else gateway)
            first[nodes.index(node)].append((key, in_port, macs, 64, ""))
        beyond = self.ask(first, found)
        second = [[] for _ in nodes]
        for key, node, (address, vni, before), macs, ttl in beyond:
            there = next(at for at, one in enumerate(nodes) if one.local_ip == address)
            macs, ttl = truth_traces.rewritten(before, macs, ttl)
            tunnel = f",tun_id={vni},tun_src={node.local_ip},tun_dst={address}"
            second[there].append((key, self.tunnels[there], macs, ttl, tunnel))
        self.ask(second, found)
        return found

    def ask(self, questions, found):
        beyond = []
        for node, control, asked in zip(self.lab.nodes, self.controls, questions):
            packets = []
            for (one, other, kind, port), in_port, macs, ttl, tunnel in asked:
                ends = self.pods[one].addresses[means(kind)[1]], target(self.pods[other].address, kind)
                packets.append(("ofproto/trace", ["br-int", truth_traces.flow(in_port, *ends, kind, port, macs, ttl, tunnel)]))
            for (key, _, macs, ttl, _), text in zip(asked, control.ask(packets)):
                ports, tunnels = truth_traces.outputs(text)
                found[key] |= self.places[key[1]][0] is node and self.places[key[1]][1] in ports
                beyond += [(key, node, tunnel, macs, ttl) for tunnel in tunnels]
        return beyond

    def compare(self, case, wanted, answers):
        for name, answer in answers.items():
            wrong = [key for key, passes in answer.items() if wanted[key] != passes]
            if wrong:
                raise AssertionError(f"{case}: {name} has {len(wrong)} of {len(answer)} wrong: {self.said(wrong, wanted)}")

    def said(self, wrong, wanted):
        def cell(key):
            one, other, kind, port = key
            return f"{kind}/{port} from {one} to {other} should {'pass' if wanted[key] else 'fail'}"

        state = json.dumps([self.world.policies, self.world.labels, self.world.addresses, self.world.namespaces, sorted(self.world.isolated)])
        return f"{'; '.join(map(cell, wrong[:6]))}\npolicies, labels, addresses, namespaces, isolated: {state}"

    def packets_end(self, case):
        """Until all packets are right; answers since when."""
        wrong, since = self.packets.end()
        if wrong:
            wanted = {cell.key: cell.wanted for cell in self.packets.cells}
            raise AssertionError(f"{case}: packets have {len(wrong)} wrong: {self.said(wrong, wanted)}")
        return since

    def stuck(self, wrong):
        """Two things that go on being wrong, both among the limits in the guide. An answer that a switch saw first is a connection that
        the server began, and stays so while its client goes on. And Open vSwitch 3.1 may change another cached flow than it meant."""
        logger.info(f"wrong for long: {wrong}")
        old = {kind for _, _, kind, _ in wrong} <= {"OLD", "SCTP", "SCTP6"}
        self.turned, self.cached = self.turned + old, self.cached + (not old)
        if not old:
            return self.lab.forget_cached_flows()
        for node in self.lab.nodes:
            node.appctl("dpctl/flush-conntrack")

    # -- the table

    @keyword
    def all_answers_should_agree(self, case="now"):
        """All cells, answered four times. Answers since when packets have been right."""
        wanted = self.world.wanted(PROBES)
        self.packets.begin(wanted, time.monotonic() + PATIENCE, self.stuck)
        try:
            policy, flows = self.evaluated()
            first = self.world.wanted(PROBES, lambda address, kind: target(address, kind.replace("SCTP", "TCP")))
            self.compare(case, first, {"the evaluator of policies": policy, "the pipeline of desired flows": flows})
            self.compare(case, wanted, {"ofproto/trace": self.traced(wanted)})
        except Exception:
            # Packets need not be waited for.
            self.packets.patience = 0
            self.packets.end()
            raise
        return self.packets_end(case)

    @keyword
    def packets_alone_should_agree(self, patience=PATIENCE):
        self.packets.begin(self.world.wanted(PROBES), time.monotonic() + float(patience), self.stuck)
        self.packets_end("packets alone")

    @keyword
    def think_that(self, pod, *labels):
        """What is meant is another thing now than what was written."""
        self.world.labels[pod] = dict(label.split("=") for label in labels)

    @keyword
    def try_cases(self, cases, kind="in pairs"):
        """So many changes, `in pairs` or `at random`, and the whole table after each."""
        for number in range(int(cases)):
            step, name, what = self.world.draw(kind == "at random")
            case = f"case {number}, {step} {name}"
            began = self.step(step, name, what)
            self.world.note(step, name)
            since = self.all_answers_should_agree(case)
            self.times.setdefault(step, []).append(max(since - began, 0.0))

    @keyword
    def try_one_rule(self, space, label):
        """All policies go, and one comes: pods with the label get nothing."""
        for name in list(self.world.policies):
            self.step("delete", name, None)
        key, value = label.split("=")
        self.step("create", "one rule", (space, None, {"podSelector": {"matchLabels": {key: value}}, "policyTypes": ["Ingress"]}))

    @keyword
    def pairs_that_never_met(self):
        return sorted(f"{one[0]} {one[1]} and {other[0]} {other[1]}" for one, other in ALL_PAIRS - self.world.seen)

    @keyword
    def distribution(self):
        """Seconds from the first write of a change to the last cell right, by step."""
        lines = [f"{'':>18}  cases    min    50%    90%    99%    max"]
        every = sorted(time for times in self.times.values() for time in times)
        for step, times in [*sorted(self.times.items()), ("all", every)]:
            times = sorted(times)
            at = lambda share: times[min(int(share * len(times)), len(times) - 1)]  # noqa: E731
            lines.append(f"{step:>18} {len(times):6} " + " ".join(f"{at(share):6.3f}" for share in (0, 0.5, 0.9, 0.99, 1)))
        if self.turned:
            lines.append(f"{self.turned} times an answer was taken for the beginning of a connection")
        if self.cached:
            lines.append(f"{self.cached} times a switch went by a verdict that its tables no longer gave")
        return "\n".join(lines)
