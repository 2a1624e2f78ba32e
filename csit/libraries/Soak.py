"""Robot keywords for `coeus soak`, which starts a controller of its own: nodes whose switches find it, with ports for its pods.

By hand, for an hour: python csit/libraries/Soak.py 3600
"""

import os
import subprocess
import sys

from robot.api import logger
from robot.api.deco import keyword, library

from lab import Lab, wait_until


@library(scope="SUITE", auto_keywords=False)
class Soak:
    def __init__(self):
        self.lab, self.wrong = None, False

    @keyword
    def soak(self, seconds, nodes=2, ports=20, *options):
        """Runs it for so long; returns its exit code, and what it said."""
        self.lab = lab = Lab()
        words = [f"--switch=192.168.200.{number + 1}={lab.dir}/node{number + 1}/br-int.mgmt" for number in range(int(nodes))]
        with open(lab.dir / "soak.out", "w", encoding="utf-8") as out:
            running = subprocess.Popen(
                [
                    str(lab.binary()), "soak", "--seconds", str(seconds), "--data-dir", str(lab.dir / "data"), "--ports", str(ports), *words,
                    *options, "--", "--datapath-type", "netdev", "--restconf", "127.0.0.1:8443",
                ],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL, env={**os.environ, "RUST_BACKTRACE": "0"},
            )
        try:
            for number in range(int(nodes)):
                node = lab.add_node()
                wait_until(f"{node.name} has br-int", lambda: node.has_bridge() or running.poll() is not None)
                if running.poll() is not None:
                    break
                self.make_ports(node, number, int(ports))
            if self.wrong and running.poll() is None:
                lab.nodes[0].ofctl("add-flow", "br-int", "table=100,priority=7,cookie=0x1,actions=drop")
            code = running.wait(timeout=float(seconds) + 300)
        finally:
            if running.poll() is None:
                running.kill()
                running.wait(timeout=10)
        return code, (lab.dir / "soak.out").read_text(encoding="utf-8")

    @keyword
    def soak_with_a_wrong_flow(self, seconds):
        """The same, with a flow of somebody else's on the first switch."""
        self.wrong = True
        try:
            return self.soak(seconds, 1, 2, "--every", "5")
        finally:
            self.wrong = False

    def make_ports(self, node, number, ports):
        """Internal ports: nobody is to be reached there."""
        words = []
        for port in range(ports):
            words += [
                "--", "add-port", "br-int", f"soak{port}", "--", "set", "interface", f"soak{port}", "type=internal",
                f'external_ids:iface-id="soak:{number}-{port}"', f'external_ids:attached-mac="02:00:00:05:{number:02x}:{port:02x}"',
            ]
        node.vsctl(*words[1:])

    @keyword
    def end_soak(self):
        if self.lab:
            log = self.lab.dir / "data" / "soak.log"
            logger.info(log.read_text(encoding="utf-8", errors="replace")[-20000:] if log.exists() else "no log")
            self.lab.close()
            self.lab = None


if __name__ == "__main__":
    soak = Soak()
    try:
        ended, said = soak.soak(int(sys.argv[1]) if len(sys.argv) > 1 else 60, 2, 20, *sys.argv[2:])
    finally:
        soak.end_soak()
    print(said)
    sys.exit(ended)
