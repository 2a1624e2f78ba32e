"""Robot keywords for what deploy/ puts on a node: the scripts of the DaemonSet, run as its containers would, in a mount namespace of their own."""

import json
import pathlib
import socket
import subprocess
import tempfile

import yaml
from robot.api.deco import keyword, library

from lab import ROOT

BASE = ROOT / "deploy/kubernetes/base"
#: What the containers see, each a folder of the test's.
PLACES = ("/etc/cni/net.d", "/opt/cni/bin", "/run/coeus", "/etc/coeus-cni", "/usr/local/bin")
#: Where something can be mounted over what the machine has.
TOPS = ("/etc/cni", "/opt", "/etc/coeus-cni", "/run/coeus")


def documents(name):
    return [one for one in yaml.safe_load_all((BASE / name).read_text()) if one]


@library(scope="SUITE", auto_keywords=False)
class Install:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="coeus-install-")
        self.home, self.script, self.listener = pathlib.Path(self.folder.name), None, None
        self.made = [top for top in TOPS if not pathlib.Path(top).exists()]
        for place in PLACES:
            self.at(place).mkdir(parents=True)
        spec = next(one for one in documents("node.yaml") if one["kind"] == "DaemonSet")["spec"]["template"]["spec"]
        self.plugin = spec["initContainers"][0]["args"][0]
        self.hook = spec["containers"][0]["lifecycle"]["postStart"]["exec"]["command"][-1]
        settings = [one["data"] for one in documents("settings.yaml") if one["kind"] == "ConfigMap"]
        self.conflist = next(data["10-coeus.conflist"] for data in settings if "10-coeus.conflist" in data)
        (self.at("/etc/coeus-cni") / "10-coeus.conflist").write_text(self.conflist)

    def at(self, place):
        return self.home / place.strip("/").replace("/", "-")

    def start(self, script):
        # The machine's own folders stay as they are: what is not there is made in an empty /etc/cni and /opt/cni.
        mounts = f"mount --make-rprivate /; for top in {' '.join(TOPS)}; do mkdir -p $top; mount -t tmpfs tmpfs $top; done; "
        mounts += "; ".join(f"mkdir -p {place}; mount --bind {self.at(place)} {place}" for place in PLACES)
        return subprocess.Popen(["unshare", "--mount", "sh", "-ec", f"{mounts}\n{script}"], stdin=subprocess.DEVNULL)

    @keyword
    def init_container_puts_the_plugin(self):
        (self.at("/usr/local/bin") / "coeus-cni").write_text("the plugin")
        code = self.start(self.plugin).wait(timeout=20)
        there = sorted(path.name for path in self.at("/opt/cni/bin").iterdir())
        if code != 0 or there != ["coeus-cni"]:
            raise AssertionError(f"exit {code}, and /opt/cni/bin has {there}")

    @keyword
    def hook_begins(self):
        """What runs after the agent's container was started."""
        self.script = self.start(self.hook)

    @keyword
    def networks_there(self):
        return sorted(path.name for path in self.at("/etc/cni/net.d").iterdir())

    @keyword
    def agent_listens(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.at("/run/coeus") / "node.sock"))
        self.listener.listen()

    @keyword
    def hook_ends(self):
        code = self.script.wait(timeout=30)
        if code != 0:
            raise AssertionError(f"the hook ended with {code}")

    @keyword
    def conflist_is_whole(self):
        written = (self.at("/etc/cni/net.d") / "10-coeus.conflist").read_text()
        if written != self.conflist or json.loads(written)["plugins"][0]["type"] != "coeus-cni":
            raise AssertionError(written)

    @keyword
    def unit_is_as_systemd_has_it(self, unit, binary):
        """The unit, on a machine that has the program."""
        script = f"cp {binary} /usr/local/bin/coeus; sed 's#/usr/bin/coeus#/usr/local/bin/coeus#' {ROOT}/deploy/systemd/{unit} > /run/coeus/{unit}; "
        process = self.start(script + f"systemd-analyze verify /run/coeus/{unit} > /etc/coeus-cni/said 2>&1 || exit 1")
        code, said = process.wait(timeout=60), (self.at("/etc/coeus-cni") / "said").read_text()
        if code != 0:
            raise AssertionError(f"{unit}: {said}")

    @keyword
    def leave_nothing(self):
        if self.script is not None and self.script.poll() is None:
            self.script.kill()
            self.script.wait()
        if self.listener is not None:
            self.listener.close()
        self.folder.cleanup()
        for top in self.made:
            pathlib.Path(top).rmdir()
