"""Robot keywords for what others do to a switch behind the controller's back, and for how long it takes to be put right."""

import time

from robot.api import logger
from robot.api.deco import keyword, library

from beside import Beside
from lab import LabError, wait_until


@library(scope="SUITE", auto_keywords=False)
class Drift(Beside):
    def __init__(self):
        self.right = {}

    @keyword
    def remember_tables(self, node):
        """What the switch holds now is right."""
        self.right[int(node)] = self.ours(node)

    def ours(self, node):
        """All that the switch holds but flows that are not ours: those without the mark in the cookie (0xc0…)."""
        return [line for line in self.coeus.node(node).tables() if not line.startswith("cookie=") or line.startswith("cookie=0xc0")]

    @keyword
    def change_switch(self, node, command, *words):
        """One command of ovs-ofctl on br-int."""
        self.coeus.node(node).ofctl(command, "br-int", *words)

    @keyword
    def plug_again(self, node):
        """Adds the ports of a node's pods to br-int again, as their agent would."""
        node = self.coeus.node(node)
        for name, pod in self.coeus.pods.items():
            if pod.node is node:
                node.vsctl(
                    "--may-exist", "add-port", "br-int", pod.port, "--", "set", "interface", pod.port,
                    f'external_ids:iface-id="{name}"', f'external_ids:attached-mac="{pod.mac}"',
                )

    @keyword
    def configure_switch(self, node, *words):
        """One command of ovs-vsctl."""
        return self.coeus.node(node).vsctl(*words)

    @keyword
    def should_be_right_again(self, node, seconds):
        """The switch holds what it held, within so many seconds."""
        begin, last = time.monotonic(), {}

        def is_right():
            try:
                held = self.ours(node)
            except LabError:
                return False
            last.update(missing=[line for line in self.right[int(node)] if line not in held], extra=[line for line in held if line not in self.right[int(node)]])
            return held == self.right[int(node)]

        try:
            wait_until("the switch is right again", is_right, float(seconds), 0.1)
        except LabError:
            raise AssertionError(f"not right after {seconds} s: {last}") from None
        logger.info(f"right again after {time.monotonic() - begin:.2f} s")

    @keyword
    def mended(self, node):
        """How much was put right so far, and what it was last."""
        drift = self.lab.switch_status(self.coeus.node(node)).get("drift", {})
        return int(drift.get("mended", 0)), drift.get("subject", [])
