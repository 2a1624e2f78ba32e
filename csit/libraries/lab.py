"""A laboratory of several nodes on one machine, for the Robot suites and the demo.

One node is one network namespace with an Open vSwitch of its own (userspace datapath, private directory and
sockets). A further namespace holds the controller and two Linux bridges: `mgmt` carries OpenFlow and OVSDB,
`under` is the underlay that carries VXLAN. Nothing outside these namespaces is touched.

    controller 10.99.0.254 ── mgmt ── node i 10.99.0.i
                              under ─ node i 192.168.200.i (br-phy, the tunnel endpoint)
"""

import atexit
import base64
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

CLONE_NEWNET = 0x40000000
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
ROOT = pathlib.Path(__file__).resolve().parents[2]


class LabError(Exception):
    """Something that the laboratory was asked to do failed; the text says what and how."""


def run(*command, timeout=30, check=True, env=None):
    """Runs a command and returns its standard output; a failure carries what it said."""
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=timeout, env=env
    )
    if check and result.returncode != 0:
        raise LabError(f"{' '.join(map(str, command))}: exit {result.returncode}: {result.stderr.strip()}{result.stdout.strip()}")
    return result.stdout


def wait_until(what, condition, timeout=20.0, pause=0.05):
    """Waits until `condition()` is true and returns its value; says what it waited for when it is not."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise LabError(f"not within {timeout:g} s: {what}")
        time.sleep(pause)


def come_to(what, read, is_right, timeout=30.0, pause=0.3):
    """Reads until what was read is right, and returns it; says what was read last when it never is."""
    last = None

    def come():
        nonlocal last
        last = read()
        return is_right(last)

    try:
        wait_until(what, come, timeout, pause)
    except (LabError, LookupError, TypeError, ValueError) as error:
        raise AssertionError(f"{error}; read was {last}") from None
    return last


class Node:
    """A node: a namespace, its Open vSwitch, its addresses."""

    #: The bridge of its pods; another one than br-int is no controller's business.
    bridge = "br-int"

    def __init__(self, lab, index):
        self.lab = lab
        self.index = index
        self.name = f"node{index}"
        self.namespace = f"{lab.tag}n{index}"
        self.local_ip = f"192.168.200.{index}"
        self.dir = lab.dir / self.name
        self.dir.mkdir()
        self.env = {**os.environ, "OVS_RUNDIR": str(self.dir), "OVS_DBDIR": str(self.dir), "OVS_LOGDIR": str(self.dir)}

    def start(self):
        lab = self.lab
        lab.add_namespace(self.namespace)
        for bridge, device, mtu in (("mgmt", "mgmt0", 1500), ("under", "phy0", 1600)):
            peer = f"{bridge[:1]}{self.index}"
            run("ip", "-n", lab.control, "link", "add", peer, "type", "veth", "peer", "name", device, "netns", self.namespace)
            run("ip", "-n", lab.control, "link", "set", peer, "master", bridge, "mtu", mtu, "up")
            run("ip", "-n", self.namespace, "link", "set", device, "mtu", mtu, "up")
        run("ip", "-n", self.namespace, "address", "add", f"10.99.0.{self.index}/24", "dev", "mgmt0")
        self.start_ovs()

    def start_ovs(self):
        """Makes a database, the underlay's bridge and the tunnel endpoint."""
        run("ovsdb-tool", "create", self.dir / "conf.db", SCHEMA)
        self.start_ovsdb()
        self.vsctl("--no-wait", "init")
        self.start_vswitchd()
        self.vsctl(
            "add-br", "br-phy", "--", "set", "bridge", "br-phy", "datapath_type=netdev",
            "--", "add-port", "br-phy", "phy0", "--", "set", "interface", "br-phy", "mtu_request=1600",
        )
        run("ip", "-n", self.namespace, "address", "replace", f"{self.local_ip}/24", "dev", "br-phy")
        run("ip", "-n", self.namespace, "link", "set", "br-phy", "up")
        # As ovs-ctl does.
        version = run("ovs-vswitchd", "--version").split()[3]
        self.vsctl("set", "open_vswitch", ".", f"other_config:local_ip={self.local_ip}", f"ovs_version={version}")

    def inside(self, *command, **options):
        """Runs a command in the node's namespace."""
        return run("ip", "netns", "exec", self.namespace, *command, env=self.env, **options)

    def start_ovsdb(self):
        d = self.dir
        self.inside(
            "ovsdb-server", d / "conf.db", f"--remote=punix:{d}/db.sock",
            "--remote=db:Open_vSwitch,Open_vSwitch,manager_options", "--private-key=db:Open_vSwitch,SSL,private_key",
            "--certificate=db:Open_vSwitch,SSL,certificate", "--ca-cert=db:Open_vSwitch,SSL,ca_cert", f"--unixctl={d}/db.ctl",
            f"--pidfile={d}/ovsdb.pid", f"--log-file={d}/ovsdb.log", "--detach", "--no-chdir", "-vconsole:off",
        )

    def start_vswitchd(self):
        d = self.dir
        self.inside(
            "ovs-vswitchd", f"unix:{d}/db.sock", "--disable-system", f"--unixctl={d}/vs.ctl",
            f"--pidfile={d}/vs.pid", f"--log-file={d}/vs.log", "--detach", "--no-chdir", "-vconsole:off",
        )

    def connect(self, manager=None):
        """Points the switch at the controller: nothing else is configured by hand."""
        self.vsctl("set-manager", manager or f"tcp:{self.lab.address}:6640")

    def vsctl(self, *words):
        return run("ovs-vsctl", f"--db=unix:{self.dir}/db.sock", "--timeout=15", *words, env=self.env)

    def ofctl(self, *words):
        return run("ovs-ofctl", "-O", "OpenFlow13", *words, env=self.env)

    def appctl(self, *words):
        return run("ovs-appctl", "-t", self.dir / "vs.ctl", *words, env=self.env)

    def has_bridge(self):
        return "br-int" in self.vsctl("list-br").split()

    def flows(self):
        """The flows of br-int, one a line, without statistics, sorted."""
        lines = self.ofctl("--no-stats", "--sort", "dump-flows", "br-int").splitlines()
        return [line.strip() for line in lines if "actions=" in line]

    def dpid(self):
        return self.vsctl("get", "bridge", "br-int", "datapath_id").strip().strip('"')

    def tables(self):
        """Everything br-int holds, one item a line, in the form of `coeus flows`: flows, groups, meters, sorted."""
        lines = []
        for line in self.flows():
            lines.append(line if ", table=" in line else line.replace(", priority=", ", table=0, priority=", 1))
        for line in self.ofctl("dump-groups", "br-int").splitlines():
            if "group_id=" in line:
                lines.append(re.sub(r"bucket_id:\d+,", "", line.strip()))
        meters = self.ofctl("dump-meters", "br-int").replace("bands=\n", "bands=")
        lines += [line.strip() for line in meters.splitlines() if "meter=" in line]
        return sorted(lines)

    def packets(self, table, match=""):
        """Packets counted by the flows of a table whose line contains `match`."""
        lines = self.ofctl("dump-flows", "br-int", f"table={table}").splitlines()
        return sum(int(n) for line in lines if match in line for n in re.findall(r"n_packets=(\d+)", line))

    def port_packets(self, port):
        """Packets sent through a port of br-int."""
        text = self.vsctl("get", "interface", port, "statistics:tx_packets")
        return int(text.strip())

    def stale_ports(self):
        """Pod ports that are still there."""
        ports = [port for port in self.vsctl("list-ports", self.bridge).split() if port.startswith("veth")]
        ready = self.ready_ports() if ports else {}
        return [port for port in ports if port not in ready]

    def ready_ports(self):
        """Ports that the node's agent has made before their pods, each with its ofport (None: vswitchd has not opened it)."""
        table = json.loads(self.vsctl("--format=json", "--columns=name,ofport,external_ids", "list", "interface"))
        rows = [(name, ofport, dict(ids[1])) for name, ofport, ids in table["data"]]
        return {name: ofport if isinstance(ofport, int) else None for name, ofport, ids in rows if "coeus-ready" in ids}

    def rebuild(self):
        """Loses the database and starts with a new one, as after a reinstallation."""
        self.kill("vswitchd")
        self.kill("ovsdb")
        wait_until("the daemons are gone", lambda: not self.running())
        (self.dir / "conf.db").unlink()
        for device in self.inside("ls", "/sys/class/net").split():
            if device.startswith("br-"):
                run("ip", "-n", self.namespace, "link", "delete", device, check=False)
        self.start_ovs()
        self.connect()

    def running(self):
        def alive(name):
            try:
                os.kill(int((self.dir / name).read_text()), 0)
                return True
            except (FileNotFoundError, ProcessLookupError, ValueError):
                return False

        return alive("vs.pid") or alive("ovsdb.pid")

    def kill(self, daemon, number=signal.SIGKILL):
        pid_file = self.dir / {"vswitchd": "vs.pid", "ovsdb": "ovsdb.pid"}[daemon]
        try:
            os.kill(int(pid_file.read_text()), number)
        except (FileNotFoundError, ProcessLookupError, ValueError):
            pass


class Pod:
    """A pod: a namespace with one end of a veth; the other end is a port of its node's br-int."""

    def __init__(self, lab, node, iface_id, mac, address=None, gateway=None):
        self.lab, self.node, self.iface_id, self.mac = lab, node, iface_id, mac
        lab.pod_count += 1
        self.namespace = f"{lab.tag}p{lab.pod_count}"
        self.port = f"veth{lab.pod_count:08x}"
        lab.add_namespace(self.namespace)
        run("ip", "-n", node.namespace, "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        # A port is no host: with an address of its own, vswitchd would read all routes of the node anew for each pod.
        run("ip", "-n", node.namespace, "link", "set", self.port, "addrgenmode", "none", "up")
        run("ip", "-n", self.namespace, "link", "set", "eth0", "address", mac, "mtu", 1450, "up")
        # The userspace datapath forwards half-made TCP checksums as they are; let the pod finish them.
        run("ip", "netns", "exec", self.namespace, "ethtool", "-K", "eth0", "tx", "off")
        self.address, self.addresses = None, {}
        if address:
            self.configure(address, gateway)
        node.vsctl(
            "add-port", "br-int", self.port, "--", "set", "interface", self.port,
            f'external_ids:iface-id="{iface_id}"', f'external_ids:attached-mac="{mac}"',
        )

    def configure(self, address, gateway=None):
        self.address = self.addresses[4] = address.split("/")[0]
        run("ip", "-n", self.namespace, "address", "replace", address, "dev", "eth0")
        if gateway:
            run("ip", "-n", self.namespace, "route", "replace", "default", "via", gateway)

    def add_address(self, address, gateway=None):
        """A further address, of either version, and a router for its version."""
        version = "-6" if ":" in address else "-4"
        self.addresses.setdefault(int(version[1]), address.split("/")[0])
        run("ip", "-n", self.namespace, "address", "add", address, "dev", "eth0")
        if gateway:
            run("ip", "-n", self.namespace, version, "route", "replace", "default", "via", gateway, "dev", "eth0")

    def inside(self, *command, **options):
        return run("ip", "netns", "exec", self.namespace, *command, **options)

    def ping(self, address, count=3, interval=0.05, wait=1):
        """Pings and returns how many answers came."""
        out = self.inside(
            "ping", "-n", "-c", count, "-i", interval, "-W", wait, address, check=False, timeout=count * (interval + wait) + 15
        )
        match = re.search(r"(\d+) received", out)
        return int(match.group(1)) if match else 0

    def reaches(self, address, timeout=15.0):
        """True as soon as one ping is answered, false when none is within the time. Half way, switches forget what they cached."""
        begin, patient = time.monotonic(), True
        while (spent := time.monotonic() - begin) < timeout:
            if self.ping(address, count=1, wait=0.5):
                return True
            if patient and spent > timeout / 2:
                patient = False
                self.lab.forget_cached_flows()
        return False

    def unplug(self):
        self.node.vsctl("--if-exists", "del-port", "br-int", self.port)
        run("ip", "-n", self.node.namespace, "link", "delete", self.port, check=False)
        self.lab.remove_namespace(self.namespace)


class Outside:
    """A host on the underlay that is no pod: on an access port of br-phy."""

    def __init__(self, lab, node, vlan, address):
        lab.pod_count += 1
        self.namespace = f"{lab.tag}p{lab.pod_count}"
        port = f"out{lab.pod_count:08x}"
        lab.add_namespace(self.namespace)
        run("ip", "-n", node.namespace, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        run("ip", "-n", node.namespace, "link", "set", port, "up")
        run("ip", "-n", self.namespace, "link", "set", "eth0", "up")
        run("ip", "netns", "exec", self.namespace, "ethtool", "-K", "eth0", "tx", "off")
        run("ip", "-n", self.namespace, "address", "add", address, "dev", "eth0")
        node.vsctl("add-port", "br-phy", port, f"tag={vlan}")


class Lab:
    """Nodes, pods and one controller; everything is taken down by `close`, also at exit and on Ctrl-C."""

    address = "10.99.0.254"
    #: Where requests go.
    server = "http://127.0.0.1:8181"

    def __init__(self):
        if os.geteuid() != 0:
            raise LabError("network namespaces need root: run this as root")
        self.tag = f"co{os.getpid() % 100000}"
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="coeus-lab-"))
        self.control = f"{self.tag}c"
        self.namespaces, self.nodes, self.pods = [], [], []
        self.pod_count = 0
        self.controller = None
        #: What the controller's environment has besides.
        self.environment = {}
        self.password = "lab-" + base64.b16encode(os.urandom(6)).decode().lower()
        atexit.register(self.close)
        for number in (signal.SIGTERM, signal.SIGHUP):
            try:
                signal.signal(number, lambda *_: (_ for _ in ()).throw(SystemExit(143)))
            except ValueError:
                pass  # not the main thread: the caller owns the signals
        self.add_namespace(self.control)
        for bridge, mtu, mac in (("mgmt", 1500, "02:00:00:63:00:fe"), ("under", 1600, "02:00:00:c8:00:fe")):
            # One that is not given takes the lowest of its ports', another one with each node, and who has resolved it before is cut off.
            run("ip", "-n", self.control, "link", "add", bridge, "address", mac, "type", "bridge")
            run("ip", "-n", self.control, "link", "set", bridge, "mtu", mtu, "up")
        run("ip", "-n", self.control, "address", "add", f"{self.address}/24", "dev", "mgmt")
        self.enter()

    def enter(self):
        """Moves this process into the controller's namespace, so that 127.0.0.1:8181 is the controller's."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{self.control}", encoding="ascii") as handle:
            if libc.setns(handle.fileno(), CLONE_NEWNET) != 0:
                raise LabError(f"setns: {os.strerror(ctypes.get_errno())}")

    def add_namespace(self, name):
        run("ip", "netns", "add", name)
        self.namespaces.append(name)
        run("ip", "-n", name, "link", "set", "lo", "up")

    def remove_namespace(self, name):
        for pid in run("ip", "netns", "pids", name, check=False).split():
            if int(pid) != os.getpid():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        run("ip", "netns", "delete", name, check=False)
        if name in self.namespaces:
            self.namespaces.remove(name)

    # -- nodes and pods

    @property
    def switched(self):
        """Nodes whose switches are the controller's."""
        return [node for node in self.nodes if node.bridge == "br-int"]

    def add_node(self, connect=True):
        node = Node(self, len(self.nodes) + 1)
        self.nodes.append(node)
        node.start()
        if connect:
            node.connect()
        return node

    def add_pod(self, node, iface_id, mac, address=None, gateway=None):
        wait_until(f"{node.name} has br-int", node.has_bridge)
        pod = Pod(self, node, iface_id, mac, address, gateway)
        self.pods.append(pod)
        return pod

    def forget_cached_flows(self):
        """Has every switch decide by its tables again: what its datapath has cached is gone."""
        for node in self.nodes:
            run("ovs-appctl", "-t", node.dir / "vs.ctl", "revalidator/purge", env=node.env, check=False)

    # -- the controller

    def binary(self):
        """The program under test, by its absolute path (who enters a mount namespace starts in /): COEUS_BINARY, else the newer of the release and the debug build."""
        named = os.environ.get("COEUS_BINARY")
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        found = [pathlib.Path(named)] if named else [target / kind / "coeus" for kind in ("release", "debug")]
        found = [path for path in found if path.exists()]
        if not found:
            raise LabError("the program is not built: run cargo build first, or name it in COEUS_BINARY")
        return max(found, key=lambda path: path.stat().st_mtime).resolve()

    def start_controller(self, *options):
        """Starts `coeus serve` on its default ports inside the controller's namespace and waits until it is ready."""
        log = open(self.dir / "coeus.log", "a", encoding="utf-8")
        self.controller = subprocess.Popen(
            [
                str(self.binary()), "serve", "--data-dir", str(self.dir / "data"), "--datapath-type", "netdev",
                "--restconf", "0.0.0.0:8443", "--restconf-plain", "127.0.0.1:8181", *map(str, options),
            ],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            env={**os.environ, "COEUS_ADMIN_PASSWORD": self.password, "RUST_BACKTRACE": "1", **self.environment},
        )
        log.close()

        def ready():
            if self.controller.poll() is not None:
                raise LabError(f"coeus ended with {self.controller.returncode}:\n{self.log()[-3000:]}")
            return self.request("GET", "/readyz", login=False)[0] == 200

        wait_until("coeus answers /readyz", ready, timeout=30)

    def stop_controller(self, number=signal.SIGTERM, timeout=20):
        """Stops the controller with a signal and returns its exit code."""
        if self.controller is None:
            return None
        self.controller.send_signal(number)
        code = self.controller.wait(timeout=timeout)
        self.controller = None
        return code

    def flows_from_scratch(self):
        """What each switch should hold, by datapath id, computed from the data directory of the stopped controller."""
        found, switch = {}, None
        for line in run(self.binary(), "flows", "--data-dir", self.dir / "data").splitlines():
            if line.startswith("# switch "):
                switch = found.setdefault(line.split()[2], [])
            elif switch is not None:
                switch.append(line)
        return {dpid: sorted(lines) for dpid, lines in found.items()}

    def switch_status(self, node):
        """What the controller reports of a node's switch."""
        status, body = self.request("GET", f"/restconf/operational/coeus-status:switches/switch/{node.dpid()}")
        return body["coeus-status:switch"][0] if status == 200 else {}

    def log(self):
        path = self.dir / "coeus.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def request(self, method, path, body=None, login=True, timeout=30):
        """One RESTCONF request: returns the status and the body, read as JSON where it is JSON. Status 0: no answer."""
        data = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
        request = urllib.request.Request(f"{self.server}{path}", data=data, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if login:
            request.add_header("Authorization", "Basic " + base64.b64encode(f"admin:{self.password}".encode()).decode())
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return 0, None
        try:
            return status, json.loads(text) if text else None
        except ValueError:
            return status, text.decode(errors="replace")

    def close(self):
        """Takes everything down. Safe to call twice."""
        if self.controller is not None and self.controller.poll() is None:
            self.controller.kill()
            self.controller.wait(timeout=10)
        self.controller = None
        for node in self.nodes:
            node.kill("vswitchd")
            node.kill("ovsdb")
        for name in list(reversed(self.namespaces)):
            self.remove_namespace(name)
        self.nodes, self.pods = [], []
        if os.environ.get("COEUS_KEEP_LOGS"):
            print(f"logs are kept in {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)


def pod_json(uid, name, namespace, host, address=None, mac=None, **more):
    """The body of one pod, as a client sends it."""
    interface = {"uid": uid, "network-id": "00000000-0000-0000-0000-000000000000", "network-type": "VXLAN"}
    if address:
        interface["ip-address"] = address
    pod = {"uid": uid, "name": name, "network-NS": namespace, "host-ip-address": host, "interface": [interface], **more}
    if mac:
        pod["port-mac-address"] = mac
    return {"pod:pods": [pod]}
