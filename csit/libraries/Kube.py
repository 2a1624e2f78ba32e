"""Robot keywords for a cluster whose API server is played, and the watcher that keeps the datastore true to it."""

import json
import os
import random
import signal
import subprocess
import urllib.error
import urllib.request

import yaml
from robot.api.deco import keyword, library

import kube_api
import lab
from beside import Beside
from lab import come_to

CLUSTER = "00000000-0000-0000-0000-000000000001"
#: Where entries of a cluster stand: container, list, and the leaf that says whose they are.
LISTS = [
    ("pod:coe", "pods", "cluster-id"), ("service:service-information", "services", "cluster-id"),
    ("service:endpoints-info", "endpoints", "cluster-id"), ("k8s-node:k8s-nodes-info", "k8s-nodes", "cluster-id"),
    ("coeus-policy:namespaces", "namespace", "coeus-kube:cluster-id"), ("k8s:k8s/network-policies", "network-policy", "coeus-kube:cluster-id"),
]
PATIENCE = 40


@library(scope="SUITE", auto_keywords=False)
class Kube(Beside):
    def __init__(self):
        self.api, self.watchers = None, {}

    # -- the cluster and its watcher

    @keyword
    def start_cluster(self):
        self.api = kube_api.KubeApi()

    def config_of(self, port):
        return {
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab", "namespace": "coeus"}}], "users": [{"name": "lab", "user": {}}],
        }

    def file(self, name, config):
        path = self.lab.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(config))
        return str(path)

    @keyword
    def kubeconfig(self):
        """A file that leads to the cluster."""
        return self.file("kubeconfig", self.config_of(self.api.port))

    @keyword
    def kubeconfig_in_two_files(self):
        """As KUBECONFIG names them, with one between them that is not there."""
        whole, nowhere = self.config_of(self.api.port), self.config_of(1)
        first = self.file("first", {key: whole[key] for key in ("apiVersion", "kind", "clusters")})
        return f"{first}:{self.lab.dir}/none:{self.file('second', nowhere)}"

    @keyword
    def home(self):
        """A folder with a file that leads to the cluster."""
        return self.file("home/.kube/config", self.config_of(self.api.port)).removesuffix("/.kube/config")

    @keyword
    def home_that_leads_nowhere(self):
        return self.file("nowhere/.kube/config", self.config_of(1)).removesuffix("/.kube/config")

    def run_watcher(self, name, options, variables, before=()):
        """Without anything that would lead to a cluster but what `variables` say (`NAME=value`)."""
        own = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "HOME") and not name.startswith("KUBERNETES_")}
        own.update({"COEUS_PASSWORD": self.lab.password, **dict(one.split("=", 1) for one in variables)})
        with open(self.lab.dir / f"{name}.log", "ab") as log:
            self.watchers[name] = subprocess.Popen(
                [*before, str(self.lab.binary()), "watch", "--kube", "--server", "http://127.0.0.1:8181", *map(str, options)],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=own,
            )
        return self.watchers[name]

    @keyword
    def start_watcher(self, *options, name="watch"):
        self.run_watcher(name, ["--kubeconfig", self.kubeconfig(), *options], ())

    @keyword
    def start_watcher_by(self, *variables):
        self.run_watcher("watch", (), variables)

    @keyword
    def start_watcher_in_a_pod(self, *variables):
        """With the token of an account where pods have it, and the API server by TLS."""
        account = self.lab.dir / "account"
        account.mkdir(exist_ok=True)
        (account / "token").write_text("of-the-account")
        (account / "namespace").write_text("coeus")
        port = self.api.serve_tls(account)
        place = "/var/run/secrets/kubernetes.io/serviceaccount"
        mounts = f"mount -t tmpfs tmpfs /var/run; mkdir -p {place}; mount --bind {account} {place}; exec \"$@\""
        in_pod = ("KUBERNETES_SERVICE_HOST=127.0.0.1", f"KUBERNETES_SERVICE_PORT={port}")
        self.run_watcher("watch", (), (*in_pod, *variables), ("unshare", "--mount", "sh", "-ec", f"mount --make-rprivate /; {mounts}", "sh"))

    @keyword
    def tokens_should_have_been_shown(self, *tokens):
        assert self.api.shown == {f"Bearer {token}" for token in tokens}, self.api.shown

    @keyword
    def watcher_should_refuse(self, variable, named):
        """It ends at once, and names that."""
        before = len(self.log("refused"))
        code = self.run_watcher("refused", (), (variable,)).wait(timeout=10)
        said = self.log("refused")[before:]
        assert code != 0 and named in said, f"exit {code}: {said}"

    @keyword
    def stop_watcher(self, name="watch", how="KILL"):
        """Ends a watcher; its exit code."""
        watcher = self.watchers.pop(name, None)
        if watcher is None:
            return None
        watcher.send_signal(signal.Signals[f"SIG{how}"])
        return watcher.wait(timeout=10)

    @keyword
    def signal_watcher(self, name, what):
        """`STOP`: it sleeps; `CONT`: it wakes."""
        self.watchers[name].send_signal(signal.Signals[f"SIG{what}"])

    @keyword
    def stop_cluster(self):
        for name in list(self.watchers):
            self.stop_watcher(name)
        if self.api is not None:
            self.api.close()
            self.api = None

    # -- objects

    @keyword
    def node_joins(self, node, pod_cidr=None):
        host = self.coeus.node(node).local_ip
        spec = {"podCIDR": pod_cidr, "podCIDRs": [pod_cidr]} if pod_cidr else {}
        self.api.put("Node", f"node{node}", spec=spec, status={"addresses": [{"type": "InternalIP", "address": host}]})

    @keyword
    def namespace_is(self, name, **labels):
        self.api.put("Namespace", name, metadata={"labels": labels})

    @keyword
    def namespace_is_isolated(self, name, *is_isolated):
        """By the annotation of Kubernetes 1.2 to 1.6, which Kuryr's users write; with `no` it is taken away."""
        deny = {"net.beta.kubernetes.io/network-policy": '{"ingress": {"isolation": "DefaultDeny"}}'}
        self.api.put("Namespace", name, metadata={"labels": {}, "annotations": {} if "no" in is_isolated else deny})

    @keyword
    def pod_runs(self, namespace, name, node, address, **more):
        """`app=…` labels it; `phase=…`; `hostNetwork=true`."""
        spec = {"nodeName": f"node{node}", "containers": [{"name": "c", "ports": [{"name": "web", "containerPort": 8080}]}]}
        if more.get("hostNetwork"):
            spec["hostNetwork"] = True
        labels = {"app": more["app"]} if "app" in more else {}
        status = {"phase": more.get("phase", "Running"), "podIP": address, "podIPs": [{"ip": address}]}
        return self.api.put("Pod", name, namespace, metadata={"labels": labels}, spec=spec, status=status)

    @keyword
    def pod_goes(self, namespace, name):
        self.api.delete("Pod", name, namespace)

    @keyword
    def service_is(self, namespace, name, address, port, target, external=None, ingress=None):
        """`external`: one of its `externalIPs`; `ingress`: the address that a load balancer gave it."""
        ports = [{"name": "web", "port": int(port), "targetPort": int(target), "protocol": "TCP"}]
        spec = {"clusterIP": address, "clusterIPs": [address], "ports": ports, "type": "LoadBalancer" if ingress else "ClusterIP"}
        if external:
            spec["externalIPs"] = [external]
        self.api.put("Service", name, namespace, spec=spec, status={"loadBalancer": {"ingress": [{"ip": ingress}]} if ingress else {}})

    @keyword
    def service_goes(self, namespace, name):
        self.api.delete("Service", name, namespace)
        self.slice_goes(namespace, name)

    @keyword
    def service_has(self, namespace, name, port, *addresses):
        endpoints = [{"addresses": [address], "conditions": {"ready": True}} for address in addresses]
        self.api.put(
            "EndpointSlice", f"{name}-1", namespace, metadata={"labels": {"kubernetes.io/service-name": name}}, addressType="IPv4",
            endpoints=endpoints, ports=[{"name": "web", "port": int(port), "protocol": "TCP"}],
        )

    @keyword
    def only_app_may_reach(self, namespace, selected, allowed):
        spec = {
            "podSelector": {"matchLabels": {"app": selected}}, "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": allowed}}}]}],
        }
        self.api.put("NetworkPolicy", f"to-{selected}", namespace, spec=spec)

    @keyword
    def policy_goes(self, namespace, selected):
        self.api.delete("NetworkPolicy", f"to-{selected}", namespace)

    @keyword
    def pod_waits(self, namespace, name, node, **labels):
        """It was given to a node and has no address yet."""
        spec = {"nodeName": f"node{node}", "containers": [{"name": "c"}]}
        return self.api.put("Pod", name, namespace, metadata={"labels": labels}, spec=spec, status={"phase": "Pending"})

    @keyword
    def old_endpoints_are(self, namespace, name, *subsets):
        """An `Endpoints` object, each subset `address:port`."""
        parts = [subset.rsplit(":", 1) for subset in subsets]
        subsets = [{"addresses": [{"ip": address}], "ports": [{"name": "web", "port": int(port)}]} for address, port in parts]
        self.api.put("Endpoints", name, namespace, subsets=subsets)

    @keyword
    def node_writes_address(self, uid, address):
        """As a node's agent does once it has made the pod's port."""
        body = {"pod:pods": [{"uid": uid, "interface": [{"uid": uid, "ip-address": address}]}]}
        status, answer = self.lab.request("PATCH", f"/rests/data/pod:coe/pods={uid}", body)
        assert status in (200, 204), f"{status}: {answer}"

    @keyword
    def make_account_of_the_guide(self, name):
        """A user of the group `cluster`, and the rules for it that docs/guide/kubernetes.md says."""
        self.make_account(name, "cluster")
        guide = (lab.ROOT / "docs/guide/kubernetes.md").read_text(encoding="utf-8")
        rules = guide.split("PUT /rests/data/ietf-netconf-acm:nacm\n")[1].split("```")[0]
        status, answer = self.lab.request("PUT", "/rests/data/ietf-netconf-acm:nacm", json.loads(rules))
        assert status in (201, 204), f"{status}: {answer}"

    @keyword
    def make_account(self, name, *groups):
        """With the laboratory's password."""
        command = [str(self.lab.binary()), "user", "--data-dir", str(self.lab.dir / "data"), "add", name, *(word for group in groups for word in ("--groups", group))]
        subprocess.run(command, input=self.lab.password + "\n", text=True, check=True, capture_output=True, timeout=30)

    @keyword
    def records_should_name(self, user):
        """The audit file says that this user wrote."""
        records = (self.lab.dir / "data/audit.jsonl").read_text(encoding="utf-8").splitlines()
        assert any(json.loads(record).get("user") == user for record in records), records[-3:]

    @keyword
    def slice_goes(self, namespace, name):
        self.api.delete("EndpointSlice", f"{name}-1", namespace)

    @keyword
    def apply_manifest(self, name):
        """As `kubectl apply` would: every document of a file, and pods as a scheduler and a kubelet leave them."""
        path = lab.ROOT / "csit/manifests" / name
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            meta = document.pop("metadata")
            kind = document.pop("kind")
            del document["apiVersion"]
            if kind == "Pod":
                document["status"] = {"phase": "Pending"}
            namespace = meta.pop("namespace", None)
            self.api.put(kind, meta.pop("name"), namespace, metadata={"labels": {}, **meta}, **document)

    @keyword
    def roles_are_what_was_asked_for(self):
        """The roles that are deployed permit what the watchers asked for in this suite, and nothing else."""
        rules = []
        for document in yaml.safe_load_all((lab.ROOT / "deploy/kubernetes/coeus.yaml").read_text(encoding="utf-8")):
            rules += document["rules"] if document["kind"] in ("Role", "ClusterRole") else []
        permitted = {(group, resource, verb) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}
        asked = self.api.asked
        assert permitted == asked, f"not permitted: {sorted(asked - permitted)}; not asked for: {sorted(permitted - asked)}"

    # -- what the cluster is told

    def pod(self, namespace, name):
        return self.api.objects["Pod"][namespace, name]

    @keyword
    def pod_should_be_given(self, namespace, name, *addresses, mtu=None):
        """Its annotation says so, and the datastore holds them."""
        def given():
            return json.loads(self.pod(namespace, name)["metadata"].get("annotations", {}).get("coeus.io/network", "{}"))

        found = come_to(f"{namespace}/{name} is given {addresses}", given, lambda one: one.get("addresses") == list(addresses), PATIENCE, 0.1)
        uid = self.pod(namespace, name)["metadata"]["uid"]
        assert found["port-id"] == uid and found["mac-address"] and found["gateway"], found
        assert mtu is None or found["mtu"] == int(mtu), found
        entry = self.held()["pods", uid]
        first, *others = [address.split("/")[0] for address in addresses]
        port = entry["interface"][0]
        assert (port["ip-address"], port.get("coeus-pod:secondary-ip-address", [])) == (first, others), entry
        assert entry["port-mac-address"] == found["mac-address"], entry
        return found

    @keyword
    def plug_pod_as_annotated(self, name, namespace, node):
        """Does the CNI's part with what the annotation says."""
        given = json.loads(self.pod(namespace, name)["metadata"]["annotations"]["coeus.io/network"])
        self.coeus.pods[f"{namespace}:{name}"] = self.lab.add_pod(
            self.coeus.node(node), f"{namespace}:{name}", given["mac-address"], given["addresses"][0], given["gateway"]
        )

    @keyword
    def network_should_become(self, namespace, name, status, reason):
        def condition():
            conditions = self.pod(namespace, name).get("status", {}).get("conditions", [])
            return next(({key: one.get(key) for key in ("status", "reason", "message")} for one in conditions if one["type"] == "coeus.io/NetworkReady"), {})

        come_to(
            f"{namespace}/{name} says {status}, {reason}", condition,
            lambda one: (one.get("status"), one.get("reason")) == (status, reason), PATIENCE, 0.2,
        )

    @keyword
    def condition_was_not_written(self, namespace, name):
        types = [one["type"] for one in self.pod(namespace, name).get("status", {}).get("conditions", [])]
        assert "coeus.io/NetworkReady" not in types, types

    @keyword
    def events_of(self, name, reason):
        """How many there are."""
        events = [one for one in self.api.objects["Event"].values() if one["regarding"]["name"] == name and one["reason"] == reason]
        return len(events)

    @keyword
    def event_should_be_seen_again(self, name, reason, times):
        def counts():
            events = [one for one in self.api.objects["Event"].values() if one["regarding"]["name"] == name and one["reason"] == reason]
            return [one.get("series", {}).get("count") for one in events]

        come_to(f"{reason} of {name} is seen {times} times", counts, lambda found: found == [int(times)], PATIENCE, 0.2)

    @keyword
    def note_of_event(self, name, reason):
        events = [one for one in self.api.objects["Event"].values() if one["regarding"]["name"] == name and one["reason"] == reason]
        return events[0]["note"]

    @keyword
    def events_should_become(self, name, reason, count):
        come_to(f"{count} events {reason} of {name}", lambda: self.events_of(name, reason), lambda found: found == int(count), PATIENCE, 0.2)

    @keyword
    def datastore_is_lost(self):
        """The cluster's pods are not there any more, as in a new datastore."""
        for _, uid in [key for key in self.held() if key[0] == "pods"]:
            status, answer = self.lab.request("DELETE", f"/rests/data/pod:coe/pods={uid}")
            assert status == 204, f"{status}: {answer}"

    # -- the watcher's page

    def page(self, path, port=9464):
        """What it answers, whatever the status; nothing while it does not listen."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()
        except OSError:
            return ""

    @keyword
    def page_should_say(self, path, text):
        found = self.page(path).strip()
        assert found == text, f"/{path} says {found!r}"

    def metric(self, name):
        lines = [line.rpartition(" ") for line in self.page("metrics").splitlines()]
        return next((value for found, _, value in lines if found == f"coeus_watch_{name}"), None)

    @keyword
    def metric_should_become(self, name, value):
        come_to(f"{name} is {value}", lambda: self.metric(name), lambda found: found == str(value), PATIENCE, 0.2)

    @keyword
    def value_of_metric(self, name):
        return float(self.metric(name) or 0)

    @keyword
    def metric_should_come_to_grow(self, name, beyond=None):
        """`beyond`: what it was before; else what it is now."""
        before = self.value_of_metric(name) if beyond is None else float(beyond)
        come_to(f"{name} grows", lambda: self.value_of_metric(name), lambda found: found > before, PATIENCE, 0.2)

    # -- leaders

    @keyword
    def leader_should_become(self, *identities):
        """One of them, or `nobody`."""
        def holder():
            lease = self.api.objects["Lease"].get(("coeus", "watch"))
            return (lease or {}).get("spec", {}).get("holderIdentity") or "nobody"

        return come_to(f"one of {identities} leads", holder, lambda one: one in identities, PATIENCE, 0.1)

    @keyword
    def forbid(self, group, resource, verb):
        self.api.forbidden.add((group, resource, verb))

    @keyword
    def forbid_nothing(self):
        self.api.forbidden.clear()

    @keyword
    def times_said(self, name, text):
        return self.log(name).count(text)

    @keyword
    def watcher_should_say_again(self, name, text, before):
        come_to(f"{name} says {text}", lambda: self.times_said(name, text), lambda times: times > before, PATIENCE, 0.1)

    @keyword
    def leader_should_become_somebody(self):
        come_to("somebody leads", lambda: self.api.objects["Lease"].get(("coeus", "watch")), bool, PATIENCE, 0.1)

    @keyword
    def written_by(self, name):
        """How often a watcher has written."""
        return self.log(name).count(" written edits=")

    # -- misbehaviour

    @keyword
    def watches_so_far(self):
        """How many were asked for, of all kinds together."""
        return self.api.watches

    @keyword
    def cluster_misbehaves(self, how):
        if how == "cut":
            self.api.cut()
        elif how == "gone":
            self.api.compact()
            self.api.cut()
        elif how == "errors":
            self.api.failures = 8
            self.api.cut()
        elif how == "twice":
            self.api.twice = True
        elif how == "shuffled":
            self.api.shuffled = True
        elif how == "slow":
            self.api.is_slow = True
        elif how == "throttled":
            self.api.throttled = 8
            self.api.cut()
        elif how == "busy":
            self.api.failures = 10_000
        elif how == "dumb":
            with self.api.changed:
                self.api.is_dumb = True
                self.api.changed.notify_all()
        elif how == "restored":
            self.api.restore()
        elif how == "brief":
            self.api.is_brief = True
            self.api.cut()
        elif how == "away":
            self.api.restart(1.5)
        elif how == "stale":
            self.api.remember_lists()
        elif how == "well":
            self.api.twice = self.api.shuffled = self.api.is_slow = self.api.is_dumb = self.api.is_brief = False
            self.api.failures = 0
            self.api.stale = None
        else:
            raise AssertionError(f"{how} is no misbehaviour that is known")

    @keyword
    def anything_happens(self, rounds, seed):
        """So many changes and misbehaviours drawn at random; the seed makes them again."""
        draw = random.Random(int(seed))
        is_there = lambda kind, name: ("random", name) in self.api.objects[kind]  # noqa: E731
        for _ in range(int(rounds)):
            number, what = draw.randrange(12), draw.random()
            name, few, app = f"r{number}", f"r{number % 3}", draw.choice("abc")
            if what < 0.4:
                self.pod_runs("random", name, 1, f"10.11.1.{100 + number}", app=app, phase=draw.choice(["Running", "Running", "Failed"]))
            elif what < 0.6 and is_there("Pod", name):
                self.pod_goes("random", name)
            elif what < 0.7:
                self.service_is("random", few, f"10.96.9.{1 + number % 3}", 8080, 8080)
                self.service_has("random", few, 8080, *draw.sample([f"10.11.1.{100 + one}" for one in range(12)], 2))
            elif what < 0.75 and is_there("Service", few):
                self.service_goes("random", few)
            elif what < 0.8:
                self.only_app_may_reach("random", app, draw.choice("abc"))
            elif what < 0.83 and is_there("NetworkPolicy", f"to-{app}"):
                self.policy_goes("random", app)
            elif what < 0.85:
                self.namespace_is("random", team=draw.choice("abc"))
            elif what >= 0.85:
                self.cluster_misbehaves(draw.choice(["cut", "gone", "errors", "throttled", "slow", "twice", "shuffled", "well"]))

    # -- what became of it

    def held(self):
        """The cluster's entries, by list and key."""
        own = {}
        for container, name, owner in LISTS:
            status, body = self.lab.request("GET", f"/rests/data/{container}?content=config")
            entries = next(iter(body.values())).get(name, []) if status == 200 else []
            for entry in entries:
                if entry.get(owner) == CLUSTER:
                    own[name, entry.get("uid") or entry.get("uuid") or entry["name"]] = entry
        return own

    def wanted(self):
        """Keys that the cluster as it is now should make."""
        objects = self.api.objects
        uid = lambda one: one["metadata"]["uid"]  # noqa: E731
        has_network = lambda pod: not pod["spec"].get("hostNetwork") and pod["status"]["phase"] not in ("Failed", "Succeeded")  # noqa: E731
        keys = {("pods", uid(pod)) for pod in objects["Pod"].values() if has_network(pod)}
        for kind, name in (("Service", "services"), ("EndpointSlice", "endpoints"), ("Node", "k8s-nodes"), ("NetworkPolicy", "network-policy")):
            keys |= {(name, uid(one)) for one in objects[kind].values()}
        services = {(ns, one["metadata"]["labels"]["kubernetes.io/service-name"]) for (ns, _), one in objects["EndpointSlice"].items()}
        for key, one in objects["Endpoints"].items():
            first, rest = uid(one)[:8], uid(one)[8:]
            numbered = [uid(one)] + [f"{int(first, 16) + n & 0xffffffff:08x}{rest[:6]}8{rest[7:]}" for n in range(1, len(one["subsets"]))]
            keys |= {("endpoints", one) for one in numbered} if key not in services else set()
        return keys | {("namespace", one["metadata"]["name"]) for one in objects["Namespace"].values()}

    @keyword
    def datastore_should_follow(self, within=PATIENCE):
        """The datastore comes to hold what the cluster makes, with labels and addresses as they are now, and nothing else of it."""
        def is_right(held):
            if set(held) != self.wanted():
                return False
            pods = {pod["metadata"]["uid"]: pod for pod in self.api.objects["Pod"].values()}
            return all(self.is_as(entry, pods[key]) for (name, key), entry in held.items() if name == "pods")

        try:
            come_to("the datastore holds what the cluster makes", self.held, is_right, float(within), 0.1)
        except AssertionError as error:
            logs = "\n".join(self.log(name)[-3000:] for name in self.watchers)
            raise AssertionError(f"{error}; wanted {sorted(self.wanted())}\n{logs}") from None

    @staticmethod
    def is_as(entry, pod):
        labels = {one["key"]: one.get("value", "") for one in entry.get("coeus-policy:label", [])}
        is_there = pod["status"].get("podIP") in (None, entry["interface"][0].get("ip-address"))
        return labels == pod["metadata"]["labels"] and is_there

    @keyword
    def transactions_so_far(self):
        """How often the watcher has written."""
        return self.log().count(" written edits=")

    def log(self, name="watch"):
        path = self.lab.dir / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
