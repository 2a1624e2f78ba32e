"""Robot keywords for what must not be felt: a controller that ends, stops or hangs while packets flow, neighbours are forgotten, connections are
made, and pods come and go."""

import re
import signal
import subprocess
import threading
import time

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

from beside import Beside
from lab import pod_json


@library(scope="SUITE", auto_keywords=False)
class Storm(Beside):
    def __init__(self):
        self.workers, self.over, self.done, self.wrong = [], threading.Event(), 0, []
        self.counted, self.probes = {}, None
        self.asked, self.unanswered, self.askers = 0, [], []

    # -- pods that come and go

    @keyword
    def make_ports_for_storm(self, node, number):
        """Ports for pods that come and go: internal ones, since nobody is to be reached there."""
        node, words = self.coeus.node(node), []
        for place in range(int(number)):
            mac = f"02:00:00:00:05:{place:02x}"
            words += [
                "--", "add-port", "br-int", f"storm{place}", "--", "set", "interface", f"storm{place}", "type=internal",
                f'external_ids:iface-id="storm:s{place}"', f'external_ids:attached-mac="{mac}"',
            ]
        node.vsctl(*words[1:])

    @keyword
    def start_storm(self, node, number, rate):
        """PUTs and DELETEs so many pods on and on, `rate` operations a second together; what is not answered is tried again."""
        host, number = self.coeus.node(node).local_ip, int(number)
        self.over.clear()
        pace = 4 / float(rate)

        def work(first):
            there, place, due = set(), first, time.monotonic()
            while not self.over.is_set():
                uid = self.coeus.pod_uid(f"storm:s{place}")
                path = f"/restconf/config/pod:coe/pods/{uid}"
                if place in there:
                    status, body = self.lab.request("DELETE", path, timeout=5)
                else:
                    status, body = self.lab.request("PUT", path, pod_json(uid, f"s{place}", "storm", host, f"10.11.1.{100 + place}"), timeout=5)
                # Who was not answered does not know: the same again is no harm.
                if status in (200, 201, 204) or (status == 404 and place in there):
                    there.symmetric_difference_update({place})
                    self.done += 1
                    place = first + (place - first + 4) % (number // 4 * 4)
                elif status != 0 and status < 500:
                    self.wrong.append((place, status, body))
                    return
                due += pace
                self.over.wait(max(0.0, due - time.monotonic()))
                due = max(due, time.monotonic() - 0.5)

        self.workers = [threading.Thread(target=work, args=(first,), daemon=True) for first in range(4)]
        for worker in self.workers:
            worker.start()

    @keyword
    def stop_storm(self):
        """Returns how many operations were carried out."""
        self.over.set()
        for worker in self.workers:
            worker.join(timeout=20)
        self.workers = []
        if self.wrong:
            raise AssertionError(f"refused: {self.wrong[:3]}")
        logger.info(f"{self.done} operations", also_console=True)
        return self.done

    # -- packets, neighbours, connections

    @keyword
    def start_probes(self, pod, address, count):
        """So many pings, 1,000 a second."""
        self.probes = subprocess.Popen(
            ["ip", "netns", "exec", self.coeus.pods[pod].namespace, "ping", "-n", "-q", "-i", "0.001", "-c", str(count), "-W", "2", address],
            stdout=subprocess.PIPE, text=True,
        )

    @keyword
    def probes_lost(self):
        """Waits for the last one; how many were sent, and how many were not answered."""
        out = self.probes.communicate(timeout=180)[0]
        logger.info(out)
        sent, received = re.search(r"(\d+) packets transmitted, (\d+) received", out).groups()
        return int(sent), int(sent) - int(received)

    @keyword
    def start_asking(self, pod, address, port):
        """A new connection four times a second, before each of which the pod forgets its neighbours: each needs ARP and a way of its own."""
        target, services = self.coeus.pods[pod], BuiltIn().get_library_instance("Services")
        self.asked, self.unanswered = 0, []
        self.over.clear()

        def ask():
            while not self.over.is_set():
                begun = time.monotonic()
                target.inside("ip", "neighbour", "flush", "all")
                self.asked += 1
                try:
                    services.ask(pod, address, port, "TCP", 2)
                except OSError as error:
                    self.unanswered.append(f"{time.strftime('%H:%M:%S')} {error}")
                self.over.wait(max(0.0, 0.25 - (time.monotonic() - begun)))

        self.askers = [threading.Thread(target=ask, daemon=True)]
        self.askers[0].start()

    @keyword
    def stop_asking(self):
        """How many connections were asked for, and when those that got no answer were."""
        self.over.set()
        for asker in self.askers:
            asker.join(timeout=20)
        logger.info(f"{self.asked} connections, without an answer: {self.unanswered}", also_console=True)
        return self.asked, self.unanswered

    @keyword
    def freeze_controller(self, seconds):
        """The process does not run for so long."""
        self.lab.controller.send_signal(signal.SIGSTOP)
        try:
            time.sleep(float(seconds))
        finally:
            self.lab.controller.send_signal(signal.SIGCONT)

    # -- flows

    def counters(self, node):
        """Of each flow of br-int its age in seconds and its packets."""
        found = {}
        for line in self.coeus.node(node).ofctl("dump-flows", "br-int").splitlines():
            match = re.search(r"(cookie=\S+), duration=([\d.]+)s, (table=\d+), n_packets=(\d+), n_bytes=\d+, (.*)", line.strip())
            if match:
                cookie, age, table, packets, rest = match.groups()
                rest = re.sub(r"(idle|hard)_age=\d+, ", "", rest)
                found[cookie, table, rest] = (float(age), int(packets))
        return found

    @keyword
    def remember_counters(self, node):
        self.counted[int(node)] = (time.monotonic(), self.counters(node))

    @keyword
    def counters_should_have_grown(self, node):
        """Each flow that was there still is, and is older by the time that has passed: none was written again."""
        since, before = self.counted[int(node)]
        now, passed = self.counters(node), time.monotonic() - since
        if set(before) != set(now):
            raise AssertionError(f"gone: {set(before) - set(now)}, new: {set(now) - set(before)}")
        for flow, (age, packets) in before.items():
            if now[flow][0] < age + passed - 2 or now[flow][1] < packets:
                raise AssertionError(f"{flow}: {age:.1f} s and {packets} packets, {passed:.1f} s later {now[flow]}")
        logger.info(f"{len(now)} flows, all {passed:.1f} s older")
