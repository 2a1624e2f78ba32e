#!/usr/bin/env python3
"""ADD by coeus-cni and by the reference plugin `bridge`, on the same machine and node, one after the other in turns.

    apt-get install --no-install-recommends containernetworking-plugins openvswitch-switch
    pip install -r csit/requirements.txt
    cargo build --release
    sudo benches/cni_against_bridge.py target/release/coeus --pods 10 200 --more 40

A controller, Open vSwitch (userspace datapath) and the node agent run in namespaces of their own. The clock starts when the plugin is executed, and
stops when it has ended; each is executed by nsenter(1) in a namespace of its own, coeus-cni in the node's. `bridge` has host-local for its addresses and answers when the
kernel has the devices; coeus-cni chooses the lowest free address of the node's pod-cidr and answers when the switch has confirmed all flows.
The split of its time is what the agent says. Beside them stands what Open vSwitch alone takes to add a port of nobody's (ovs-vsctl, which waits for it).
"""

import argparse
import os
import pathlib
import re
import statistics
import sys
import time
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "csit/libraries"))

import Cni  # noqa: E402
from lab import Lab, run, wait_until  # noqa: E402

CIDR = "10.11.0.0/16"
PARTS = ("addresses", "port", "flows", "inside")


class Agents(Cni.Cni):
    """The agent of a node outside of Robot."""

    def __init__(self, lab):
        super().__init__()
        self.named = types.SimpleNamespace(lab=lab, node=lambda index: lab.nodes[int(index) - 1])

    @property
    def coeus(self):
        return self.named


class Contender:
    """A plugin with its configuration, as the runtime of the suites calls it."""

    def __init__(self, lab, namespace, name, plugin, config):
        self.lab, self.name, self.containers = lab, name, []
        inside = ["nsenter", f"--net=/run/netns/{namespace}"]
        self.runtime = Cni.Runtime(plugin, {"cniVersion": "1.0.0", "name": name, **config}, inside)

    def sandbox(self):
        number = len(self.containers)
        netns = f"{self.lab.tag}{self.name[0]}{number}"
        self.lab.add_namespace(netns)
        self.containers.append((f"{self.name}{number:08x}", netns))
        return self.containers[-1]

    def add(self):
        container, netns = self.sandbox()
        begin = time.perf_counter()
        status, answer = self.runtime.call("ADD", container, f"/run/netns/{netns}", args=f"IgnoreUnknown=1;K8S_POD_NAME=p{len(self.containers)}")
        spent = time.perf_counter() - begin
        if status:
            raise SystemExit(f"{self.name}: {answer}")
        return spent

    def delete(self, number):
        for container, netns in self.containers[-number:]:
            self.runtime.call("DEL", container, f"/run/netns/{netns}")
            self.lab.remove_namespace(netns)
        del self.containers[-number:]


def bare_port(lab, node, name):
    """What the switch alone takes for a port that is nobody's; it is taken away again."""
    run("ip", "-n", node.namespace, "link", "add", name, "type", "veth", "peer", "name", f"{name}p")
    run("ip", "-n", node.namespace, "link", "set", name, "addrgenmode", "none", "up")
    began = time.monotonic()
    node.vsctl("add-port", "br-int", name)
    spent = time.monotonic() - began
    node.vsctl("del-port", "br-int", name)
    run("ip", "-n", node.namespace, "link", "delete", name)
    return spent


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("coeus", help="the program, a release build; coeus-cni is beside it")
    arguments.add_argument("--pods", type=int, nargs="+", default=[10, 200], help="pods that are there already")
    arguments.add_argument("--more", type=int, default=40)
    arguments.add_argument("--rest", type=float, nargs="+", default=[0.1, 0.0], help="seconds before each of those; at 0 an ADD also waits for what vswitchd and the kernel still have to do for those before")
    chosen = arguments.parse_args()
    binary = pathlib.Path(chosen.coeus).resolve()
    os.environ["COEUS_BINARY"] = str(binary)
    lab = Lab()
    agents = Agents(lab)
    try:
        lab.start_controller()
        node = lab.add_node()
        wait_until("there is a bridge", node.has_bridge)
        status, answer = lab.request("PUT", "/restconf/config/k8s-node:k8s-nodes-info", {"k8s-node:k8s-nodes-info": {"k8s-nodes": [
            {"uid": "00000000-0000-4000-8000-0000000000aa", "host-name": "n1", "internal-ip-address": node.local_ip, "pod-cidr": CIDR}]}})
        if status != 201:
            raise SystemExit(f"the node is refused: {answer}")
        agents.start_agent(node.index)
        leases = {"type": "host-local", "subnet": "10.12.0.0/16", "dataDir": str(lab.dir / "leases")}
        # Of its own: what lies on a node makes ovs-vswitchd there slower, such as the addresses of that plugin's devices.
        apart = f"{lab.tag}bridge"
        lab.add_namespace(apart)
        contenders = [
            Contender(lab, node.namespace, "coeus", binary.parent / "coeus-cni", {"type": "coeus-cni", "socket": str(node.dir / "cni/node.sock")}),
            Contender(lab, apart, "bridge", pathlib.Path(Cni.PLUGINS) / "bridge", {"type": "bridge", "bridge": "cni0", "ipam": leases}),
        ]
        print("| pods there | rest, s | ADD | p50, ms | p99, ms | times bridge, p50 |")
        print("|---|---|---|---|---|---|")
        for present in chosen.pods:
            while len(contenders[0].containers) < present:
                for contender in contenders:
                    contender.add()
            for rest in chosen.rest:
                told = (node.dir / "agent.log").stat().st_size
                times = {contender.name: [] for contender in contenders}
                for _ in range(chosen.more):
                    for contender in contenders:
                        time.sleep(rest)
                        times[contender.name].append(contender.add())
                base = statistics.median(times["bridge"])
                shown = f"{present} | {rest:g}"
                for name, spent in times.items():
                    middle = statistics.median(spent)
                    print(f"| {shown} | {name} | {middle * 1e3:.1f} | {percentile(spent, 0.99) * 1e3:.1f} | {middle / base:.2f} |", flush=True)
                log = (node.dir / "agent.log").read_bytes()[told:].decode()
                split = [re.findall(rf'{part}="?([0-9.]+)', log) for part in PARTS]
                if all(split):
                    parts = ", ".join(f"{part} {statistics.median(map(float, found)):.1f}" for part, found in zip(PARTS, split))
                    print(f"| | | of it, ms p50 | {parts} | | |")
                for contender in contenders:
                    contender.delete(chosen.more)
            alone = [bare_port(lab, node, f"{present}x{number}") for number in range(chosen.more)]
            middle = statistics.median(alone)
            print(f"| {present} | | ovs-vsctl add-port alone | {middle * 1e3:.1f} | {percentile(alone, 0.99) * 1e3:.1f} | {middle / base:.2f} |", flush=True)
    finally:
        for index in list(agents.agents):
            agents.kill_agent(index)
        lab.close()


if __name__ == "__main__":
    main()
