"""Robot keywords for what policies count and log: packets that are sent are compared with numbers that are read."""

import contextlib
import re
import socket
import time

from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

import carry
from beside import Beside
from lab import come_to, wait_until

COUNTERS = "/rests/data/coeus-policy:counters"
DROP_LOG = "/rests/data/coeus-policy:drop-log"
#: Bytes of a datagram's frame besides what it says: Ethernet, IPv4 and UDP headers.
HEADERS = 14 + 20 + 8
#: Seconds until a number that was read is read anew, and until a switch has heard from its datapath.
PATIENCE = 30


@library(scope="SUITE", auto_keywords=False)
class PolicyCounts(Beside):
    def __init__(self):
        self.before = {}

    @property
    def policies(self):
        return BuiltIn().get_library_instance("Policies")

    def read(self, path, key):
        answer = self.lab.request("GET", path)
        if answer[0] != 200:
            raise AssertionError(f"GET {path}: {answer}")
        return answer[1].get(key, {})

    def counters(self):
        return self.read(COUNTERS, "coeus-policy:counters")

    def rule(self, path):
        """What a rule has; nothing while a reading is shown that does not know it yet."""
        found = [rule for rule in self.counters().get("rule", []) if rule["path"] == path]
        return found[0] if found else {"packets": -1, "bytes": -1}

    @keyword
    def rule_path(self, policy, direction, number):
        """Where a rule of a policy is configured."""
        uuid = self.coeus.pod_uid("policy " + policy)
        return f"k8s:k8s/network-policies/network-policy={uuid}/network-policy-spec/{direction}={number}"

    @keyword
    def datagrams_are_sent(self, one, other, port, count, size=100):
        """So many datagrams of one connection, whether they come or not; answers are left alone."""
        source, target = self.coeus.pods[one], self.coeus.pods[other]
        with carry.endpoint(source.namespace, source.address, socket.SOCK_DGRAM, 0.2) as sender:
            sender.connect((target.address, int(port)))
            for _ in range(int(count)):
                with contextlib.suppress(OSError):
                    sender.send(bytes(int(size)))
                time.sleep(0.002)

    @keyword
    def rule_should_count(self, path, packets, octets=None):
        """The rule's number comes to this, and stays there."""
        rule = come_to(f"{packets} packets of {path}", lambda: self.rule(path), lambda rule: int(rule["packets"]) == int(packets))
        if octets is not None and int(rule["bytes"]) != int(octets):
            raise AssertionError(f"{octets} bytes are {rule}")

    @keyword
    def rule_should_not_be_counted(self, path):
        wait_until(f"{path} is gone", lambda: path not in [rule["path"] for rule in self.counters().get("rule", [])], PATIENCE, 0.3)

    def dropped(self, interface, direction):
        found = [one for one in self.counters().get("interface", []) if (one["name"], one["direction"]) == (interface, direction)]
        return found[0] if found else {}

    @keyword
    def interface_should_have_dropped(self, interface, direction, packets, *policies):
        """The number comes to this, under the policies that select the interface."""
        dropped = come_to(
            f"{packets} packets dropped at {interface}", lambda: self.dropped(interface, direction),
            lambda dropped: int(dropped.get("dropped-packets", 0)) == int(packets),
        )
        wanted = sorted(self.coeus.pod_uid("policy " + policy) for policy in policies)
        if wanted and sorted(dropped["policy"]) != wanted:
            raise AssertionError(f"{wanted} are not {dropped}")

    @keyword
    def policy_should_have_dropped(self, policy, direction, packets):
        uuid = self.coeus.pod_uid("policy " + policy)
        found = [one for one in self.counters()["policy"] if (one["id"], one["direction"]) == (uuid, direction)]
        if not found or int(found[0]["dropped-packets"]) != int(packets):
            raise AssertionError(f"{packets} packets dropped by {policy} are {found}")

    @keyword
    def numbers_are_remembered(self):
        """What all rules and interfaces have now, once it moves no more."""
        last = []

        def settled():
            last.append(self.numbers())
            return len(last) > 4 and last[-1] == last[-4]

        wait_until("counters have settled", settled, 30, 1)
        self.before = last[-1]

    def numbers(self):
        found = self.counters()
        numbers = {rule["path"]: int(rule["packets"]) for rule in found.get("rule", [])}
        numbers.update({(one["name"], one["direction"]): int(one["dropped-packets"]) for one in found.get("interface", [])})
        return numbers

    @keyword
    def numbers_should_be_as_before(self):
        now = self.numbers()
        if now != self.before:
            raise AssertionError(f"{self.before} are now {now}")

    @keyword
    def no_number_should_have_gone_back(self):
        now = self.numbers()
        less = {name: (packets, now.get(name)) for name, packets in self.before.items() if now.get(name, 0) < packets}
        if less:
            raise AssertionError(f"before and now: {less}")

    @keyword
    def switch_should_be_silent(self, node, silent="yes"):
        dpid = self.lab.nodes[int(node) - 1].dpid()
        wanted = silent == "yes"
        said = lambda: any(one.replace(":", "").endswith(dpid[-12:]) for one in self.counters().get("silent-switch", []))  # noqa: E731
        wait_until(f"the switch of node {node} is {'silent' if wanted else 'heard'}", lambda: said() == wanted, 30, 0.5)

    @keyword
    def nothing_should_have_been_sent(self):
        """Since the controller began, no switch was told anything."""
        for node in self.lab.nodes:
            status = self.lab.switch_status(node)
            sent = {kind: int(status[kind]) for kind in ("flow-mods", "group-mods", "meter-mods")}
            if any(sent.values()):
                raise AssertionError(f"{node.name} was sent {sent}")

    # -- the log of drops

    @keyword
    def log_drops_of_namespace(self, name, logged):
        body = {"coeus-policy:namespace": [{"name": name, "log-drops": logged == "yes"}]}
        self.policies.change("PUT", f"/rests/data/coeus-policy:namespaces/namespace={name}", body)

    @keyword
    def log_drops_of_policy(self, name, logged):
        path = f"{self.policies.policy_path(name)}/coeus-policy:log-drops"
        self.policies.change("PUT", path, {"coeus-policy:log-drops": logged == "yes"})

    def drop_log(self):
        return self.read(DROP_LOG, "coeus-policy:drop-log")

    @keyword
    def drop_log_should_have(self, count):
        """So many packets since the controller began."""
        come_to(f"{count} drops are logged", self.drop_log, lambda log: int(log.get("logged", 0)) == int(count))

    @keyword
    def last_drop_should_be(self, interface, direction, reason, one, other, protocol, port, *policies):
        """The last packet of drop-log, and the last line of the log that tells of a drop."""
        source, target = self.coeus.pods[one].address, self.coeus.pods[other].address
        wanted = {
            "interface": interface, "direction": direction, "reason": reason, "source": source, "destination": target,
            "protocol": protocol, "policy": [self.coeus.pod_uid("policy " + policy) for policy in policies],
        }

        def is_right(told):
            ports = (int(port) in (told.get("destination-port"), told.get("source-port"))) if int(port) else True
            return ports and all(told.get(name) == value for name, value in wanted.items())

        come_to(f"the last drop is {wanted}", lambda: (self.drop_log().get("packet") or [{}])[-1], is_right)
        lines = [line for line in self.lab.log().splitlines() if "a policy stopped a packet" in line]
        for part in (f"interface={interface}", f"direction={direction}", f"reason={reason}", f"source={source}", f"destination={target}"):
            if not lines or part not in lines[-1]:
                raise AssertionError(f"{part} is not in {lines[-1:]}")

    @keyword
    def drop_log_should_tell(self, reason):
        """Among the last packets one was stopped for this reason."""
        wait_until(f"a drop is logged as {reason}", lambda: any(one["reason"] == reason for one in self.drop_log().get("packet", [])), PATIENCE, 0.3)

    @keyword
    def drops_should_be_logged_or_suppressed(self, one, other, port, count, at_most):
        """Of so many datagrams few are logged, and the meter kept back the others: together as many as are counted as dropped."""
        def read():
            log, interfaces = self.drop_log(), self.counters().get("interface", [])
            return [int(log.get("logged", 0)), int(log.get("suppressed", 0)), sum(int(one["dropped-packets"]) for one in interfaces)]

        time.sleep(4)
        before = read()
        self.datagrams_are_sent(one, other, port, count)
        more = come_to(
            f"{count} drops are logged or suppressed", lambda: [now - was for now, was in zip(read(), before)],
            lambda more: more[2] >= int(count) and more[0] + more[1] == more[2], pause=0.5,
        )
        if not 0 < more[0] <= int(at_most):
            raise AssertionError(f"{more} are logged, suppressed and dropped")

    @keyword
    def metrics_should_say(self, pattern):
        status, text = self.lab.request("GET", "/metrics")[:2]
        if status != 200 or not re.search(pattern, str(text)):
            raise AssertionError(f"{pattern} is not in {status} {str(text)[:2000]}")

    # -- answers that come when a policy does

    @keyword
    def answer_that_crosses_a_policy_opens_nothing(self, server, client, name, spec, port=53):
        """What the server sends right behind its first policy is tracked as a beginning. The client goes on for a moment, and no longer."""
        source, target = self.coeus.pods[server], self.coeus.pods[client]
        asking = carry.endpoint(target.namespace, target.address, socket.SOCK_DGRAM, 1)
        answering = carry.inside(source.namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        answering.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        answering.settimeout(1)
        answering.bind((source.address, int(port)))

        def passes():
            asking.sendto(b"asked", (source.address, int(port)))
            try:
                return answering.recv(100) == b"asked"
            except OSError:
                return False

        with asking, answering:
            if not passes():
                raise AssertionError(f"nothing comes from {client} to {server} before there is a policy")
            self.policies.put_policy(name, spec)
            answering.sendto(b"answered", asking.getsockname())
            asking.recv(100)
            opened = passes()
            wait_until(f"{client} is stopped", lambda: not passes(), 20, 0.2)
            if passes():
                raise AssertionError(f"{client} passes again")
        return opened
