"""Coeus and OVN, each with a network namespace and an Open vSwitch of its own (dummy datapath: flows are real, packets are not).

A flow monitor on br-int says when the last rule changed; it is the last when nothing changes any more and the contender's processes
are idle. CPU seconds and memory are those of the contender's own processes (peak resident), without the switch.
"""

import base64
import ctypes
import http.client
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

OVS_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
OVN_SCHEMAS = "/usr/share/ovn"
CLONE_NEWNET = 0x40000000
TICKS = os.sysconf("SC_CLK_TCK")
NODE = "10.99.0.1"
PASSWORD = "only-for-this-benchmark"
# Idle: no rule changed for so long, and the processes used less than a twentieth of a core meanwhile.
QUIET_BULK, QUIET_ONE = 2.0, 0.5
LONGEST = 300.0


def run(*command, env=None, timeout=60):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=env, timeout=timeout)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


class Pod:
    """The same pod for both: the namespace it is in, its MAC and its address in the subnet of that namespace."""

    def __init__(self, number, spaces):
        self.number = number
        self.space = number % spaces
        place = number // spaces + 10
        self.name = f"pod{number}"
        self.port = f"p{number}"
        self.mac = "02:00:%02x:%02x:%02x:%02x" % tuple(number.to_bytes(4))
        self.address = f"10.{self.space + 1}.{place >> 8}.{place & 255}"

    @property
    def subnet(self):
        return f"10.{self.space + 1}.0.0/16"

    @property
    def gateway(self):
        return f"10.{self.space + 1}.0.1"


class Monitor:
    """Reads the flow monitor of br-int and keeps the time of the last change."""

    def __init__(self, contender):
        self.last, self.bytes = 0.0, 0
        self.process = contender.spawn("ovs-ofctl", "monitor", "br-int", "watch:!initial", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        pipe = self.process.stdout.fileno()
        while chunk := os.read(pipe, 1 << 20):
            self.last = time.monotonic()
            self.bytes += len(chunk)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Contender:
    """A namespace with a private Open vSwitch, and whatever programs it."""

    def __init__(self, pods, spares):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="coeus-ovn-"))
        self.namespace = f"cb{os.getpid() % 100000}{self.kind[0]}"
        self.env = {**os.environ, **{f"{kind}_{part}DIR": str(self.dir) for kind in ("OVS", "OVN") for part in ("RUN", "DB", "LOG")}}
        self.processes, self.own = [], []
        run("ip", "netns", "add", self.namespace)
        try:
            self.inside("ip", "link", "set", "lo", "up")
            run("ovsdb-tool", "create", self.dir / "conf.db", OVS_SCHEMA)
            db = f"unix:{self.dir}/db.sock"
            self.start("ovsdb-server", self.dir / "conf.db", f"--remote=punix:{self.dir}/db.sock", "--remote=db:Open_vSwitch,Open_vSwitch,manager_options", f"--unixctl={self.dir}/db.ctl")
            self.appears("db.sock")
            self.vsctl("--no-wait", "init")
            self.start("ovs-vswitchd", db, "--enable-dummy=override", "--disable-system", f"--unixctl={self.dir}/vs.ctl")
            self.vsctl("set", "open_vswitch", ".", f"other_config:local_ip={NODE}")
            self.serve()
            self.wait("br-int", lambda: "br-int" in self.vsctl("list-br").split())
            self.plug(pods + spares)
            self.monitor = Monitor(self)
            self.settle(QUIET_BULK)
        except BaseException:
            self.close()
            raise

    def spawn(self, *command, **options):
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
        process = subprocess.Popen(["ip", "netns", "exec", self.namespace, *map(str, command)], env=self.env, stdin=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def start(self, program, *options):
        log = open(self.dir / f"{program}.{len(self.processes)}.log", "wb")
        return self.spawn(program, *options, "-vconsole:warn", stdout=log, stderr=log)

    def inside(self, *command):
        return run("ip", "netns", "exec", self.namespace, *command, env=self.env)

    def vsctl(self, *words):
        return run("ovs-vsctl", f"--db=unix:{self.dir}/db.sock", "--timeout=60", *words, env=self.env, timeout=90)

    def appears(self, name):
        self.wait(name, (self.dir / name).exists)

    def wait(self, what, condition, timeout=60.0):
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise SystemExit(f"{self.kind}: no {what} within {timeout:g} s; logs are in {self.dir}")
            time.sleep(0.02)

    def plug(self, pods):
        for at in range(0, len(pods), 200):
            words = []
            for pod in pods[at : at + 200]:
                words += ["--", "add-port", "br-int", pod.port, "--", "set", "interface", pod.port, f'external_ids:iface-id="{self.iface(pod)}"', f'external_ids:attached-mac="{pod.mac}"']
            self.vsctl(*words)

    def cpu(self):
        """CPU seconds that the contender's own processes have used."""
        ticks = 0
        for process in self.own:
            fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS

    def memory(self):
        """Peak resident megabytes of the contender's own processes."""
        peak = 0
        for process in self.own:
            peak += int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1])
        return peak / 1024

    def rules(self):
        return int(re.search(r"flow_count=(\d+)", run("ovs-ofctl", "dump-aggregate", "br-int", env=self.env))[1])

    def settle(self, quiet):
        """Waits until all is idle, and returns when the last rule changed."""
        end = time.monotonic() + LONGEST
        while True:
            before, at = self.cpu(), time.monotonic()
            time.sleep(quiet)
            busy = (self.cpu() - before) / (time.monotonic() - at)
            if self.monitor.last < at and busy < 0.05:
                return self.monitor.last
            if at > end:
                raise SystemExit(f"{self.kind}: not idle within {LONGEST:g} s; logs are in {self.dir}")

    def write(self, pods, quiet):
        """Writes pods; seconds until the last rule changed."""
        return self.clock(pods[0].name, quiet, self.put, pods)

    def clock(self, what, quiet, action, *words):
        """Seconds from the beginning of an action until the last rule changed."""
        start = time.monotonic()
        action(*words)
        last = self.settle(quiet)
        if last < start:
            raise SystemExit(f"{self.kind}: no rule changed for {what}; logs are in {self.dir}")
        return last - start

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        subprocess.run(["ip", "netns", "delete", self.namespace], check=False)
        if os.environ.get("COEUS_KEEP_LOGS"):
            print(f"logs are kept in {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)


class Coeus(Contender):
    kind = "coeus"

    def __init__(self, binary, spaces, pods, spares):
        self.binary, self.spaces = binary, spaces
        super().__init__(pods, spares)

    def iface(self, pod):
        return f"ns{pod.space}:{pod.name}"

    def serve(self):
        self.env["COEUS_ADMIN_PASSWORD"] = PASSWORD
        log = open(self.dir / "coeus.log", "wb")
        process = self.spawn(
            self.binary, "serve", "--data-dir", self.dir / "data", "--restconf", "127.0.0.1:8443", "--restconf-plain", "127.0.0.1:8181",
            "--openflow", "127.0.0.1:6653", "--ovsdb", "127.0.0.1:6640", "--datapath-type", "netdev", stdout=log, stderr=log,
        )
        self.own.append(process)
        self.login = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
        self.wait("answer to /readyz", lambda: self.request("GET", "/readyz", None) == 200)
        self.vsctl("set-manager", "tcp:127.0.0.1:6640")

    def request(self, method, path, body):
        """One request on a connection that is kept; its status."""
        return self.exchange(method, path, body)[0]

    def exchange(self, method, path, body):
        """The same, with what was answered; status 0: nobody did."""
        data = None if body is None else json.dumps(body)
        try:
            if not hasattr(self, "connection"):
                self.connection = connect_inside(self.namespace, 8181)
            self.connection.request(method, path, data, {"Content-Type": "application/json", "Authorization": f"Basic {self.login}"})
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.__dict__.pop("connection", None)
            return 0, b""
        if answer.status >= 400 and answer.status != 503:
            raise SystemExit(f"coeus: {method} {path}: {answer.status} {text[:500]!r}")
        return answer.status, text

    def put(self, pods):
        made = [
            {
                "uid": uid(pod.number), "name": pod.name, "network-NS": f"ns{pod.space}", "host-ip-address": NODE, "port-mac-address": pod.mac,
                "interface": [{"uid": uid(pod.number), "ip-address": pod.address, "network-type": "VXLAN"}],
            }
            for pod in pods
        ]
        if len(made) > 1:
            self.request("PUT", "/restconf/config/pod:coe", {"pod:coe": {"pods": made}})
        else:
            self.request("PUT", f"/restconf/config/pod:coe/pods/{made[0]['uid']}", {"pod:pods": made})

    def alone(self, rules, times):
        """What the switch itself takes, once the controller is gone: seconds for all its rules again, in one bundle of ovs-ofctl, and for
        so many rules and a barrier on a bare socket, each as often as asked for."""
        dump = lambda version, what: "\n".join(line.strip() for line in run("ovs-ofctl", "-O", version, "--no-stats", "--no-names", what, "br-int", env=self.env).splitlines() if "=" in line.split("xid", 1)[0])  # noqa: E731
        flows, groups = self.dir / "flows", self.dir / "groups"
        flows.write_text(dump("OpenFlow13", "dump-flows"))
        groups.write_text(dump("OpenFlow15", "dump-groups"))
        for process in self.own:
            process.kill()
            process.wait()
        self.own = []
        self.vsctl("del-controller", "br-int")
        for what in ("del-flows", "del-groups"):
            run("ovs-ofctl", "-O", "OpenFlow15", what, "br-int", env=self.env)
        run("ovs-ofctl", "-O", "OpenFlow15", "add-groups", "br-int", groups, env=self.env)
        self.settle(QUIET_BULK)
        replay = lambda: run("ovs-ofctl", "-O", "OpenFlow13", "--bundle", "add-flows", "br-int", flows, env=self.env)  # noqa: E731
        bulk = self.clock("the same rules", QUIET_BULK, replay)
        with Raw(self.dir / "br-int.mgmt") as raw:
            return bulk, [self.clock("plain rules", QUIET_ONE, raw.add, rules) for _ in range(times)]


class Raw:
    """A bare OpenFlow 1.3 connection that adds rules nobody meets."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))
        self.added = 0
        self.socket.sendall(struct.pack("!BBHI", 4, 0, 8, 1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def add(self, count):
        """Adds so many rules to the last table, with one message, and waits for the barrier behind them."""
        messages = b""
        for priority in range(self.added, self.added + count):
            match = struct.pack("!HH4x", 1, 4)
            body = struct.pack("!QQBBHHHIIIH2x", 0, 0, 253, 0, 0, 0, priority + 1, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
            messages += struct.pack("!BBHI", 4, 14, 8 + len(body) + len(match), 2) + body + match
        self.added += count
        self.socket.sendall(messages + struct.pack("!BBHI", 4, 20, 8, self.added))
        barrier, answers = struct.pack("!BBHI", 4, 21, 8, self.added), b""
        while barrier not in answers:
            got = self.socket.recv(65536)
            if not got:
                raise SystemExit("the switch closed the bare connection")
            answers += got


class Ovn(Contender):
    kind = "ovn"

    def __init__(self, spaces, pods, spares):
        self.spaces = spaces
        super().__init__(pods, spares)

    def iface(self, pod):
        return pod.name

    def serve(self):
        d = self.dir
        for name in ("nb", "sb"):
            run("ovsdb-tool", "create", d / f"{name}.db", f"{OVN_SCHEMAS}/ovn-{name}.ovsschema")
            self.own.append(self.start("ovsdb-server", d / f"{name}.db", f"--remote=punix:{d}/{name}.sock", f"--unixctl={d}/{name}.ctl"))
            self.appears(f"{name}.sock")
        self.inside("ovn-nbctl", f"--db=unix:{d}/nb.sock", "--no-leader-only", "init")
        self.inside("ovn-sbctl", f"--db=unix:{d}/sb.sock", "--no-leader-only", "init")
        self.own.append(self.start("ovn-northd", f"--ovnnb-db=unix:{d}/nb.sock", f"--ovnsb-db=unix:{d}/sb.sock", f"--unixctl={d}/northd.ctl"))
        self.vsctl(
            "set", "open_vswitch", ".", "external_ids:system-id=bench", f"external_ids:ovn-remote=unix:{d}/sb.sock",
            "external_ids:ovn-encap-type=geneve", f"external_ids:ovn-encap-ip={NODE}", "external_ids:ovn-bridge-datapath-type=netdev",
        )
        self.own.append(self.start("ovn-controller", f"unix:{d}/db.sock"))
        self.db = socket.socket(socket.AF_UNIX)
        self.db.connect(str(d / "nb.sock"))
        self.switches = self.topology()

    def transact(self, operations):
        """One transaction on the north-bound database, as RFC 7047 has it."""
        self.db.sendall(json.dumps({"method": "transact", "params": ["OVN_Northbound", *operations], "id": 1}).encode())
        decoder, text = json.JSONDecoder(), ""
        while True:
            if not select.select([self.db], [], [], 60)[0]:
                raise SystemExit("ovn: the database does not answer")
            text += self.db.recv(1 << 20).decode()
            try:
                answer, end = decoder.raw_decode(text)
            except ValueError:
                continue
            if answer.get("method") == "echo":
                self.db.sendall(json.dumps({"result": answer["params"], "error": None, "id": answer["id"]}).encode())
                text = text[end:]
                continue
            results = answer["result"]
            if wrong := [result for result in results if result and "error" in result]:
                raise SystemExit(f"ovn: {wrong[0]}")
            return results

    def topology(self):
        """One router, the logical switches on it, and their DHCP options."""
        operations, ports = [], []
        for space in range(self.spaces):
            mac = f"02:ff:00:00:00:{space + 1:02x}"
            operations += [
                {"op": "insert", "table": "Logical_Router_Port", "uuid-name": f"lrp{space}", "row": {"name": f"lrp{space}", "mac": mac, "networks": f"10.{space + 1}.0.1/16"}},
                {"op": "insert", "table": "Logical_Switch_Port", "uuid-name": f"up{space}", "row": {"name": f"up{space}", "type": "router", "addresses": "router", "options": ["map", [["router-port", f"lrp{space}"]]]}},
                {"op": "insert", "table": "Logical_Switch", "uuid-name": f"ls{space}", "row": {"name": f"ls{space}", "ports": ["named-uuid", f"up{space}"]}},
                {"op": "insert", "table": "DHCP_Options", "uuid-name": f"dhcp{space}", "row": {"cidr": f"10.{space + 1}.0.0/16", "options": ["map", [["server_id", f"10.{space + 1}.0.1"], ["server_mac", mac], ["router", f"10.{space + 1}.0.1"], ["lease_time", "3600"]]]}},
            ]
            ports.append(["named-uuid", f"lrp{space}"])
        operations.append({"op": "insert", "table": "Logical_Router", "row": {"name": "router", "ports": ["set", ports]}})
        results = self.transact(operations)
        return [(results[4 * space + 2]["uuid"], results[4 * space + 3]["uuid"]) for space in range(self.spaces)]

    def put(self, pods):
        operations, members = [], {}
        for pod in pods:
            addresses = f"{pod.mac} {pod.address}"
            row = {"name": pod.name, "addresses": addresses, "port_security": addresses, "dhcpv4_options": self.switches[pod.space][1]}
            operations.append({"op": "insert", "table": "Logical_Switch_Port", "uuid-name": f"u{pod.number}", "row": row})
            members.setdefault(pod.space, []).append(["named-uuid", f"u{pod.number}"])
        for space, ports in members.items():
            mutation = ["ports", "insert", ["set", ports]]
            operations.append({"op": "mutate", "table": "Logical_Switch", "where": [["_uuid", "==", self.switches[space][0]]], "mutations": [mutation]})
        self.transact(operations)


def uid(number):
    return f"00000000-0000-4000-8000-{number:012}"


def connect_inside(namespace, port):
    """A connection to a loopback port of a namespace; this thread comes back out of it."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{namespace}") as there:
        if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise SystemExit(f"setns: {os.strerror(ctypes.get_errno())}")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)


def prepare():
    """What every comparison needs: root, and an orderly end."""
    if os.geteuid() != 0:
        raise SystemExit("network namespaces need root: run this as root")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: (_ for _ in ()).throw(SystemExit(143)))
