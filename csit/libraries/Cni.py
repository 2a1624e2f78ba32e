"""Robot keywords for the CNI plugin and the node agent: a runtime of our own that makes namespaces and calls the plugin."""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import threading
import time

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

from beside import Beside
from lab import LabError, Pod, come_to, run, wait_until

#: Where Debian has the reference plugins (containernetworking-plugins).
PLUGINS = "/usr/lib/cni"
PATIENCE = 120


class Runtime:
    """What a container runtime does with a plugin: environment, standard input, and the result kept for CHECK and DEL."""

    def __init__(self, plugin, config, before=()):
        """`before`: words in front of the plugin's path, such as those of nsenter(1)."""
        self.command, self.config, self.results, self.path = [*before, str(plugin)], config, {}, PLUGINS

    def start(self, command, container="", netns="", ifname="eth0", args="", more=None, environment=None):
        known = {"CNI_COMMAND": command, "CNI_CONTAINERID": container, "CNI_NETNS": netns, "CNI_IFNAME": ifname, "CNI_ARGS": args, "CNI_PATH": self.path}
        variables = {"PATH": os.environ["PATH"], **known, **(environment or {})}
        config = {**self.config, **(more or {})}
        if command in ("CHECK", "DEL") and (container, ifname) in self.results:
            config["prevResult"] = self.results[container, ifname]
        text = json.dumps(config) if more is None or "raw" not in more else more["raw"]
        process = subprocess.Popen(
            self.command, env={name: value for name, value in variables.items() if value is not None},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        process.text = text
        return process

    def call(self, command, container="", netns="", ifname="eth0", **more):
        """Returns the exit code and the document on standard output."""
        process = self.start(command, container, netns, ifname, **more)
        try:
            output, errors = process.communicate(process.text, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise LabError(f"{command} of {container} does not end") from None
        answer = json.loads(output) if output.strip() else None
        logger.debug(f"{command} {container} {ifname}: exit {process.returncode}, {output.strip()} {errors.strip()}")
        if process.returncode == 0 and command == "ADD":
            self.results[container, ifname] = answer
        return process.returncode, answer


class CniPod(Pod):
    """A pod whose network the plugin has made."""

    def __init__(self, lab, node, namespace):
        self.lab, self.node, self.namespace, self.addresses = lab, node, namespace, {}

    def is_told(self, result):
        *outer, inner = result["interfaces"]
        self.port, self.mac = outer[0]["name"] if outer else None, inner["mac"]
        for ip in result["ips"]:
            self.addresses.setdefault(6 if ":" in ip["address"] else 4, ip["address"].split("/")[0])
        self.address = self.addresses.get(4)


@library(scope="SUITE", auto_keywords=False)
class Cni(Beside):
    def __init__(self):
        self.agents, self.runtimes, self.containers, self.uids = {}, {}, 0, {}
        self.counting, self.cut = threading.Lock(), []

    # -- the agent of a node

    @keyword
    def start_agent(self, node, *options, words=()):
        """`options` are words of nsenter(1) beside the network namespace, `words` more of the agent's."""
        node = self.coeus.node(node)
        log = node.dir / "agent.log"
        begin = log.stat().st_size if log.exists() else 0
        with open(log, "ab") as out:
            process = subprocess.Popen(
                [
                    "nsenter", f"--net=/run/netns/{node.namespace}", *options, str(self.lab.binary()), "node", "--server", f"https://{self.lab.address}:8443",
                    "--insecure", "--socket", str(node.dir / "cni/node.sock"), "--ovsdb", f"unix:{node.dir}/db.sock",
                    "--state-dir", str(node.dir / "state"), *map(str, words),
                ],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL, env={**os.environ, "COEUS_PASSWORD": self.lab.password, "RUST_BACKTRACE": "1"},
            )
        self.agents[node.index] = process

        def is_ready():
            if process.poll() is not None:
                raise LabError(f"the agent ended with {process.returncode}: {log.read_text()[-2000:]}")
            return "ready:" in log.read_bytes()[begin:].decode()

        wait_until(f"the agent of {node.name} is ready", is_ready)

    @keyword
    def kill_agent(self, node):
        process = self.agents.pop(int(node), None)
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=10)

    @keyword
    def stop_agents(self):
        for index in list(self.agents):
            self.kill_agent(index)
            logger.info((self.coeus.node(index).dir / "agent.log").read_text()[-20000:])

    @keyword
    def agent_says(self, node):
        return (self.coeus.node(node).dir / "agent.log").read_text()

    # -- what the doctor says of a node

    @keyword
    def install_as_on_a_node(self, node, **keys):
        """Folders as runtimes have them: the plugin, and a conflist of it."""
        node = self.coeus.node(node)
        for name in ("plugins", "networks"):
            (node.dir / name).mkdir(exist_ok=True)
        plugin = node.dir / "plugins/coeus-cni"
        plugin.unlink(missing_ok=True)
        plugin.symlink_to(self.lab.binary().parent / "coeus-cni")
        plugin = {"type": "coeus-cni", "socket": str(node.dir / "cni/node.sock"), **keys}
        (node.dir / "networks/10-coeus.conflist").write_text(json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": [plugin]}))

    @keyword
    def take_away(self, node, path):
        (self.coeus.node(node).dir / path).unlink()

    @keyword
    def doctor_of_node(self, node, *options, whom="root"):
        """What `coeus doctor --node` finds: level, text and next step, by what was looked at."""
        node = self.coeus.node(node)
        account = [] if whom == "root" else ["setpriv", "--reuid", whom, "--clear-groups"]
        environment = {**os.environ, "COEUS_PASSWORD": self.lab.password}
        usual = {
            "--server": f"https://{self.lab.address}:8443", "--socket": node.dir / "cni/node.sock", "--ovsdb": f"unix:{node.dir}/db.sock",
            "--state-dir": node.dir / "state", "--cni-conf-dir": node.dir / "networks", "--cni-bin-dir": node.dir / "plugins",
        }
        usual = [word for option, value in usual.items() if option not in options for word in (option, value)]
        output = run(
            "nsenter", f"--net=/run/netns/{node.namespace}", *account, self.lab.binary(), "doctor", "--node", "--output", "json", "--insecure",
            *usual, *options, env=environment, check=False, timeout=60,
        )
        logger.info(output)
        return {one["what"]: one for one in json.loads(output)}

    @keyword
    def doctor_should_find_all_good(self, node, *options):
        found = self.doctor_of_node(node, *options)
        wrong = [one for one in found.values() if one["level"] != "ok"]
        if wrong or len(found) < 10:
            raise AssertionError(f"{wrong or found}")

    @keyword
    def doctor_should_name(self, node, what, *options, whom="root"):
        """A fault, with a next step. Returns its text."""
        found = self.doctor_of_node(node, *options, whom=whom)
        one = found.get(what, {})
        if one.get("level") != "FAULT" or not one["next"]:
            raise AssertionError(f"{what} is not named as a fault: {list(found.values())}")
        return one["text"]

    # -- networks and calls

    @keyword
    def network_is(self, node, version="1.1.0", name="pods", **keys):
        """The configuration that a node's runtime has from now on."""
        node = self.coeus.node(node)
        config = {"cniVersion": version, "name": name, "type": "coeus-cni", "socket": str(node.dir / "cni/node.sock")}
        config.update(keys)
        known = self.runtimes.get(node.index)
        self.runtimes[node.index] = Runtime(self.lab.binary().parent / "coeus-cni", config)
        if known:
            self.runtimes[node.index].results = known.results

    def runtime(self, node):
        return self.runtimes[int(node)]

    def sandbox(self):
        """A container's id and its new namespace."""
        with self.counting:
            self.containers += 1
            number = self.containers
        name = f"{self.lab.tag}k{number}"
        self.lab.add_namespace(name)
        return f"{number:064x}", name

    def args(self, namespace, name, *more):
        pairs = ["IgnoreUnknown=1"] + ([f"K8S_POD_NAMESPACE={namespace}"] if namespace else []) + [f"K8S_POD_NAME={name}", *more]
        return ";".join(pairs)

    @keyword
    def add_by_cni(self, node, name, *more, namespace="", expected=0, config=None):
        """ADD of a new container; `more` are pairs of CNI_ARGS. Returns the result, or the error that was expected."""
        return self.add(node, self.sandbox(), name, more, namespace, expected, config)

    def add(self, node, sandbox, name, more, namespace="", expected=0, config=None):
        container, netns = sandbox
        pod = CniPod(self.lab, self.coeus.node(node), netns)
        pod.container = container
        status, answer = self.runtime(node).call(
            "ADD", container, f"/run/netns/{netns}", args=self.args(namespace, name, *more), more=config
        )
        code = 0 if status == 0 else answer["code"]
        if code != int(expected):
            raise AssertionError(f"ADD of {name}: code {code} instead of {expected}: {answer}")
        if code == 0:
            pod.is_told(answer)
            pod.args = self.args(namespace, name, *more)
            self.coeus.pods[f"{namespace or 'default'}:{name}"] = pod
        else:
            self.lab.remove_namespace(netns)
        return answer

    @keyword
    def call_by_cni(self, command, pod, expected=0, netns=None, ifname="eth0", config=None):
        """CHECK, DEL or another ADD of a pod that is there."""
        known = self.coeus.pods[pod]
        netns = f"/run/netns/{known.namespace}" if netns is None else netns
        status, answer = self.runtime(known.node.index).call(command, known.container, netns, ifname, args=known.args, more=config)
        code = 0 if status == 0 else answer["code"]
        if code != int(expected):
            raise AssertionError(f"{command} of {pod}: code {code} instead of {expected}: {answer}")
        return answer

    @keyword
    def call_of_node(self, node, command, expected=0, config=None, environment=None):
        """VERSION, STATUS or anything odd; the environment's variables replace good ones (None: without)."""
        status, answer = self.runtime(node).call(
            command, "c0ffee", "/proc/self/ns/net", more=config and dict(config), environment=environment and dict(environment)
        )
        code = 0 if status == 0 else answer["code"]
        if code != int(expected):
            raise AssertionError(f"{command}: code {code} instead of {expected}: {answer}")
        return answer

    @keyword
    def odd_call(self, change, expected, named):
        """A call that is wrong in one thing: `NAME=value` of the environment, `key: JSON` of the configuration, or `stdin: text`."""
        if change.startswith("stdin:"):
            config, environment = {"raw": change[6:].strip()}, None
        elif re.match(r"[A-Z_]+=", change):
            name, value = change.split("=", 1)
            config, environment = None, {name: value}
        else:
            key, value = change.split(":", 1)
            config, environment = {key: json.loads(value)}, None
        answer = self.call_of_node(1, "ADD", expected, config, environment)
        if named not in answer["msg"]:
            raise AssertionError(f"{change}: the message does not name {named}: {answer}")

    @keyword
    def chained_call(self, command, pod, plugin, **keys):
        """A reference plugin that stands behind ours in the list: it gets the result of ADD, and its own replaces that for CHECK and DEL."""
        known = self.coeus.pods[pod]
        before = self.runtime(known.node.index)
        config = {"cniVersion": before.config["cniVersion"], "name": before.config["name"], "type": plugin, **keys}
        result = before.results[known.container, "eth0"]
        config["prevResult"] = result
        status, answer = Runtime(pathlib.Path(PLUGINS) / plugin, config).call(
            command, known.container, f"/run/netns/{known.namespace}", args=known.args
        )
        if status:
            raise AssertionError(f"{command} of {plugin} behind ours: {answer}")
        if command == "ADD":
            before.results[known.container, "eth0"] = answer
            if answer["ips"] != result["ips"]:
                raise AssertionError(f"{answer} instead of {result}")

    @keyword
    def delete_by_cni(self, pod, **more):
        self.call_by_cni("DEL", pod, **more)
        self.lab.remove_namespace(self.coeus.pods.pop(pod).namespace)

    @keyword
    def collect_by_cni(self, node, *pods, expected=0):
        """GC that knows of these pods alone."""
        valid = [{"containerID": self.coeus.pods[pod].container, "ifname": "eth0"} for pod in pods]
        status, answer = self.runtime(node).call("GC", more={"cni.dev/valid-attachments": valid})
        code = 0 if status == 0 else answer["code"]
        if code != int(expected):
            raise AssertionError(f"GC: code {code} instead of {expected}: {answer}")

    @keyword
    def folder_of_leases(self):
        """Where the reference plugin host-local keeps its leases; it goes with the laboratory."""
        return str(self.lab.dir / "leases")

    @keyword
    def plugin_that_hangs(self, node):
        """A program `hangs` on the CNI_PATH of a node, which waits for another that it starts."""
        folder = self.lab.dir / "hanging"
        folder.mkdir()
        self.plugin_does(f"sleep 1000 & echo $! >> {folder}/pids; echo $$ >> {folder}/pids; wait")
        self.runtime(node).path = f"{folder}:{PLUGINS}"

    def plugin_does(self, what):
        program = self.lab.dir / "hanging/hangs"
        program.write_text(f"#!/bin/sh\n{what}\n")
        program.chmod(0o755)

    @keyword
    def plugin_hangs_no_more(self):
        self.plugin_does("cat > /dev/null")

    @keyword
    def plugin_should_have_been_killed(self):
        """With what it has started."""
        pids = (self.lab.dir / "hanging/pids").read_text().split()
        alive = lambda: run("ps", "-o", "pid=,stat=,args=", "-p", ",".join(pids), check=False)  # noqa: E731
        come_to("nothing of the plugin runs", alive, lambda found: all(" Z" in line for line in found.splitlines()), 10)

    # -- what is there

    @keyword
    def inside_pod(self, pod, *command):
        return self.coeus.pods[pod].inside(*command)

    @keyword
    def end_namespace_of(self, pod):
        self.lab.remove_namespace(self.coeus.pods[pod].namespace)

    @keyword
    def port_of(self, pod):
        return self.coeus.pods[pod].port

    @keyword
    def container_of(self, pod):
        return self.coeus.pods[pod].container

    @keyword
    def external_id(self, pod, key):
        known = self.coeus.pods[pod]
        return known.node.vsctl("get", "interface", known.port, f"external_ids:{key}").strip().strip('"')

    @keyword
    def unplug_port_of(self, pod):
        known = self.coeus.pods[pod]
        known.node.vsctl("del-port", "br-int", known.port)

    def left(self, node):
        """What there is of pods on a node: ports, devices, records, entries of the datastore."""
        node = self.coeus.node(node)
        ports, devices = node.stale_ports(), self.devices_of_pods(node)
        if len(devices) > len(ports):
            # One that is being made ready is a device before it is a port.
            time.sleep(0.5)
            devices &= self.devices_of_pods(node)
        folder = node.dir / "state/attachments"
        records = [file.name for file in folder.iterdir() if file.suffix == ".json"] if folder.is_dir() else []
        body = self.lab.request("GET", "/restconf/config/pod:coe")[1] or {}
        pods = [pod["uid"] for pod in body.get("pod:coe", {}).get("pods", []) if pod.get("host-ip-address") == node.local_ip]
        return {"ports": ports, "devices": sorted(devices), "records": records, "entries": pods}

    def devices_of_pods(self, node):
        devices = re.findall(r"^\d+: (veth\w+)", run("ip", "-n", node.namespace, "-o", "link"), re.M)
        return set(devices) - set(node.ready_ports())

    # -- ports that are there before their pods

    @keyword
    def so_many_should_be_ready(self, node, number, timeout=20):
        """Ports with a number of the switch, and devices. Returns their names."""
        node = self.coeus.node(node)
        is_right = lambda ports: len(ports) == int(number) and all((ofport or 0) > 0 for ofport in ports.values())  # noqa: E731
        ports = come_to(f"{number} ports are ready", node.ready_ports, is_right, float(timeout))
        devices = set(re.findall(r"^\d+: (veth\w+)", run("ip", "-n", node.namespace, "-o", "link"), re.M))
        if set(ports) - devices:
            raise AssertionError(f"no device is there for {set(ports) - devices}")
        return sorted(ports)

    @keyword
    def ready_ports_should_have_no_flows(self, node):
        node = self.coeus.node(node)
        numbers, flows = node.ready_ports().values(), node.flows()
        named = [flow for flow in flows if any(re.search(rf"in_port={number}\b|output:{number}\b", flow) for number in numbers)]
        if not numbers or named:
            raise AssertionError(f"flows of ports {numbers} that are nobody's: {named}")

    @keyword
    def ready_ports_let_nothing_through(self, node, pod):
        """Sends from all that are ready: the inner ends are out of reach, so frames are given to the switch as theirs. A pod is not to hear them."""
        node, pod = self.coeus.node(node), self.coeus.pods[pod]
        heard = lambda: int(pod.inside("cat", "/sys/class/net/eth0/statistics/rx_packets"))  # noqa: E731
        before = heard()
        frame = "ffffffffffff0a00000000010806" + "0001080006040001" + "0a0000000001" + "0a0b0163" + "000000000000" + "0a0b0101"
        for number in node.ready_ports().values():
            node.ofctl("packet-out", "br-int", f"in_port={number} packet={frame} actions=resubmit({number},0)")
        time.sleep(0.3)
        if heard() != before:
            raise AssertionError("a port that is nobody's is heard")

    @keyword
    def end_device(self, node, name):
        run("ip", "-n", self.coeus.node(node).namespace, "link", "delete", name)

    @keyword
    def end_port(self, node, name):
        self.coeus.node(node).vsctl("del-port", "br-int", name)

    @keyword
    def mtus_of(self, pod):
        """Of the end outside and the one inside."""
        known = self.coeus.pods[pod]
        outside = run("ip", "-n", known.node.namespace, "-o", "link", "show", known.port)
        inside = known.inside("ip", "-o", "link", "show", "eth0")
        return [int(re.search(r"mtu (\d+)", text)[1]) for text in (outside, inside)]

    @keyword
    def nothing_should_be_left(self, node, timeout=0):
        last = {}

        def is_clean():
            last.update(self.left(node))
            return not any(last.values())

        try:
            wait_until("nothing is left", is_clean, float(timeout), 0.2)
        except LabError:
            raise AssertionError(f"left on node {node}: {last}") from None

    @keyword
    def so_many_are_there(self, node, number):
        found = {kind: len(things) for kind, things in self.left(node).items()}
        if set(found.values()) != {int(number)}:
            raise AssertionError(f"{number} pods should be there, and there are {found}")

    # -- many at once, and ends at any moment

    @keyword
    def add_many(self, node, number, at_once=None):
        """Returns the time of the slowest ADD. All must succeed, and no two may share an address, a device or a MAC address."""
        sandboxes = [self.sandbox() for _ in range(int(number))]

        def add(place):
            container, netns = sandboxes[place]
            began = time.monotonic()
            status, answer = self.runtime(node).call("ADD", container, f"/run/netns/{netns}", args=self.args("", f"many{place}"))
            return status, answer, time.monotonic() - began

        with concurrent.futures.ThreadPoolExecutor(int(at_once or number)) as pool:
            done = list(pool.map(add, range(int(number))))
        failed = [answer for status, answer, _ in done if status]
        if failed:
            raise AssertionError(f"{len(failed)} of {number} failed; one: {failed[0]}")
        for what, of in (
            ("address", lambda answer: answer["ips"][0]["address"]), ("device", lambda answer: answer["interfaces"][0]["name"]),
            ("MAC address", lambda answer: answer["interfaces"][1]["mac"]),
        ):
            if len({of(answer) for _, answer, _ in done}) != int(number):
                raise AssertionError(f"two share a {what}")
        for place, (container, netns) in enumerate(sandboxes):
            pod = CniPod(self.lab, self.coeus.node(node), netns)
            pod.container, pod.args = container, self.args("", f"many{place}")
            pod.is_told(done[place][1])
            self.coeus.pods[f"default:many{place}"] = pod
        times = sorted(spent for _, _, spent in done)
        logger.info(f"{number} ADDs, {at_once or number} at once: median {times[len(times) // 2]:.3f} s, slowest {times[-1]:.3f} s", also_console=True)
        return times[-1]

    @keyword
    def each_of_many_should_answer(self, number, at_once=8):
        """Each is asked by the one before it, and the first by the last."""
        pods = [self.coeus.pods[f"default:many{place}"] for place in range(int(number))]
        with concurrent.futures.ThreadPoolExecutor(int(at_once)) as pool:
            answered = list(pool.map(lambda pair: pair[0].reaches(pair[1].address), zip(pods[-1:] + pods, pods)))
        silent = [pod.address for pod, answers in zip(pods, answered) if not answers]
        if silent:
            raise AssertionError(f"{len(silent)} of {number} do not answer: {silent[:5]}")

    @keyword
    def delete_many(self, number, at_once=None):
        pods = [f"default:many{place}" for place in range(int(number))]
        with concurrent.futures.ThreadPoolExecutor(int(at_once or number)) as pool:
            list(pool.map(lambda pod: self.call_by_cni("DEL", pod), pods))
        for pod in pods:
            self.lab.remove_namespace(self.coeus.pods.pop(pod).namespace)

    @keyword
    def begin_many(self, node, number):
        """So many ADDs at once, of which nobody waits for the end; a moment of them passes."""
        self.begun = []
        for place in range(int(number)):
            container, netns = self.sandbox()
            self.cut.append(netns)
            process = self.runtime(node).start("ADD", container, f"/run/netns/{netns}", args=self.args("", f"begun{place}"))
            process.stdin.write(process.text)
            process.stdin.close()
            self.begun.append(process)
        time.sleep(random.uniform(0.05, 0.5))

    @keyword
    def end_many(self):
        for process in self.begun:
            process.wait(timeout=PATIENCE)
            process.stdout.close()
            process.stderr.close()
        self.forget_the_cut()

    @keyword
    def lose_records(self, node):
        for file in (self.coeus.node(node).dir / "state/attachments").iterdir():
            file.unlink()

    @keyword
    def ports_and_devices_should_be_gone(self, node):
        left = self.left(node)
        if left["ports"] or left["devices"]:
            raise AssertionError(f"left on node {node}: {left}")

    @keyword
    def forget_entries(self):
        """Of pods whose records are lost: nobody else knows of them."""
        status, answer = self.lab.request("DELETE", "/restconf/config/pod:coe")
        if status not in (200, 204):
            raise AssertionError(f"{status}: {answer}")

    @keyword
    def end_in_the_middle(self, node, whom, rounds, seed=None, words=()):
        """Ends the agent or the plugin with SIGKILL at random moments of ADD, DEL and GC, as long as these usually take. COEUS_SEED, which is printed,
        draws the same calls and moments again. Returns how many calls were cut, and after how many of them something was left."""
        seed = int(seed or os.environ.get("COEUS_SEED") or random.SystemRandom().randrange(1 << 32))
        logger.info(f"{whom}: COEUS_SEED={seed}", also_console=True)
        draw, begun, cut = random.Random(seed), 0, 0
        usual = self.time_of_calls(node)
        added = []
        for number in range(int(rounds)):
            command, moment = draw.choice(["ADD", "ADD", "ADD", "DEL", "DEL", "GC"]), draw.uniform(0, 1.2)
            if command != "ADD" and not added:
                added.append(self.add_to_be_cut(node, f"whole{number}"))
            container, netns, args = added.pop() if command == "DEL" else (*self.sandbox(), self.args("", f"cut{number}"))
            self.cut.append(netns)
            more = {"cni.dev/valid-attachments": []} if command == "GC" else None
            process = self.runtime(node).start(command, container, f"/run/netns/{netns}", args=args, more=more)
            process.stdin.write(process.text)
            process.stdin.close()
            time.sleep(moment * usual[command])
            if whom == "agent":
                self.kill_agent(node)
            else:
                process.kill()
            cut += process.wait(timeout=PATIENCE) != 0
            process.stdout.close()
            process.stderr.close()
            if command == "GC":
                added.clear()
            if whom == "agent":
                begun += any(self.left(node).values())
                self.start_agent(node, words=words)
        return cut, begun

    def add_to_be_cut(self, node, name):
        container, netns = self.sandbox()
        self.cut.append(netns)
        status, answer = self.runtime(node).call("ADD", container, f"/run/netns/{netns}", args=self.args("", name))
        if status:
            raise AssertionError(f"ADD of {name}: {answer}")
        return container, netns, self.args("", name)

    def time_of_calls(self, node):
        """Seconds that a call usually takes, by its name."""
        took = {}
        container, netns = self.sandbox()
        for command in ("ADD", "DEL", "GC"):
            began = time.monotonic()
            more = {"cni.dev/valid-attachments": []} if command == "GC" else None
            self.runtime(node).call(command, container, f"/run/netns/{netns}", args=self.args("", "usual"), more=more)
            took[command] = time.monotonic() - began
        self.lab.remove_namespace(netns)
        return took

    @keyword
    def forget_the_cut(self):
        for netns in self.cut:
            self.lab.remove_namespace(netns)
        self.cut = []

    # -- a kubelet

    @keyword
    def kubelet_runs(self, namespace, name, node, host_port=None, annotations=None, config=None, **labels):
        """A pod that was given to a node: its sandbox, ADD, and its address in the status, in this order. Again: another sandbox.

        `config`: what the runtime tells the plugin of the port and the annotations.
        """
        api = BuiltIn().get_library_instance("Kube").api
        port = {"name": "web", "containerPort": 8080, **({"hostPort": int(host_port)} if host_port else {})}
        spec = {"nodeName": f"node{node}", "containers": [{"name": "c", "ports": [port]}]}
        known = self.coeus.pods.get(f"{namespace}:{name}")
        metadata = {"labels": labels, **({"annotations": dict(annotations)} if annotations else {})}
        if known is None:
            self.uids[namespace, name] = api.put("Pod", name, namespace, metadata=metadata, spec=spec, status={"phase": "Pending"})
        sandbox = self.sandbox()
        more = f"K8S_POD_INFRA_CONTAINER_ID={sandbox[0]}", f"K8S_POD_UID={self.uids[namespace, name]}"
        result = self.add(node, sandbox, name, more, namespace, config=config)
        ips = [{"ip": ip["address"].split("/")[0]} for ip in result["ips"]]
        status = {"phase": "Running", "podIP": ips[0]["ip"], "podIPs": ips}
        api.put("Pod", name, namespace, metadata=metadata, spec=spec, status=status)
        return ips[0]["ip"]

    @keyword
    def kubelet_ends(self, namespace, name):
        self.delete_by_cni(f"{namespace}:{name}")
        BuiltIn().get_library_instance("Kube").api.delete("Pod", name, namespace)

    @keyword
    def kubelet_runs_many(self, namespace, prefix, node, number, at_once=8, **labels):
        """Pods of a node, so many at once, as a kubelet that was given them together. Returns their addresses."""
        with concurrent.futures.ThreadPoolExecutor(int(at_once)) as pool:
            return list(pool.map(lambda place: self.kubelet_runs(namespace, f"{prefix}{place}", node, **labels), range(int(number))))

    @keyword
    def kubelet_ends_many(self, namespace, prefix, number, at_once=8):
        with concurrent.futures.ThreadPoolExecutor(int(at_once)) as pool:
            list(pool.map(lambda place: self.kubelet_ends(namespace, f"{prefix}{place}"), range(int(number))))

    # -- a runtime of others

    @keyword
    def start_podman(self, node):
        """Podman on a node: in a mount namespace of its own, in which the agent starts again, since that is where Podman makes namespaces."""
        node = self.coeus.node(node)
        home = self.lab.dir / "podman"
        (home / "net.d").mkdir(parents=True)
        places = "/run/netns /var/lib/cni /run/containers /run/runc /etc/cni"
        script = f"mount --make-rprivate / && for d in {places}; do mkdir -p $d && mount -t tmpfs tmpfs $d; done && mount --make-shared /run/netns && exec sleep infinity"
        self.holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdin=subprocess.DEVNULL)
        wait_until("the mount namespace is made", lambda: "sleep" in (run("ps", "-o", "comm=", "-p", self.holder.pid, check=False)))
        self.mounts = f"--mount=/proc/{self.holder.pid}/ns/mnt"
        self.kill_agent(node.index)
        self.start_agent(node.index, self.mounts)
        plugins = [str(self.lab.binary().parent), PLUGINS]
        (home / "containers.conf").write_text(
            f"""[network]\nnetwork_backend="cni"\ncni_plugin_dirs={json.dumps(plugins)}\nnetwork_config_dir="{home}/net.d"\n"""
            """[engine]\nevents_logger="file"\ncgroup_manager="cgroupfs"\nruntime="runc"\n"""
            """[containers]\nlog_driver="k8s-file"\nseccomp_profile="unconfined"\napparmor_profile=""\n"""
            """default_ulimits=["nofile=4096:4096","nproc=4096:4096"]\n"""
        )
        (home / "storage.conf").write_text(f"""[storage]\ndriver="vfs"\ngraphroot="{home}/root"\nrunroot="{home}/run"\n""")
        (home / "policy.json").write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        plugin = {"type": "coeus-cni", "socket": str(node.dir / "cni/node.sock"), "capabilities": {"ips": True, "mac": True, "portMappings": True, "bandwidth": True}}
        (home / "net.d/10-coeus.conflist").write_text(json.dumps({"cniVersion": "1.0.0", "name": "coeus", "plugins": [plugin]}))
        binaries = home / "image/bin"
        binaries.mkdir(parents=True)
        shutil.copy("/bin/busybox", binaries / "busybox")
        for name in ("sh", "ip", "ping", "sleep", "nc", "cat"):
            (binaries / name).symlink_to("busybox")
        run("tar", "-C", home / "image", "-cf", home / "image.tar", ".")
        self.podman_node = node
        self.podman("import", "--signature-policy", home / "policy.json", home / "image.tar", "bb:1")

    @keyword
    def podman(self, *words, check=True):
        home, node = self.lab.dir / "podman", self.podman_node
        environment = {**os.environ, "CONTAINERS_CONF": str(home / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(home / "storage.conf")}
        return run(
            "nsenter", f"--net=/run/netns/{node.namespace}", self.mounts, "podman", "--cgroup-manager", "cgroupfs",
            "--network-config-dir", home / "net.d", *words, timeout=90, env=environment, check=check,
        )

    @keyword
    def stop_podman(self):
        self.podman("rm", "--all", "--force", "--time", "0", check=False)
        self.kill_agent(self.podman_node.index)
        self.holder.kill()
        self.holder.wait(timeout=10)
        for folder in sorted(pathlib.Path("/sys/fs/cgroup").glob("*/libpod_parent/**/"), reverse=True):
            folder.rmdir()
        self.start_agent(self.podman_node.index)
