"""Robot keywords for a cluster whose API server is played, and the watcher that keeps the datastore true to it."""

import json
import os
import random
import subprocess

from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

import kube_api
from lab import wait_until

CLUSTER = "00000000-0000-0000-0000-000000000001"
#: Where entries of a cluster stand: container, list, and the leaf that says whose they are.
LISTS = [
    ("pod:coe", "pods", "cluster-id"), ("service:service-information", "services", "cluster-id"),
    ("service:endpoints-info", "endpoints", "cluster-id"), ("k8s-node:k8s-nodes-info", "k8s-nodes", "cluster-id"),
    ("coeus-policy:namespaces", "namespace", "coeus-kube:cluster-id"), ("k8s:k8s/network-policies", "network-policy", "coeus-kube:cluster-id"),
]
PATIENCE = 40


@library(scope="SUITE", auto_keywords=False)
class Kube:
    def __init__(self):
        self.api, self.watcher = None, None

    @property
    def coeus(self):
        return BuiltIn().get_library_instance("CoeusLab")

    @property
    def lab(self):
        return self.coeus.lab

    # -- the cluster and its watcher

    @keyword
    def start_cluster(self):
        self.api = kube_api.KubeApi()

    @keyword
    def start_watcher(self, *options):
        config = self.lab.dir / "kubeconfig"
        config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": f"http://127.0.0.1:{self.api.port}"}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}], "users": [{"name": "lab", "user": {}}],
        }))
        with open(self.lab.dir / "watch.log", "ab") as log:
            self.watcher = subprocess.Popen(
                [str(self.lab.binary()), "watch", "--kube", "--kubeconfig", str(config), "--server", "http://127.0.0.1:8181", *options],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, "COEUS_PASSWORD": self.lab.password},
            )

    @keyword
    def stop_watcher(self):
        if self.watcher is not None:
            self.watcher.kill()
            self.watcher.wait(timeout=10)
            self.watcher = None

    @keyword
    def stop_cluster(self):
        self.stop_watcher()
        if self.api is not None:
            self.api.close()
            self.api = None

    # -- objects

    @keyword
    def node_joins(self, node, pod_cidr):
        host = self.coeus.node(node).local_ip
        self.api.put("Node", f"node{node}", spec={"podCIDR": pod_cidr}, status={"addresses": [{"type": "InternalIP", "address": host}]})

    @keyword
    def namespace_is(self, name, **labels):
        self.api.put("Namespace", name, metadata={"labels": labels})

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
    def service_is(self, namespace, name, address, port, target):
        ports = [{"name": "web", "port": int(port), "targetPort": int(target), "protocol": "TCP"}]
        self.api.put("Service", name, namespace, spec={"clusterIP": address, "clusterIPs": [address], "ports": ports, "type": "ClusterIP"})

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

    # -- misbehaviour

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
        elif how == "stale":
            self.api.remember_lists()
        elif how == "well":
            self.api.twice = self.api.shuffled = False
            self.api.stale = None
        else:
            raise AssertionError(f"{how} is no misbehaviour that is known")

    @keyword
    def anything_happens(self, rounds, seed):
        """So many changes and misbehaviours drawn at random; the seed makes them again."""
        draw = random.Random(int(seed))
        for _ in range(int(rounds)):
            name, what = f"r{draw.randrange(12)}", draw.random()
            there = ("random", name) in self.api.objects["Pod"]
            if what < 0.55:
                self.pod_runs("random", name, 1, f"10.11.1.{100 + int(name[1:])}", app=draw.choice("abc"), phase=draw.choice(["Running", "Running", "Failed"]))
            elif what < 0.85 and there:
                self.pod_goes("random", name)
            elif what >= 0.85:
                self.cluster_misbehaves(draw.choice(["cut", "gone", "errors", "twice", "shuffled", "well"]))

    # -- what became of it

    def held(self):
        """Keys of the cluster's entries, by list; and of the others."""
        own, others = {}, {}
        for container, name, owner in LISTS:
            status, body = self.lab.request("GET", f"/rests/data/{container}?content=config")
            entries = next(iter(body.values())).get(name, []) if status == 200 else []
            for entry in entries:
                place = (name, entry.get("uid") or entry.get("uuid") or entry["name"])
                (own if entry.get(owner) == CLUSTER else others)[place] = entry
        return own, others

    def wanted(self):
        """Keys that the cluster as it is now should make."""
        objects = self.api.objects
        uid = lambda one: one["metadata"]["uid"]  # noqa: E731
        has_network = lambda pod: not pod["spec"].get("hostNetwork") and pod["status"]["phase"] not in ("Failed", "Succeeded")  # noqa: E731
        keys = {("pods", uid(pod)) for pod in objects["Pod"].values() if has_network(pod)}
        for kind, name in (("Service", "services"), ("EndpointSlice", "endpoints"), ("Node", "k8s-nodes"), ("NetworkPolicy", "network-policy")):
            keys |= {(name, uid(one)) for one in objects[kind].values()}
        return keys | {("namespace", one["metadata"]["name"]) for one in objects["Namespace"].values()}

    @keyword
    def datastore_should_follow(self):
        """The datastore comes to hold what the cluster makes, with labels and addresses as they are now, and nothing else of it."""
        last = None

        def come():
            nonlocal last
            last = own, _ = self.held()
            if set(own) != self.wanted():
                return False
            pods = {pod["metadata"]["uid"]: pod for pod in self.api.objects["Pod"].values()}
            return all(self.is_as(entry, pods[key]) for (name, key), entry in own.items() if name == "pods")

        try:
            wait_until("the datastore holds what the cluster makes", come, PATIENCE, 0.1)
        except Exception as error:
            raise AssertionError(f"{error}: held {sorted(last[0])}, wanted {sorted(self.wanted())}\n{self.log()}") from None

    @staticmethod
    def is_as(entry, pod):
        labels = {one["key"]: one.get("value", "") for one in entry.get("coeus-policy:label", [])}
        return labels == pod["metadata"]["labels"] and entry["interface"][0].get("ip-address") == pod["status"]["podIP"]

    @keyword
    def revision(self):
        """Counts what is written to the configuration by now."""
        return self.log().count(" written edits=")

    @keyword
    def lists_so_far(self):
        return self.api.lists

    def log(self):
        path = self.lab.dir / "watch.log"
        return path.read_text(encoding="utf-8", errors="replace")[-3000:] if path.exists() else ""
