"""Robot keywords for switches whose daemons end and come back: many ports at once, and how long pods are not heard."""

import os
import re
import signal
import subprocess
import time

from robot.api import logger
from robot.api.deco import keyword, library

from beside import Beside
from lab import LabError, pod_json, run, wait_until


@library(scope="SUITE", auto_keywords=False)
class Restarts(Beside):
    def __init__(self):
        self.probes = None

    # -- many pods

    @keyword
    def make_crowd(self, node, number, namespace):
        """Ports of so many pods on a node, whose other ends nobody uses, and the pods by one YANG Patch."""
        node, number, lab = self.coeus.node(node), int(number), self.coeus.lab
        ends = f"{lab.tag}x{node.index}"
        lab.add_namespace(ends)
        script = lab.dir / "crowd"
        script.write_text("".join(
            f"link add crowd{at} type veth peer name c{at} netns {ends}\nlink set crowd{at} addrgenmode none up\n" for at in range(number)
        ), encoding="ascii")
        run("ip", "-n", node.namespace, "-batch", script, timeout=120)
        words, edits = [], []
        for at in range(number):
            uid = self.coeus.pod_uid(f"{namespace}:c{at}")
            words += [
                "--", "add-port", "br-int", f"crowd{at}", "--", "set", "interface", f"crowd{at}",
                f'external_ids:iface-id="{namespace}:c{at}"', f'external_ids:attached-mac="0a:00:00:01:{at >> 8:02x}:{at & 255:02x}"',
            ]
            address = f"10.{10 + node.index}.{1 + at // 150}.{100 + at % 150}"
            edits += pod_json(uid, f"c{at}", namespace, node.local_ip, address)["pod:pods"]
        node.vsctl(*words[1:])
        # Merging leaves those alone that are there.
        status, body = lab.request("PATCH", "/rests/data/pod:coe", {"pod:coe": {"pods": edits}}, timeout=120)
        if status not in (200, 204):
            raise AssertionError(f"the pods are refused: {status} {body}")

    @keyword
    def flows_should_be_at_least(self, node, number):
        node, seen = self.coeus.node(node), []

        def settled():
            seen.append(len(node.flows()))
            return len(seen) > 2 and seen[-1] == seen[-2] == seen[-3] and seen[-1] >= int(number)

        wait_until(f"{number} flows on {node.name}", settled, 60, pause=0.3)
        return seen[-1]

    # -- daemons

    @keyword
    def end_daemon(self, node, daemon, how="KILL"):
        """Ends a daemon of a node and waits until its process is gone: closing many ports takes the kernel seconds."""
        node = self.coeus.node(node)
        pid = int((node.dir / {"vswitchd": "vs.pid", "ovsdb": "ovsdb.pid"}[daemon]).read_text())
        node.kill(daemon, getattr(signal, f"SIG{how}"))

        wait_until(f"{daemon} of {node.name} is gone", lambda: not os.path.exists(f"/proc/{pid}"), 60)

    @keyword
    def address_again(self, node):
        """The underlay's device was vswitchd's and is a new one: it gets the node's address, as the machine's own start does."""
        node = self.coeus.node(node)
        run("ip", "-n", node.namespace, "address", "replace", f"{node.local_ip}/24", "dev", "br-phy")
        run("ip", "-n", node.namespace, "link", "set", "br-phy", "up")

    @keyword
    def readdress_node(self, node, address):
        """The node's tunnel endpoint moves to another address, of its machine and of its Open vSwitch."""
        node = self.coeus.node(node)
        run("ip", "-n", node.namespace, "address", "flush", "dev", "br-phy")
        node.local_ip = address
        self.address_again(node.index)
        node.vsctl("set", "open_vswitch", ".", f"other_config:local_ip={address}")

    @keyword
    def keep_neighbours(self, *pods):
        """The pods forget no neighbour that they know: what is measured is the switch, not how often a kernel asks."""
        for name in pods:
            pod = self.coeus.pods[name]
            for line in pod.inside("ip", "-4", "neighbour", "show", "dev", "eth0").splitlines():
                if match := re.match(r"(\S+) lladdr (\S+)", line):
                    pod.inside("ip", "neighbour", "replace", match[1], "lladdr", match[2], "dev", "eth0", "nud", "permanent")

    @keyword
    def start_stamped_probes(self, pod, address, count):
        """So many pings, 1,000 a second, with the time of each answer."""
        with open(self.lab.dir / "probes", "w", encoding="ascii") as answers:
            self.probes = subprocess.Popen(
                [
                    "ip", "netns", "exec", self.coeus.pods[pod].namespace, "ping", "-n", "-D", "-i", "0.001", "-c", str(count),
                    "-W", "1", address,
                ],
                stdout=answers,
            )

    @keyword
    def start_vswitchd_and_be_heard(self, node, within):
        """Starts vswitchd under the probes that run; the seconds from the start to the first answer, and to the daemon's own readiness."""
        begun = time.time()
        self.coeus.node(node).start_vswitchd()
        ready = time.time() - begun
        time.sleep(max(0.0, begun + float(within) - time.time()))
        self.probes.terminate()
        self.probes.wait(timeout=10)
        stamps = [float(stamp) for stamp in re.findall(r"^\[([\d.]+)\].*icmp_seq", (self.lab.dir / "probes").read_text(), re.M)]
        # What comes before the daemon is there again was on its way.
        heard = [stamp - begun for stamp in stamps if stamp > begun + 0.02]
        if not stamps or stamps[0] > begun:
            raise AssertionError("nothing was heard before vswitchd ended: the probes measure nothing")
        if not heard:
            raise AssertionError(f"nothing was heard within {within} s of vswitchd's start")
        first = heard[0]
        logger.info(f"vswitchd ready after {ready:.2f} s, first answer after {first:.2f} s", also_console=True)
        return first, ready

    @keyword
    def hold_back(self, node):
        """As a restart that was not finished leaves a switch: it waits for its flows, and connects to nobody."""
        self.coeus.node(node).vsctl("--no-wait", "set", "open_vswitch", ".", "other_config:flow-restore-wait=true")

    @keyword
    def should_be_held_back(self, node):
        node = self.coeus.node(node)
        found = node.vsctl("get", "open_vswitch", ".", "other_config")
        if 'flow-restore-wait="true"' not in found:
            raise AssertionError(f"{node.name} is not held back: {found}")

    @keyword
    def should_be_released(self, node, within):
        node = self.coeus.node(node)
        read = lambda: node.vsctl("get", "open_vswitch", ".", "other_config")  # noqa: E731
        try:
            wait_until(f"{node.name} is released", lambda: "flow-restore-wait" not in read(), float(within), 0.5)
        except LabError as error:
            raise AssertionError(f"{error}: {read()}") from None
