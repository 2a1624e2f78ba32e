#!/usr/bin/env python3
"""What a cluster of many pods costs the watcher: a list of all of them, a change of each, and the memory of both processes.

    pip install -r csit/requirements.txt
    cargo build --release
    sudo benches/watcher.py target/release/coeus --pods 10000

The API server is played (csit/libraries/kube_api.py), the watcher and the controller are the real ones; there are no switches. Time ends when the
datastore has taken all of it, as the watcher's own numbers say. What the played server needs for the same events with a reader that throws them away
stands beside it: the watcher cannot be faster than that.
"""

import argparse
import os
import pathlib
import re
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "csit/libraries"))

from Kube import Kube  # noqa: E402
from lab import Lab, wait_until  # noqa: E402

METRICS = "127.0.0.1:9464"
PODS_A_NODE = 100


class Watchers(Kube):
    """The keywords for a cluster, outside of Robot."""

    def __init__(self, lab):
        super().__init__()
        self.here = lab

    @property
    def lab(self):
        return self.here


def numbers():
    """What the watcher counts: by name and labels."""
    with urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=10) as answer:
        return {name: float(value) for name, value in re.findall(r"^(\S+) ([0-9.e+-]+)$", answer.read().decode(), re.M)}


def written():
    return sum(value for name, value in numbers().items() if name.startswith("coeus_watch_edits_total"))


def resident(process):
    """MiB."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


def pods(api, count, generation):
    """Makes or changes so many pods, of which those who watch hear when all are there."""
    with api.changed:
        for number in range(count):
            address = f"10.{128 + number // 65025}.{number // 255 % 255}.{number % 255}"
            api.put(
                "Pod", f"p{number}", f"ns{number % 20}", metadata={"labels": {"app": f"a{number % 50}", "generation": str(generation)}},
                spec={"nodeName": f"node{number // PODS_A_NODE}", "containers": [{"name": "c"}]},
                status={"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]},
            )


def bare(api, count):
    """Seconds until a reader that does nothing has heard of all changes."""
    behind = api.version
    pods(api, count, "bare")
    began = time.perf_counter()
    with urllib.request.urlopen(f"http://127.0.0.1:{api.port}/api/v1/pods?watch=true&resourceVersion={behind}", timeout=60) as stream:
        for _ in range(count):
            stream.readline()
    return time.perf_counter() - began


def until(number, began):
    wait_until(f"{number} entries are written", lambda: written() >= number and numbers()["coeus_watch_lag_seconds"] == 0, 600, 0.02)
    return time.perf_counter() - began


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("coeus", help="the program, a release build")
    arguments.add_argument("--pods", type=int, default=10000)
    chosen = arguments.parse_args()
    os.environ["COEUS_BINARY"] = str(pathlib.Path(chosen.coeus).resolve())
    lab, count = Lab(), chosen.pods
    watchers = Watchers(lab)
    try:
        lab.start_controller()
        watchers.start_cluster()
        api, nodes = watchers.api, -(-count // PODS_A_NODE)
        for number in range(nodes):
            address = f"192.168.{number // 250}.{number % 250 + 1}"
            api.put("Node", f"node{number}", spec={}, status={"addresses": [{"type": "InternalIP", "address": address}]})
        for number in range(20):
            api.put("Namespace", f"ns{number}", metadata={"labels": {}})
        empty = resident(lab.controller)
        alone = bare(api, count)
        print("| what | |\n|---|---|")
        began = time.perf_counter()
        watchers.start_watcher("--silent", "--metrics", METRICS)
        process = watchers.watchers["watch"]
        def answers():
            try:
                return "coeus_watch_leader" in numbers()
            except OSError:
                return False
        wait_until("the watcher serves its numbers", answers, 30)
        all_there = count + nodes + 20
        took = until(all_there, began)
        print(f"| a list of {count} pods, from the start of the watcher until all are in the datastore | {took:.2f} s, {count / took:.0f} a second |")
        print(f"| resident, {count} pods | watcher {resident(process):.0f} MiB, controller {resident(lab.controller):.0f} MiB ({empty:.0f} when empty) |")
        already = written()
        began = time.perf_counter()
        pods(api, count, "changed")
        began = time.perf_counter()
        took = until(already + count, began)
        print(f"| a change of each, until the datastore has it | {took:.2f} s, {count / took:.0f} events a second |")
        print(f"| the same events, read by nobody in particular | {alone:.2f} s, {count / alone:.0f} events a second |")
        print(f"| resident after that | watcher {resident(process):.0f} MiB, controller {resident(lab.controller):.0f} MiB |")
    finally:
        watchers.stop_cluster()
        lab.close()


if __name__ == "__main__":
    main()
