"""Robot keywords for pods that ask for addresses: udhcpc, ISC dhclient and dhcpcd as they are, and single messages."""

import contextlib
import json
import re
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

from lab import wait_until

KINDS = {
    4: ["DISCOVER", "OFFER", "REQUEST", "DECLINE", "ACK", "NAK", "RELEASE", "INFORM"],
    6: ["SOLICIT", "ADVERTISE", "REQUEST", "CONFIRM", "RENEW", "REBIND", "REPLY", "RELEASE", "DECLINE", "RECONFIGURE",
        "INFORMATION-REQUEST"],
}


def has_link_local(target):
    """Waits until the pod's kernel has found nobody else with its link-local address: no client can send before."""
    said = lambda: target.inside("ip", "-6", "address", "show", "dev", "eth0", "scope", "link")  # noqa: E731
    wait_until("a link-local address", lambda: "inet6" in said() and "tentative" not in said(), 20)


@library(scope="SUITE", auto_keywords=False)
class DhcpClients:
    @property
    def lab(self):
        return BuiltIn().get_library_instance("CoeusLab")

    def pod(self, name):
        return self.lab.pods[name]

    # -- single messages

    @keyword
    def say_dhcp(self, pod, kind, **fields):
        """Sends one DHCP message from the pod and returns the answer, None if there is none."""
        return self.say(4, "dhcp_say.py", pod, kind, fields)

    @keyword
    def say_dhcp6(self, pod, kind, **fields):
        """Sends one DHCPv6 message from the pod and returns the answer, None if there is none."""
        has_link_local(self.pod(pod))
        return self.say(6, "dhcp6_say.py", pod, kind, fields)

    def say(self, version, script, pod, kind, fields):
        kinds = KINDS[version]
        asked = {"kind": kinds.index(kind) + 1, **fields}
        said = self.pod(pod).inside("python3", str(Path(__file__).with_name(script)), json.dumps(asked), timeout=30)
        logger.info(f"{asked} -> {said}")
        answer = json.loads(said)
        if answer:
            answer["kind"] = kinds[answer["kind"] - 1]
        return answer

    # -- udhcpc

    @keyword
    def get_lease(self, pod):
        """Runs udhcpc once in the pod and returns the address it was given."""
        # udhcpc talks on standard error.
        result = self.pod(pod).inside("sh", "-c", "udhcpc -i eth0 -n -q -f -t 10 -T 1 -s /bin/true 2>&1", timeout=30, check=False)
        logger.info(result)
        match = re.search(r"lease of (\d+\.\d+\.\d+\.\d+) obtained", result)
        if not match:
            raise AssertionError(f"{pod} got no lease: {result!r}")
        return match.group(1)

    @keyword
    def renew_and_release(self, pod):
        """Keeps udhcpc running: it binds, renews on SIGUSR1, releases on SIGUSR2. Returns the address."""
        target = self.pod(pod)
        client = subprocess.Popen(
            ["ip", "netns", "exec", target.namespace, "udhcpc", "-i", "eth0", "-f", "-t", "10", "-T", "1", "-s", "/bin/true"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        said = []
        text = lambda: "".join(said)  # noqa: E731
        with self.until_done(client, text):
            reader = threading.Thread(target=lambda: said.extend(iter(client.stdout.readline, "")), daemon=True)
            reader.start()
            wait_until("a lease", lambda: "obtained" in text(), 20)
            address = re.search(r"lease of (\S+) obtained", text()).group(1)
            target.inside("ip", "address", "replace", f"{address}/24", "dev", "eth0")
            client.send_signal(signal.SIGUSR1)
            wait_until("a renewed lease", lambda: text().count("obtained") >= 2, 20)
            client.send_signal(signal.SIGUSR2)
            wait_until("the release", lambda: "entering released state" in text(), 20)
            time.sleep(0.3)
            return address

    # -- dhclient

    @contextlib.contextmanager
    def until_done(self, client, text):
        """Kills a client in any case, and says what it said."""
        try:
            yield
        finally:
            client.kill()
            client.wait(timeout=10)
            logger.info(text())

    @contextlib.contextmanager
    def dhclient(self, target, version, *more):
        """ISC dhclient, killed at the end, so that it releases nothing. Its lease file lasts as long as the pod."""
        places = target.__dict__.setdefault("dhclient", {})
        if version not in places:
            places[version] = tempfile.mkdtemp(prefix=f"dhclient{version}-", dir=self.lab.lab.dir)
        place = places[version]
        log = open(f"{place}/log", "w+")
        client = subprocess.Popen(
            ["ip", "netns", "exec", target.namespace, "dhclient", f"-{version}", "-d", "-v", "-sf", "/bin/true",
             "-lf", f"{place}/leases", "-pf", f"{place}/pid", "-cf", "/dev/null", *more, "eth0"],
            stdout=log, stderr=subprocess.STDOUT,
        )
        text = lambda: open(log.name).read()  # noqa: E731
        with self.until_done(client, text):
            yield text, f"{place}/leases"

    @keyword
    def lease_of_dhclient(self, pod, *options):
        """Runs it until it is bound. Returns address, what it said and its lease file."""
        with self.dhclient(self.pod(pod), 4, *options) as (text, leases):
            wait_until("a lease of dhclient", lambda: "bound to" in text(), 40)
        address = re.search(r"bound to (\S+)", text()).group(1)
        return {"address": address, "said": text(), "leases": open(leases).read()}

    @keyword
    def lease_of_dhclient_v6(self, pod):
        """The same of DHCPv6."""
        target = self.pod(pod)
        has_link_local(target)
        with self.dhclient(target, 6) as (text, leases):
            wait_until("a DHCPv6 lease of dhclient", lambda: "Bound to lease" in text(), 40)
        said = open(leases).read()
        return {"address": re.findall(r"iaaddr (\S+)", said)[-1], "said": text(), "leases": said}

    @keyword
    def renew_and_release_v6(self, pod, prefix=64):
        """Keeps dhclient running with the address that it got until it has renewed it, then lets it release. Returns the address."""
        target = self.pod(pod)
        has_link_local(target)
        with self.dhclient(target, 6) as (text, leases):
            wait_until("a DHCPv6 lease of dhclient", lambda: "Bound to lease" in text(), 40)
            address = re.findall(r"iaaddr (\S+)", open(leases).read())[-1]
            target.inside("ip", "address", "replace", f"{address}/{prefix}", "dev", "eth0")
            wait_until("a renewed lease", lambda: "RCV: Reply" in text().partition("XMT: Renew")[2], 40)
        with self.dhclient(target, 6, "-r") as (text, _):
            # It sends once, and does not wait for the answer.
            wait_until("the release", lambda: "XMT: Release on" in text(), 20)
        return address

    # -- dhcpcd

    def dhcpcd(self, pod, before, *options):
        """Runs dhcpcd once, with a place for leases of its own: it would begin with one of another run. Returns what it said."""
        command = f"timeout 40 dhcpcd -1 -B -d --script /bin/true --nohook resolv.conf {' '.join(options)} eth0 2>&1"
        result = self.pod(pod).inside(
            "unshare", "-m", "sh", "-c", f"mount -t tmpfs none /var/lib/dhcpcd && {before}{command}", timeout=60, check=False
        )
        logger.info(result)
        return result

    @keyword
    def lease_of_dhcpcd(self, pod):
        """Runs dhcpcd once in the pod and returns the address that it leased."""
        result = self.dhcpcd(pod, "", "-4", "-L", "--noipv6rs")
        match = re.search(r"leased (\d+\.\d+\.\d+\.\d+) for", result)
        if not match:
            raise AssertionError(f"{pod} got no lease of dhcpcd: {result!r}")
        return match.group(1)

    @keyword
    def lease_of_dhcpcd_v6(self, pod):
        """Runs dhcpcd once in the pod: it asks for a router, and for an address if that one says so. Returns what it said."""
        before = "echo 'slaac hwaddr' > /var/lib/dhcpcd/conf && "
        return self.dhcpcd(pod, before, "-6", "--waitip 6", "-f /var/lib/dhcpcd/conf")
