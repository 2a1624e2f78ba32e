"""Robot keywords for ports of nodes that lead to pods, and for how fast pods are."""

import re
import time

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

import carry
from beside import Beside


@library(scope="SUITE", auto_keywords=False)
class HostPorts(Beside):
    @keyword
    def mapped(self, *ports, **limits):
        """What a runtime adds to its configuration: ports `protocol:hostPort:containerPort`, and `:hostIP`; limits by their names, in bits."""
        def mapping(text):
            protocol, port, target, *address = text.split(":", 3)
            return {"hostPort": int(port), "containerPort": int(target), "protocol": protocol, "hostIP": address[0] if address else ""}

        runtime = {"portMappings": [mapping(port) for port in ports]}
        if limits:
            runtime["bandwidth"] = {name: int(bits) for name, bits in limits.items()}
        return {"runtimeConfig": runtime}

    @keyword
    def rules_should_be(self, node, *ports):
        """The rules by which a node's kernel hands host ports over, as `tcp 8088`: those of its agent (`proto 77`)."""
        node = self.coeus.node(node)
        rules = [line for line in node.inside("ip", "-details", "rule").splitlines() if "proto 77" in line]
        found = {(re.search(r"ipproto (\S+)", rule)[1] + " " + re.search(r"dport (\d+)", rule)[1], node.local_ip in rule) for rule in rules}
        if found != {(port, True) for port in ports}:
            raise AssertionError(f"{sorted(ports)} should be handed over, and the rules are {rules}")

    @keyword
    def drop_rule(self, node, protocol, port):
        self.coeus.node(node).inside("ip", "rule", "del", "pref", "50", "ipproto", protocol, "dport", port)

    @keyword
    def seconds_to_carry(self, source, target, size):
        """How long so many bytes take from one pod to another, by one connection of TCP."""
        pod = lambda name: (self.coeus.pods[name].namespace, self.coeus.pods[name].address)
        began = time.monotonic()
        carry.tcp(pod(source), pod(target), int(size), patience=60.0)
        took = time.monotonic() - began
        logger.info(f"{size} bytes from {source} to {target}: {took:.2f} s, {int(size) * 8 / took / 1e6:.0f} Mbit/s", also_console=True)
        return took

    @keyword
    def meters_of(self, node):
        """The meters of limits, as the switch has them, by number."""
        node = self.coeus.node(node)
        return [line for line in node.ofctl("dump-meters", "br-int").splitlines() if "kbps" in line]

    @keyword
    def meters_as_text(self, node):
        return self.coeus.node(node).ofctl("dump-meters", "br-int")

    @keyword
    def annotate_pod(self, namespace, name, annotations):
        """Its annotations in the API server are these from now on."""
        api = BuiltIn().get_library_instance("Kube").api
        pod = api.objects["Pod"][namespace, name]
        metadata = {**pod["metadata"], "annotations": dict(annotations)}
        api.put("Pod", name, namespace, metadata=metadata, spec=pod["spec"], status=pod["status"])
