"""Robot keywords for controllers on one etcd: who is active, who waits, and how long a change of that takes."""

import base64
import http.client
import itertools
import json
import os
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
import uuid

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

import linear
from beside import Beside
from lab import Lab, LabError, run, wait_until

#: Where each controller's switches reach it, and its RESTCONF.
CONTROLLERS = {"a": ("10.99.0.254", 8181, 8443), "b": ("10.99.0.253", 8182, 8444), "c": ("10.99.0.252", 8183, 8445)}
#: Client and peer port of each member of etcd, all on 127.0.0.1.
MEMBERS = {"one": (2379, 2380), "two": (2389, 2390), "three": (2399, 2400)}


def uid_of(key):
    return str(uuid.uuid5(uuid.NAMESPACE_OID, key))


@library(scope="SUITE", auto_keywords=False)
class Etcd(Beside):
    def __init__(self):
        self.processes, self.members = {}, {}

    # -- set-up and tear-down

    @keyword
    def start_lab_on_etcd(self, nodes, controllers=2, members=1):
        """An etcd of so many members, the first controller, and nodes that know the addresses of all controllers."""
        self.coeus.lab, self.coeus.pods = Lab(), {}
        self.members = dict.fromkeys(list(MEMBERS)[: int(members)])
        known = [address for address, *_ in list(CONTROLLERS.values())[: int(controllers)]]
        for address in known[1:]:
            run("ip", "-n", self.lab.control, "address", "add", f"{address}/24", "dev", "mgmt")
        self.start_etcd()
        self.start_controller_named("a")
        self.wait_until_ready("a")
        for _ in range(int(nodes)):
            node = self.lab.add_node(connect=False)
            managers = [f"tcp:{address}:6640" for address in known]
            node.vsctl("set-manager", *managers)
            for manager in managers:
                node.vsctl("set", "manager", manager, "max_backoff=1000")
        for node in self.lab.nodes:
            wait_until(f"{node.name} has br-int", node.has_bridge)

    @keyword
    def stop_lab_on_etcd(self):
        for process in [*self.processes.values(), *self.members.values()]:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait(timeout=10)
        for name in CONTROLLERS:
            logger.info(f"{name}: {self.log_of(name)[-20000:]}")
        self.processes, self.members = {}, {}
        self.coeus.stop_lab()

    # -- etcd

    @keyword
    def start_etcd(self):
        """Starts the members that do not run, and waits until they answer together."""
        for name, process in self.members.items():
            if process is None or process.poll() is not None:
                self.start_member(name)
        wait_until("etcd answers", lambda: self.etcdctl("endpoint", "health", check=False).returncode == 0, 30)

    @keyword
    def start_member(self, name):
        client, peer = (f"http://127.0.0.1:{port}" for port in MEMBERS[name])
        # A user of its own (the number of its port), so that what it sends can be told from what others do.
        user, folder = MEMBERS[name][0], self.lab.dir / f"etcd-{name}"
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chown(folder, user, user)
        self.lab.dir.chmod(0o711)
        cluster = ",".join(f"{member}=http://127.0.0.1:{MEMBERS[member][1]}" for member in self.members)
        with open(self.lab.dir / f"etcd-{name}.log", "a", encoding="utf-8") as log:
            self.members[name] = subprocess.Popen(
                [
                    "etcd", "--name", name, "--data-dir", str(folder), "--listen-client-urls", client,
                    "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                    "--initial-cluster", cluster,
                ],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, user=user, group=user, extra_groups=[],
            )

    @property
    def endpoints(self):
        return ",".join(f"127.0.0.1:{MEMBERS[name][0]}" for name in self.members)

    def etcdctl(self, *words, check=True):
        return subprocess.run(
            ["etcdctl", f"--endpoints={self.endpoints}", *words], env={**os.environ, "ETCDCTL_API": "3"}, capture_output=True, text=True, timeout=15,
            check=check,
        )

    @keyword
    def leading_member(self):
        """The member of etcd that leads, and one that does not."""
        found = json.loads(self.etcdctl("endpoint", "status", "--write-out=json").stdout)
        leads = {next(name for name, (port, _) in MEMBERS.items() if one["Endpoint"].endswith(f":{port}")): one["Status"]["leader"] == one["Status"]["header"]["member_id"] for one in found}
        return next(name for name, does in leads.items() if does), next(name for name, does in leads.items() if not does)

    @keyword
    def kill_member(self, name):
        self.members[name].kill()
        self.members[name].wait(timeout=10)

    @keyword
    def signal_member(self, name, how):
        self.members[name].send_signal(getattr(signal, f"SIG{how}"))

    @keyword
    def after(self, seconds, name):
        """A member that is stopped goes on after so long; this does not wait."""
        timer = threading.Timer(float(seconds), self.signal_member, (name, "CONT"))
        timer.daemon = True
        timer.start()

    def rules(self, name):
        """What members say to each other by the port of one of them, and by those of the others from its process."""
        own, user = MEMBERS[name][1], MEMBERS[name][0]
        yield ["OUTPUT", "-p", "tcp", "--dport", str(own), "-j", "DROP"]
        for other in self.members:
            if other != name:
                yield ["OUTPUT", "-p", "tcp", "--dport", str(MEMBERS[other][1]), "-m", "owner", "--uid-owner", str(user), "-j", "DROP"]

    @keyword
    def cut_off(self, name):
        """No member hears this one any more, nor it them; its clients do."""
        for rule in self.rules(name):
            run("iptables", "-w", "-I", *rule)

    @keyword
    def join_again(self, name):
        for rule in self.rules(name):
            run("iptables", "-w", "-D", *rule)

    @keyword
    def kill_etcd(self):
        for name in self.members:
            self.kill_member(name)

    @keyword
    def kill_etcd_for(self, seconds):
        """Etcd is killed now, and back after so long; this does not wait."""
        self.kill_etcd()
        timer = threading.Timer(float(seconds), self.start_etcd)
        timer.daemon = True
        timer.start()

    @keyword
    def compact_etcd(self):
        """Forgets all but the newest revision of etcd's own; returns which that is."""
        revision = json.loads(self.etcdctl("endpoint", "status", "--write-out=json").stdout)[0]["Status"]["header"]["revision"]
        self.etcdctl("compact", str(revision))
        return revision

    @keyword
    def revoke_leases(self):
        """All leases end, as if nobody had renewed them; returns how many there were."""
        found = [line for line in self.etcdctl("lease", "list").stdout.split() if len(line) == 16]
        for lease in found:
            self.etcdctl("lease", "revoke", lease)
        return len(found)

    # -- controllers

    def log_of(self, name):
        path = self.lab.dir / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    @keyword
    def start_controller_named(self, name, store=None):
        address, plain, restconf = CONTROLLERS[name]
        store = store or f"etcd://{self.endpoints}/coeus"
        with open(self.lab.dir / f"{name}.log", "a", encoding="utf-8") as log:
            self.processes[name] = subprocess.Popen(
                [
                    str(self.lab.binary()), "serve", "--data-dir", str(self.lab.dir / f"data-{name}"), "--store", store,
                    "--datapath-type", "netdev", "--restconf", f"{address}:{restconf}", "--restconf-plain", f"127.0.0.1:{plain}",
                    "--openflow", f"{address}:6653", "--ovsdb", f"{address}:6640",
                ],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, "COEUS_ADMIN_PASSWORD": self.lab.password, "RUST_BACKTRACE": "1"},
            )

    def health(self, name, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{CONTROLLERS[name][1]}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return 0, ""

    @keyword
    def wait_until_ready(self, name, timeout=40):
        """Waits until it is the active one; requests go to it from then on."""

        def ready():
            if self.processes[name].poll() is not None:
                raise LabError(f"{name} ended with {self.processes[name].returncode}:\n{self.log_of(name)[-3000:]}")
            return self.health(name, "/readyz") == (200, "ready\n")

        wait_until(f"controller {name} answers /readyz", ready, float(timeout))
        self.lab.server = f"http://127.0.0.1:{CONTROLLERS[name][1]}"
        BuiltIn().set_suite_variable("${CONTROLLER}", self.lab.server)

    @keyword
    def active_controller(self):
        """The controller to which requests went last, if it is ready still; else the first that is."""
        names = sorted(self.processes, key=lambda name: not self.lab.server.endswith(f":{CONTROLLERS[name][1]}"))
        return wait_until("a controller is active", lambda: next((name for name in names if self.is_active(name)), None), 40)

    def is_active(self, name):
        if self.processes[name].poll() is not None:
            return False
        return self.health(name, "/readyz") == (200, "ready\n")

    @keyword
    def one_of_these_takes_over(self, seconds, *names):
        """Waits until one of these is the active one and has all switches; says which."""
        begun = time.monotonic()
        name = wait_until("one is active", lambda: next((name for name in names if self.is_active(name)), None), float(seconds))
        self.takes_over(name, max(5.0, float(seconds) - (time.monotonic() - begun)))
        return name

    @keyword
    def wait_until_standby(self, name):
        def waits():
            status, text = self.health(name, "/readyz")
            return status == 200 and text.startswith("following coeus serve on ")

        wait_until(f"controller {name} follows the active one", waits, 10)
        assert self.health(name, "/livez") == (200, "alive\n")

    @keyword
    def signal_controller(self, name, how):
        self.processes[name].send_signal(getattr(signal, f"SIG{how}"))

    @keyword
    def exit_code_of(self, name, timeout=20):
        return self.processes[name].wait(timeout=float(timeout))

    @keyword
    def takes_over(self, name, seconds):
        """Waits until the controller is the active one and has all switches; says how long each took."""
        begun = time.monotonic()
        self.wait_until_ready(name, float(seconds))
        ready = time.monotonic() - begun

        def connected():
            status = [self.lab.switch_status(node) for node in self.lab.nodes]
            return all(one.get("connected") and int(one.get("programmed-revision", 0)) > 0 for one in status)

        wait_until("all switches are connected", connected, max(1.0, float(seconds) - ready), pause=0.1)
        logger.info(f"ready after {ready:.1f} s, switches after {time.monotonic() - begun:.1f} s", also_console=True)

    # -- requests to one of them

    def ask(self, name, method, path, body=None, timeout=20, **headers):
        """Status, headers and text of an answer; status 0: there was none."""
        request = urllib.request.Request(f"http://127.0.0.1:{CONTROLLERS[name][1]}{path}", method=method)
        token = base64.b64encode(f"admin:{self.lab.password}".encode()).decode()
        request.add_header("authorization", f"Basic {token}")
        for header, value in headers.items():
            request.add_header(header.replace("_", "-"), value)
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            request.add_header("content-type", "application/yang-data+json")
        try:
            with urllib.request.urlopen(request, data, timeout=timeout) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()
        except (urllib.error.URLError, ConnectionError, TimeoutError, http.client.HTTPException):
            return 0, {}, ""

    @keyword
    def status_of(self, name, method, path, **headers):
        return self.ask(name, method, path, **headers)[0]

    @keyword
    def put_number(self, name, key, value, timeout=20, **headers):
        """A number under a name, as a pod without a network; returns status and headers."""
        body = {"pod:pods": [{"uid": uid_of(key), "name": f"{key}-{value}"}]}
        return self.ask(name, "PUT", f"/rests/data/pod:coe/pods={uid_of(key)}", body, timeout, **headers)[:2]

    @keyword
    def number_of(self, name, key, timeout=20, **headers):
        """The number, and its entity-tag; None if there is no answer that counts, 0 if there is no number."""
        path = f"/rests/data/pod:coe/pods={uid_of(key)}?content=config"
        status, headers, text = self.ask(name, "GET", path, timeout=timeout, **headers)
        if status == 404:
            return 0, None
        if status != 200:
            return None, None
        [entry] = json.loads(text)["pod:pods"]
        return int(entry["name"].split("-")[1]), headers.get("etag")

    @keyword
    def retry_after_of(self, headers):
        return headers.get("retry-after")

    @keyword
    def signal_etcd(self, how):
        for name in self.members:
            self.signal_member(name, how)

    @keyword
    def start_clients(self, writers=3, readers=3):
        """Each writer counts up its own number through one controller after the other, readers read them; all is written down."""
        self.history, self.clients_end, lock = [], threading.Event(), threading.Lock()

        def note(operation):
            with lock:
                self.history.append(operation)

        def write(key):
            value, names = 0, itertools.cycle(list(self.processes))
            while not self.clients_end.is_set():
                value, name, begun = value + 1, next(names), time.monotonic()
                status, _ = self.put_number(name, key, value, timeout=5)
                note(linear.Operation("write", key, value, begun, time.monotonic(), status in (201, 204)))
                time.sleep(0.02 if status in (201, 204) else 0.2)

        def read(keys, name):
            for key in itertools.cycle(keys):
                if self.clients_end.is_set():
                    return
                begun = time.monotonic()
                value, _ = self.number_of(name, key, timeout=5)
                if value is None:
                    time.sleep(0.1)
                else:
                    note(linear.Operation("read", key, value, begun, time.monotonic(), True))
                time.sleep(0.01)

        keys = [f"k{number}" for number in range(int(writers))]
        names = itertools.cycle(list(self.processes))
        self.clients = [threading.Thread(target=write, args=(key,), daemon=True) for key in keys]
        self.clients += [threading.Thread(target=read, args=(keys, next(names)), daemon=True) for _ in range(int(readers))]
        for client in self.clients:
            client.start()

    @keyword
    def stop_clients(self):
        """Ends them, and checks what they have seen: every acknowledged write is there, and no read was stale."""
        self.clients_end.set()
        for client in self.clients:
            client.join(timeout=20)
        for name in self.processes:
            for key in sorted({operation.key for operation in self.history}):
                begun = time.monotonic()
                value, _ = self.number_of(name, key)
                if value is not None:
                    self.history.append(linear.Operation("read", key, value, begun, time.monotonic(), True))
        writes = [operation for operation in self.history if operation.kind == "write"]
        acknowledged = sum(operation.acknowledged for operation in writes)
        reads = len(self.history) - len(writes)
        logger.info(f"{len(writes)} writes, {acknowledged} of them acknowledged, {reads} reads", also_console=True)
        faults = linear.faults(self.history)
        if faults or not acknowledged or not reads:
            raise AssertionError(f"{len(faults)} faults: " + "; ".join(faults[:5]))
        return acknowledged

    # -- data

    @keyword
    def copy_store(self, source, target):
        """Returns the exit code and what was said."""
        done = subprocess.run(
            [str(self.lab.binary()), "store", "copy", source, target], capture_output=True, text=True, timeout=60, check=False
        )
        logger.info(done.stdout + done.stderr)
        return done.returncode, done.stdout + done.stderr

    @keyword
    def folder_of_copy(self):
        return str(self.lab.dir / "copy")

    @keyword
    def all_that_is_configured(self):
        status, body = self.lab.request("GET", "/rests/data?content=config")
        if status != 200 or not body:
            raise AssertionError(f"{status} {body}")
        return json.dumps(body, sort_keys=True)

    @keyword
    def switches_should_be_as_in(self, folder):
        """What the switches hold is what follows from the data in the folder, line by line."""
        wanted, switch = {}, None
        for line in run(self.lab.binary(), "flows", "--data-dir", folder).splitlines():
            if line.startswith("# switch "):
                switch = wanted.setdefault(line.split()[2], [])
            elif switch is not None:
                switch.append(line)
        for node in self.lab.nodes:
            held = node.tables()
            if held != sorted(wanted.get(node.dpid(), [])):
                raise AssertionError(f"{node.name} holds {len(held)} lines, not those that follow from {folder}")
            logger.info(f"{node.name}: {len(held)} flows, groups and meters, all as computed")
