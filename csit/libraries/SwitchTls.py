"""Robot keywords for switches that connect by TLS: authorities and certificates by ovs-pki, and what the controller says of who was refused."""

import os
import pathlib
import shutil
import tempfile

from robot.api import logger
from robot.api.deco import keyword, library

from beside import Beside
from lab import run, wait_until

PAST = ("-startdate", "20200101000000Z", "-enddate", "20200201000000Z")


@library(scope="SUITE", auto_keywords=False)
class SwitchTls(Beside):
    def __init__(self):
        self.dir = None
        self.given = 0

    def pki(self, authority, *words):
        run("ovs-pki", f"--dir={self.dir / authority}", f"--log={self.dir}/log", *words, env=self.env)

    @property
    def env(self):
        return {**os.environ, "OVS_LOGDIR": str(self.dir)}

    @keyword
    def make_authorities(self):
        """Ours and a foreign one; returns the words with which `coeus serve` uses ours."""
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="coeus-pki-"))
        for authority in ("ours", "foreign"):
            self.pki(authority, "init")
        self.request("controller")
        self.sign("ours", "controllerca", "controller", "controller")
        return [
            "--switch-tls-certificate", f"{self.dir}/controller.pem", "--switch-tls-key", f"{self.dir}/controller-privkey.pem",
            "--switch-tls-ca", f"{self.dir}/ours/switchca/cacert.pem",
        ]

    @keyword
    def remove_authorities(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def request(self, name):
        if not (self.dir / f"{name}-req.pem").exists():
            run("sh", "-c", f"cd {self.dir} && ovs-pki --dir={self.dir}/ours --log={self.dir}/log req {name}", env=self.env)

    def sign(self, authority, kind, name, file, *words):
        """A certificate for the request of `name`, in FILE.pem."""
        folder = self.dir / authority / kind
        asked = [
            "openssl", "ca", "-batch", "-notext", "-config", "ca.cnf", "-in", f"{self.dir}/{name}-req.pem", "-out", f"{self.dir}/{file}.pem", *words,
        ]
        # ca.cnf names files from its own folder.
        run("sh", "-c", 'cd "$0" && exec "$@"', folder, *asked)

    @keyword
    def give_certificate(self, node, name, kind="good"):
        """Has the node show a certificate in this name: a good one, an expired one, or one of a foreign authority. Asked again, it is a renewed one."""
        self.request(name)
        authority = "foreign" if kind == "foreign" else "ours"
        self.given += 1
        file = f"{name}-{self.given}"
        self.sign(authority, "switchca", name, file, *(PAST if kind == "expired" else ()))
        # Open vSwitch reads a new certificate only if the key's file is new as well.
        shutil.copy(self.dir / f"{name}-privkey.pem", self.dir / f"{file}-key.pem")
        self.coeus.node(node).vsctl("set-ssl", self.dir / f"{file}-key.pem", self.dir / f"{file}.pem", self.dir / "ours/controllerca/cacert.pem")

    @keyword
    def add_node_without_controller(self):
        self.lab.add_node(connect=False)

    @keyword
    def add_stranger(self):
        """A node that the controller should have nothing to do with."""
        self.lab.add_node(connect=False).bridge = "none"

    @keyword
    def connect_by(self, scheme, node):
        self.coeus.node(node).connect(f"{scheme}:{self.lab.address}:6640")

    @keyword
    def listen_by_tls(self, node):
        self.coeus.node(node).connect("pssl:6640")

    @keyword
    def wait_for_bridge(self, node):
        node = self.coeus.node(node)
        wait_until(f"{node.name} has br-int", node.has_bridge)

    @keyword
    def disconnect(self, node):
        """Takes manager and controller off."""
        node = self.coeus.node(node)
        node.vsctl("del-manager")
        if node.has_bridge():
            node.vsctl("del-controller", "br-int")

    @keyword
    def controller_of(self, node):
        """The target of br-int, and whether it is connected."""
        node = self.coeus.node(node)
        target = node.vsctl("get-controller", "br-int").strip()
        return target, node.vsctl("get", "controller", "br-int", "is_connected").strip() == "true"

    @keyword
    def pretend_to_be(self, node, dpid):
        """A bridge with the datapath id of somebody else, that dials the controller by itself."""
        self.coeus.node(node).vsctl(
            "--may-exist", "add-br", "br-int", "--", "set", "bridge", "br-int", "datapath_type=netdev", "fail_mode=secure",
            "protocols=OpenFlow13", f"other-config:datapath-id={dpid}",
            "--", "set-controller", "br-int", f"ssl:{self.lab.address}:6653",
        )

    @keyword
    def talk_tls_without_certificate(self, node, port):
        """What openssl says of it."""
        node = self.coeus.node(node)
        said = node.inside(
            "sh", "-c", f"sleep 1 | openssl s_client -connect {self.lab.address}:{port} 2>&1 || true", check=False,
        )
        logger.info(said)

    @keyword
    def refused(self, node, protocol, reason):
        """What is shown of the node's connections that were refused for a reason: (times, detail). None: nothing."""
        address = f"10.99.0.{self.coeus.node(node).index}"
        status, body = self.lab.request("GET", "/rests/data/coeus-switch:refusals")
        if status != 200:
            return None
        for one in body["coeus-switch:refusals"].get("refusal", []):
            if (one["address"], one["protocol"], one["reason"]) == (address, protocol, reason):
                return int(one["times"]), one.get("detail", "")
        return None

    @keyword
    def should_come_to_be_refused(self, node, protocol, reason, more_than=0):
        """Returns how often it was."""
        found = {}

        def is_so():
            found["it"] = self.refused(node, protocol, reason)
            return found["it"] is not None and found["it"][0] > int(more_than)

        wait_until(f"node {node} is refused by {protocol} for {reason}", is_so, timeout=30.0, pause=0.3)
        logger.info(found["it"][1])
        return found["it"][0]

    @keyword
    def owner_of(self, dpid):
        """The identity that the datapath belongs to. Empty: nobody's."""
        status, body = self.lab.request("GET", f"/rests/data/coeus-switch:learned-identities/switch={dpid}")
        return body["coeus-switch:switch"][0]["identity"] if status == 200 else ""

    @keyword
    def release_datapath(self, dpid):
        status, body = self.lab.request("POST", "/rests/operations/coeus-switch:release", {"coeus-switch:input": {"dpid": dpid}})
        assert status == 200, body
        return body["coeus-switch:output"]["identity"]

    @keyword
    def bridges_of(self, node):
        return self.coeus.node(node).vsctl("list-br").split()
