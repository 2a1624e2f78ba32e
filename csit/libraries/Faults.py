"""Robot keywords for faults: of the controller's process, of its disk and clock, and of the wires between controller and switches.

All that is drawn at random comes from one seed, which is said: COEUS_SEED=N repeats it.
"""

import datetime
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

from robot.api import logger
from robot.api.deco import keyword, library

from beside import Beside
from lab import Lab, LabError, pod_json, run, wait_until

FAKETIME = "/usr/lib/{}-linux-gnu/faketime/libfaketimeMT.so.1".format(os.uname().machine)
WIRE = pathlib.Path(__file__).with_name("wire.py")


@library(scope="SUITE", auto_keywords=False)
class Faults(Beside):
    def __init__(self):
        self.seed = int(os.environ.get("COEUS_SEED") or random.SystemRandom().randrange(1 << 32))
        self.random = random.Random(self.seed)
        self.wires, self.groups, self.mounted, self.tracer = {}, [], None, None

    @keyword
    def say_seed(self):
        logger.info(f"COEUS_SEED={self.seed}", also_console=True)

    @keyword
    def draw(self, low, high):
        """A number between these, seconds for the most part."""
        return self.random.uniform(float(low), float(high))

    # -- a lab whose controller has a disk and a clock of its own

    @keyword
    def start_lab_on_small_disk(self, nodes, mebibytes):
        """The controller's data directory is a file system of this size, and its clock is this machine's until it is set."""
        lab = self.coeus.lab = Lab()
        self.coeus.pods = {}
        disk = lab.dir / "data"
        disk.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "coeus-faults", disk)
        self.mounted = disk
        self.clock.write_text("+0", encoding="ascii")
        if not pathlib.Path(FAKETIME).exists():
            raise LabError("libfaketime is not installed: apt-get install faketime")
        lab.environment = {
            "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(self.clock), "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        lab.start_controller()
        for _ in range(int(nodes)):
            lab.add_node()
        for node in lab.nodes:
            wait_until(f"{node.name} has br-int", node.has_bridge)

    @keyword
    def stop_lab_on_small_disk(self):
        self.mend_disk()
        mounted, self.mounted = self.mounted, None
        if self.lab.controller is not None:
            self.lab.controller.kill()
            self.lab.controller.wait(timeout=10)
        while self.groups:
            self.groups.pop().rmdir()
        if mounted:
            run("umount", "-l", mounted, check=False)
        self.coeus.stop_lab()

    @property
    def clock(self):
        return self.lab.dir / "clock"

    @keyword
    def set_clock(self, seconds):
        """The controller's clock is so many seconds from this machine's, within a second."""
        self.clock.write_text(f"{int(seconds):+d}", encoding="ascii")
        time.sleep(2)

    @keyword
    def controller_time_should_be(self, seconds):
        """Its log says what it takes the time for."""
        self.write_pod(9999)
        said = re.findall(r"^(\d{4}-\S+?Z)\s", self.lab.log(), re.MULTILINE)[-1]
        off = datetime.datetime.fromisoformat(said).timestamp() - time.time()
        if abs(off - float(seconds)) > 5:
            raise AssertionError(f"its clock is {off:.0f} s off ({said}), not {seconds} s")

    @keyword
    def fill_disk(self):
        """Nothing is free any more but what files have already."""
        stuffing = self.lab.dir / "data" / "stuffing"
        with open(stuffing, "wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    continue

    @keyword
    def free_disk(self):
        (self.lab.dir / "data" / "stuffing").unlink(missing_ok=True)

    # -- writes that are told or refused

    @keyword
    def write_pod(self, number, **more):
        """One pod without a port; returns the status (0: no answer) and what was said."""
        uid = self.coeus.pod_uid(f"faults:w{number}")
        body = pod_json(uid, f"w{number}", "faults", self.lab.nodes[0].local_ip, f"10.13.{int(number) // 250}.{1 + int(number) % 250}", **more)
        return self.lab.request("PUT", f"/restconf/config/pod:coe/pods/{uid}", body, timeout=15)

    @keyword
    def write_until_refused(self, first, most, size):
        """Writes pods with labels of `size` bytes until one is refused: how many were acknowledged, and with what the next was refused."""
        size = int(size)
        labels = [{"key": f"k{at}", "value": "x" * 50} for at in range(size // 50)]
        for done in range(int(most)):
            status, said = self.write_pod(int(first) + done, **{"coeus-policy:label": labels})
            if status not in (200, 201):
                logger.info(f"{done} acknowledged, then {status}: {said}", also_console=True)
                return done, status, said
        raise AssertionError(f"{most} writes of {size} bytes were all taken")

    @keyword
    def written_should_be_there(self, first, count):
        status, body = self.lab.request("GET", "/restconf/config/pod:coe")
        known = {pod["uid"] for pod in body["pod:coe"]["pods"]} if status == 200 else set()
        gone = [n for n in range(int(first), int(first) + int(count)) if self.coeus.pod_uid(f"faults:w{n}") not in known]
        if gone:
            raise AssertionError(f"acknowledged and gone: {gone[:10]}")

    @keyword
    def written_should_not_be_there(self, number):
        uid = self.coeus.pod_uid(f"faults:w{number}")
        status, _ = self.lab.request("GET", f"/restconf/config/pod:coe/pods/{uid}")
        if status != 404:
            raise AssertionError(f"pod {number} was refused and is there: {status}")

    @keyword
    def take_written_away(self, first, count):
        for number in range(int(first), int(first) + int(count)):
            self.lab.request("DELETE", f"/restconf/config/pod:coe/pods/{self.coeus.pod_uid(f'faults:w{number}')}")

    # -- the controller's process

    @keyword
    def limit_memory(self, mebibytes):
        """The process gets so much more memory than it has, and no more: a control group of its own."""
        unified = pathlib.Path("/sys/fs/cgroup/cgroup.controllers")
        base, limit = (unified.parent, "memory.max") if unified.exists() else (unified.parent / "memory", "memory.limit_in_bytes")
        group = base / f"coeus-faults-{os.getpid()}"
        group.mkdir(exist_ok=True)
        self.groups.append(group)
        (group / limit).write_text(str(int(mebibytes) << 20), encoding="ascii")
        (group / "cgroup.procs").write_text(str(self.lab.controller.pid), encoding="ascii")

    @keyword
    def controller_should_end(self, within):
        """Waits until the process has ended by itself; returns its exit code, or minus the signal."""
        code = self.lab.controller.wait(timeout=float(within))
        self.lab.controller = None
        return code

    @keyword
    def break_disk(self, call, error, after=1):
        """From the so-manieth on, a system call of the controller fails with an error (strace -e inject)."""
        pid = self.lab.controller.pid
        # Quiet until it is attached to all threads.
        self.tracer = subprocess.Popen(
            ["strace", "-f", "-q", "-p", str(pid), "-o", str(self.lab.dir / "strace"), "-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={after}+"],
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        )

        def attached():
            tasks = [task / "status" for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
            return all(f"TracerPid:\t{self.tracer.pid}\n" in task.read_text() for task in tasks)

        wait_until("the controller is traced", attached, 10)

    @keyword
    def mend_disk(self):
        tracer, self.tracer = self.tracer, None
        if tracer is not None and tracer.poll() is None:
            tracer.send_signal(signal.SIGINT)
            tracer.wait(timeout=10)

    @keyword
    def tear_journal(self):
        """The end of the journal's newest file becomes something else from a place within its last record on, as when power goes while it is written."""
        files = sorted((path for path in (self.lab.dir / "data" / "store" / "log").iterdir() if path.name.isdigit()), reverse=True)
        # One that was just begun has no record yet.
        newest, content = next((path, content) for path in files if len((content := path.read_bytes()).rstrip(b"\0")) > 1000)
        end = len(content.rstrip(b"\0"))
        at = end - self.random.randrange(1, 40)
        with open(newest, "r+b") as file:
            file.seek(at)
            file.write(self.random.choice([b"\0" * (end - at), self.random.randbytes(end - at)]))
        logger.info(f"{newest.name}: {end - at} bytes from {at} on are lost", also_console=True)

    @keyword
    def kill_at_random_points(self, times, longest):
        """SIGKILL, as often, each so many seconds after it was ready at most; it is started again each time."""
        for _ in range(int(times)):
            time.sleep(self.random.uniform(0, float(longest)))
            self.lab.stop_controller(signal.SIGKILL)
            self.lab.start_controller()

    # -- wires

    @keyword
    def spoil_wire(self, node, *words):
        """What goes between a node and the controller passes a process that delays, drops or slows it (wire.py), until the wire is mended."""
        node = self.coeus.node(node)
        near, lab = f"m{node.index}", self.lab
        run("ip", "-n", lab.control, "link", "set", near, "nomaster")
        run("ip", "-n", lab.control, "link", "add", f"w{node.index}", "type", "veth", "peer", "name", f"v{node.index}")
        for device in (f"w{node.index}", f"v{node.index}"):
            run("ip", "-n", lab.control, "link", "set", device, "up")
        run("ip", "-n", lab.control, "link", "set", f"v{node.index}", "master", "mgmt")
        # Whole packets with whole checksums: the process carries them as they are.
        for where, device in ((node.namespace, "mgmt0"), (lab.control, "mgmt"), (lab.control, near)):
            run("ip", "netns", "exec", where, "ethtool", "-K", device, "tx", "off", "tso", "off", "gso", "off", "gro", "off", check=False)
        self.wires[node.index] = subprocess.Popen(
            ["ip", "netns", "exec", lab.control, sys.executable, str(WIRE), near, f"w{node.index}", "--seed", str(self.seed), *words],
            stdin=subprocess.DEVNULL,
        )

    @keyword
    def mend_wire(self, node):
        node = self.coeus.node(node)
        wire = self.wires.pop(node.index)
        wire.terminate()
        wire.wait(timeout=10)
        run("ip", "-n", self.lab.control, "link", "delete", f"w{node.index}")
        run("ip", "-n", self.lab.control, "link", "set", f"m{node.index}", "master", "mgmt")

    @keyword
    def firewall(self, *words):
        """One command of iptables where the controller is."""
        run("iptables", "-w", *words)

    @keyword
    def connections_of_switch(self, node):
        return int(self.lab.switch_status(self.coeus.node(node)).get("connects", 0))

    # -- ports

    @keyword
    def flap_port(self, pod, times):
        """The port of a pod is taken from the bridge and added again, as often, as fast as the database takes it."""
        pod = self.coeus.pods[pod]
        words = []
        for at in range(int(times)):
            words.append(("del-port", "br-int", pod.port))
            words.append((
                "add-port", "br-int", pod.port, "--", "set", "interface", pod.port, f'external_ids:iface-id="{pod.iface_id}"',
                f'external_ids:attached-mac="{pod.mac}"',
            ))
        for one in words:
            pod.node.vsctl("--no-wait", *one)
