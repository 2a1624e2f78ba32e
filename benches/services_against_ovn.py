#!/usr/bin/env python3
"""Services and isolation policies of Coeus and of OVN on the same machine, over the same pods on one node each.

    apt-get install --no-install-recommends ovn-central ovn-host openvswitch-switch
    cargo build --release
    sudo benches/services_against_ovn.py target/release/coeus --pods 1000 --spaces 1 10 --rounds 3

With `--alone` Coeus is measured without OVN. A service is a cluster address, one port, and endpoints among the pods: a service and its endpoints for Coeus, a load balancer on all
logical switches and the router for OVN. A policy lets all pods reach all pods on one port and denies the rest: one
policy in each namespace for Coeus; for OVN a port group, an address set and two ACLs. `contenders.py` says how the clock runs.
"""

import argparse
import pathlib
import re
import statistics
import time

from contenders import QUIET_BULK, QUIET_ONE, Coeus, Ovn, Pod, prepare, uid

SERVICE, POLICY = 10_000_000, 20_000_000
DENY, ALLOW = 1000, 1001


def cluster_address(service):
    return f"172.30.{service >> 8}.{service & 255}"


def prefixes(count):
    """Prefixes that nothing makes shorter: every second /28."""
    return [f"198.{18 + (n >> 11)}.{n >> 3 & 255}.{(n & 7) * 32}/28" for n in range(count)]


class CoeusServices(Coeus):
    def data(self, method, path, body):
        self.request(method, f"/rests/data{path}", body)

    def clock(self, what, quiet, action, *words):
        """A flow monitor hears nothing of a change of a group alone: then, what the controller has counted from commit to confirmation."""
        before, start = self.confirmations(), time.monotonic()
        action(*words)
        written = time.monotonic() - start
        last = self.settle(quiet)
        if last >= start:
            return last - start
        after = self.confirmations()
        if after[0] == before[0]:
            raise SystemExit(f"coeus: nothing was confirmed for {what}; logs are in {self.dir}")
        return written + after[1] - before[1]

    def confirmations(self):
        """How many there were of switches, and their seconds together."""
        _, text = self.exchange("GET", "/metrics", None)
        name = "coeus_switch_programming_duration_seconds"
        return [float(re.search(rf"^{name}_{part} (\S+)", text.decode(), re.MULTILINE)[1]) for part in ("count", "sum")]

    def make_services(self, members):
        """Services by number, with the pods behind them."""
        services, endpoints = [], []
        for number, pods in members.items():
            name = {"uid": uid(SERVICE + number), "name": f"s{number}", "network-NS": "ns0"}
            port = {"name": "web", "port": 80, "target-port": "8080"}
            services.append({**name, "cluster-ip-address": cluster_address(number), "service-ports": [port]})
            endpoints.append(self.endpoints(number, pods))
        self.data("PATCH", "", {"ietf-restconf:data": {
            "service:service-information": {"services": services}, "service:endpoints-info": {"endpoints": endpoints}}})

    def endpoints(self, number, pods):
        return {
            "uid": uid(SERVICE + number), "name": f"s{number}", "network-NS": "ns0",
            "endpoint-addresses": [{"ip-address": pod.address} for pod in pods],
            "endpoint-ports": [{"name": "web", "port": 8080}],
        }

    def set_endpoints(self, number, pods):
        path = f"/service:endpoints-info/endpoints={uid(SERVICE + number)}"
        self.data("PUT", path, {"service:endpoints": [self.endpoints(number, pods)]})

    def endpoint(self, number, place):
        return f"/service:endpoints-info/endpoints={uid(SERVICE + number)}/endpoint-addresses={place}"

    def one_less(self, number, pods):
        """The last one, which is an entry of its own."""
        self.data("DELETE", self.endpoint(number, len(pods)), None)

    def one_more(self, number, pods):
        """The last one of these."""
        entry = {"index": len(pods), "ip-address": pods[-1].address}
        self.data("PUT", self.endpoint(number, len(pods)), {"service:endpoint-addresses": [entry]})

    def policy(self, number, space, peers):
        rule = {"ingress-ports": [{"network-policy-port": {"protocol": "TCP", "port": "8080"}}], "from": [{"network-policy-peer": peer} for peer in peers]}
        return {
            "uuid": uid(POLICY + number), "name": f"p{number}", "coeus-policy:namespace": f"ns{space}",
            "network-policy-spec": {"ingress": [{"network-policy-ingress-rule": rule}]},
        }

    def set_policies(self, policies):
        self.data("PATCH", "/k8s:k8s", {"k8s:k8s": {"network-policies": {"network-policy": policies}}})

    def make_policies(self, pods, numbers):
        """Policies over all pods, with all pods as their peers."""
        everyone = [{"peer-namespace-selector": {}}]
        self.set_policies([self.policy(number * self.spaces + space, space, everyone) for number in numbers for space in range(self.spaces)])

    def make_prefixes(self, pods, cidrs):
        blocks = [{"ip-block": {"cidr": cidr}} for cidr in cidrs]
        self.set_policies([self.policy(1_000_000, 0, blocks)])

    def join(self, pod):
        """A pod more, under whatever policies there are."""
        self.put([pod])


class OvnServices(Ovn):
    def topology(self):
        switches = super().topology()
        rows = self.transact([{"op": "select", "table": "Logical_Router", "where": [], "columns": ["_uuid"]}])[0]["rows"]
        self.router = rows[0]["_uuid"]
        return switches

    def balancer(self, number, pods):
        behind = ",".join(f"{pod.address}:8080" for pod in pods)
        return ["map", [[f"{cluster_address(number)}:80", behind]]]

    def make_services(self, members):
        operations = []
        for number, pods in members.items():
            row = {"name": f"s{number}", "protocol": "tcp", "vips": self.balancer(number, pods)}
            operations.append({"op": "insert", "table": "Load_Balancer", "uuid-name": f"lb{number}", "row": row})
        mutation = ["load_balancer", "insert", ["set", [["named-uuid", f"lb{number}"] for number in members]]]
        for switch, _ in self.switches:
            operations.append({"op": "mutate", "table": "Logical_Switch", "where": [["_uuid", "==", switch]], "mutations": [mutation]})
        operations.append({"op": "mutate", "table": "Logical_Router", "where": [["_uuid", "==", self.router]], "mutations": [mutation]})
        self.transact(operations)

    def set_endpoints(self, number, pods):
        where = [["name", "==", f"s{number}"]]
        self.transact([{"op": "update", "table": "Load_Balancer", "where": where, "row": {"vips": self.balancer(number, pods)}}])

    def one_less(self, number, pods):
        """A load balancer has its endpoints in one value."""
        self.set_endpoints(number, pods[:-1])

    def one_more(self, number, pods):
        self.set_endpoints(number, pods)

    def ports(self, pods):
        names = {pod.name for pod in pods}
        rows = self.transact([{"op": "select", "table": "Logical_Switch_Port", "where": [], "columns": ["_uuid", "name"]}])[0]["rows"]
        return [row["_uuid"] for row in rows if row["name"] in names]

    def acl(self, name, priority, match, action):
        row = {"direction": "to-lport", "priority": priority, "match": match, "action": action}
        return {"op": "insert", "table": "ACL", "uuid-name": name, "row": row}

    def make_policies(self, pods, numbers):
        ports = ["set", self.ports(pods)]
        operations = []
        if 0 in numbers:
            addresses = ["set", [pod.address for pod in pods]]
            operations.append({"op": "insert", "table": "Address_Set", "row": {"name": "everyone", "addresses": addresses}})
        for number in numbers:
            group = f"pg{number}"
            acls = ["set", [["named-uuid", f"deny{number}"], ["named-uuid", f"allow{number}"]]]
            operations += [
                self.acl(f"deny{number}", DENY, f"outport == @{group} && ip", "drop"),
                self.acl(f"allow{number}", ALLOW, f"outport == @{group} && ip4.src == $everyone && tcp.dst == 8080", "allow-related"),
                {"op": "insert", "table": "Port_Group", "row": {"name": group, "ports": ports, "acls": acls}},
            ]
        self.policies = numbers.stop
        self.transact(operations)

    def make_prefixes(self, pods, cidrs):
        acls = ["set", [["named-uuid", "denyall"], ["named-uuid", "allowsome"]]]
        ports = self.ports([pod for pod in pods if pod.space == 0])
        self.transact([
            {"op": "insert", "table": "Address_Set", "row": {"name": "blocks", "addresses": ["set", cidrs]}},
            self.acl("denyall", DENY, "outport == @pgblocks && ip", "drop"),
            self.acl("allowsome", ALLOW, "outport == @pgblocks && ip4.src == $blocks && tcp.dst == 8080", "allow-related"),
            {"op": "insert", "table": "Port_Group", "row": {"name": "pgblocks", "ports": ["set", ports], "acls": acls}},
        ])

    def join(self, pod):
        """A pod more, in all groups and sets at once, as whoever drives OVN has to."""
        addresses = f"{pod.mac} {pod.address}"
        row = {"name": pod.name, "addresses": addresses, "port_security": addresses, "dhcpv4_options": self.switches[pod.space][1]}
        port = ["set", [["named-uuid", "port"]]]
        operations = [
            {"op": "insert", "table": "Logical_Switch_Port", "uuid-name": "port", "row": row},
            {"op": "mutate", "table": "Logical_Switch", "where": [["_uuid", "==", self.switches[pod.space][0]]], "mutations": [["ports", "insert", port]]},
            {"op": "mutate", "table": "Address_Set", "where": [["name", "==", "everyone"]], "mutations": [["addresses", "insert", ["set", [pod.address]]]]},
        ]
        for number in range(self.policies):
            operations.append({"op": "mutate", "table": "Port_Group", "where": [["name", "==", f"pg{number}"]], "mutations": [["ports", "insert", port]]})
        self.transact(operations)


class Round:
    """One contender with its pods; each question leaves something behind that the next does not ask about."""

    def __init__(self, make, spaces, count, more):
        self.pods = [Pod(number, spaces) for number in range(count)]
        self.spares = [Pod(number, spaces) for number in range(count, count + more)]
        self.contender = make(spaces, self.pods, self.spares)
        self.figures = {}

    def ask(self, what, quiet, action, *words):
        before, rules = self.contender.cpu(), self.contender.rules()
        seconds = self.contender.clock(what, quiet, action, *words)
        self.figures.setdefault(what, []).append((seconds, self.contender.rules() - rules, self.contender.cpu() - before))

    def services(self, many, each):
        make, contender = self.contender.make_services, self.contender
        for number, size in enumerate([100, 1000]):
            behind = self.pods[: min(size, len(self.pods))]
            self.ask(f"a service of {len(behind)} endpoints", QUIET_ONE, make, {number: behind})
            count = len(behind)
            for left in range(count, count - 3, -1):
                self.ask(f"one endpoint less of {count}", QUIET_ONE, contender.one_less, number, behind[:left])
            for there in range(count - 2, count + 1):
                self.ask(f"one endpoint more of {count}", QUIET_ONE, contender.one_more, number, behind[:there])
            for one in range(3):
                self.ask(f"one less of {count}, all written", QUIET_ONE, contender.set_endpoints, number, behind[: -1 - one])
        crowd = {10 + number: [self.pods[(number * each + one) % len(self.pods)] for one in range(each)] for number in range(many)}
        self.ask(f"{many} services of {each} endpoints", QUIET_BULK, make, crowd)

    def policies(self, count, cidrs):
        pods = len(self.pods)
        self.ask(f"a policy over {pods} pods", QUIET_BULK, self.contender.make_policies, self.pods, range(1))
        self.ask(f"{count - 1} more of them", QUIET_BULK, self.contender.make_policies, self.pods, range(1, count))
        for spare in self.spares:
            self.ask(f"one more pod under {count} policies", QUIET_ONE, self.contender.join, spare)
        self.ask(f"a policy of {cidrs} prefixes", QUIET_BULK, self.contender.make_prefixes, self.pods, prefixes(cidrs))


def measure(make, chosen, spaces, count):
    """The figures of one contender in one round: question -> (seconds, rules more, CPU seconds)."""
    one = Round(make, spaces, count, chosen.more)
    try:
        one.contender.write(one.pods, QUIET_BULK)
        if "services" in chosen.only:
            one.services(chosen.services, 10)
        if "policies" in chosen.only:
            one.policies(chosen.policies, chosen.prefixes)
        middle = {what: tuple(statistics.median(column) for column in zip(*all_)) for what, all_ in one.figures.items()}
        return middle, one.contender.memory()
    finally:
        one.contender.close()


def alone(make, chosen):
    print("| namespaces | what | ms | rules | CPU ms |\n|---|---|---|---|---|")
    for spaces in chosen.spaces:
        rounds = [measure(make, chosen, spaces, chosen.pods) for _ in range(chosen.rounds)]
        for what in rounds[0][0]:
            seconds, rules, cpu = (statistics.median(column) for column in zip(*(figures[what] for figures, _ in rounds)))
            print(f"| {spaces} | {what} | {1000 * seconds:.1f} | {rules:+.0f} | {1000 * cpu:.0f} |", flush=True)
        print(f"| {spaces} | peak memory, MB | {statistics.median(memory for _, memory in rounds):.0f} | | |", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("coeus", help="the program, a release build")
    arguments.add_argument("--pods", type=int, default=1000)
    arguments.add_argument("--spaces", type=int, nargs="+", default=[1, 10])
    arguments.add_argument("--services", type=int, default=1000, help="of ten endpoints each")
    arguments.add_argument("--policies", type=int, default=20, help="over every pod, at least 2")
    arguments.add_argument("--prefixes", type=int, default=10_000)
    arguments.add_argument("--more", type=int, default=10, help="pods that come one by one")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--only", nargs="+", choices=["services", "policies"], default=["services", "policies"])
    arguments.add_argument("--alone", action="store_true", help="Coeus without OVN")
    chosen = arguments.parse_args()
    prepare()
    make = lambda *shape: CoeusServices(pathlib.Path(chosen.coeus).resolve(), *shape)  # noqa: E731
    if chosen.alone:
        return alone(make, chosen)
    contenders = {"Coeus": make, "OVN": OvnServices}
    print("| namespaces | what | Coeus, ms | OVN, ms | OVN / Coeus | rules: Coeus, OVN | CPU ms: Coeus, OVN |\n|---|---|---|---|---|---|---|")
    for spaces in chosen.spaces:
        rounds = [{name: measure(one, chosen, spaces, chosen.pods) for name, one in contenders.items()} for _ in range(chosen.rounds)]
        for what in rounds[0]["Coeus"][0]:
            column = {name: [one[name][0][what] for one in rounds] for name in contenders}
            (ours, our_rules, our_cpu), (theirs, their_rules, their_cpu) = (
                tuple(statistics.median(figures) for figures in zip(*column[name])) for name in ("Coeus", "OVN"))
            print(
                f"| {spaces} | {what} | {1000 * ours:.1f} | {1000 * theirs:.1f} | {theirs / ours:.1f} | {our_rules:+.0f}, {their_rules:+.0f} "
                f"| {1000 * our_cpu:.0f}, {1000 * their_cpu:.0f} |", flush=True)
        memory = [statistics.median(one[name][1] for one in rounds) for name in ("Coeus", "OVN")]
        print(f"| {spaces} | peak memory, MB | {memory[0]:.0f} | {memory[1]:.0f} | {memory[1] / memory[0]:.1f} | | |", flush=True)


if __name__ == "__main__":
    main()
