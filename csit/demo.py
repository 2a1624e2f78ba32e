"""The demonstration behind `./demo`: pods on two nodes ping each other because JSON was PUT into a datastore."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "libraries"))

from lab import Lab, LabError, pod_json, wait_until  # noqa: E402


def say(text):
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def put(lab, path, body):
    status, answer = lab.request("PUT", path, body)
    print(f"PUT {path}\n    {json.dumps(body)}\n    -> {status}{'' if answer is None else ' ' + json.dumps(answer)}", flush=True)
    if status not in (200, 201, 204):
        raise LabError(f"PUT {path} was refused with {status}")


def uid(number):
    return f"00000000-0000-4000-8000-{number:012d}"


PODS = [  # name, namespace, node, address, gateway
    ("web", "blue", 1, "10.11.1.10", "10.11.1.1"),
    ("api", "blue", 1, "10.11.1.11", "10.11.1.1"),
    ("db", "blue", 2, "10.11.2.10", "10.11.2.1"),
    ("web", "red", 1, "10.11.1.20", "10.11.1.1"),
    ("db", "red", 2, "10.11.2.20", "10.11.2.1"),
]


def main():
    lab = Lab()
    failures = 0
    try:
        say("a controller and two nodes, each with an Open vSwitch of its own")
        lab.start_controller()
        nodes = [lab.add_node(), lab.add_node()]
        for node in nodes:
            wait_until(f"{node.name} has br-int", node.has_bridge)
            print(f"{node.name}: tunnel endpoint {node.local_ip}; the controller made br-int with "
                  f"fail_mode={node.vsctl('get-fail-mode', 'br-int').strip()}")

        say("the nodes' pod ranges, then one pod after the other, over RESTCONF")
        for node in nodes:
            put(lab, f"/restconf/config/k8s-node:k8s-nodes-info/k8s-nodes/{uid(900 + node.index)}", {"k8s-nodes": [{
                "uid": uid(900 + node.index), "host-name": node.name, "internal-ip-address": node.local_ip,
                "pod-cidr": f"10.11.{node.index}.0/24"}]})
        pods = {}
        for number, (name, namespace, where, address, gateway) in enumerate(PODS, 1):
            node = nodes[where - 1]
            put(lab, f"/restconf/config/pod:coe/pods/{uid(number)}", pod_json(uid(number), name, namespace, node.local_ip, address))
            pods[f"{namespace}:{name}"] = lab.add_pod(node, f"{namespace}:{name}", f"0a:00:00:00:00:{number:02x}", f"{address}/24", gateway)

        say("what the renderers made of it")
        for path in ("/restconf/config/elan:elan-instances", "/restconf/config/l3vpn:vpn-instances"):
            print(f"GET {path}\n{json.dumps(lab.request('GET', path)[1], indent=1)}")

        say("who reaches whom (a namespace is a VPN: blue and red stay apart)")
        for name, pod in pods.items():
            for other, target in pods.items():
                if name == other:
                    continue
                expected = name.split(":")[0] == other.split(":")[0]
                reached = pod.reaches(target.address) if expected else pod.ping(target.address, count=2, wait=0.3) > 0
                failures += reached != expected
                print(f"{name:>9} -> {other:<9} {target.address:<11} {'answered' if reached else 'silent  '} "
                      f"{'' if reached == expected else '  << NOT AS EXPECTED'}", flush=True)

        say("the pipeline that does it, on node1 (ovs-ofctl dump-flows br-int)")
        print("\n".join(nodes[0].flows()))

        say("a DHCP pool, and a pod that asks for its address")
        put(lab, "/restconf/config/dhcp_allocation_pool:dhcp_allocation_pool/", {"dhcp_allocation_pool:network": [{
            "network-id": "green", "allocation-pool": [{"subnet": "192.168.10.0/24", "allocate-from": "192.168.10.3",
                                                        "allocate-to": "192.168.10.50", "gateway": "192.168.10.2"}]}]})
        put(lab, f"/restconf/config/pod:coe/pods/{uid(6)}", pod_json(uid(6), "job", "green", nodes[0].local_ip))
        job = lab.add_pod(nodes[0], "green:job", "0a:00:00:00:00:06")
        lease = job.inside("sh", "-c", "udhcpc -i eth0 -n -q -f -t 20 -T 1 -s /bin/true 2>&1", timeout=40, check=False)
        print(lease.strip())
        failures += "obtained" not in lease
        status, leases = lab.request("GET", "/restconf/operational/coeus-dhcp:leases")
        print(f"GET /restconf/operational/coeus-dhcp:leases -> {status}\n{json.dumps(leases, indent=1)}")

        say("DELETE of blue:db: its interfaces and flows go with it")
        print("DELETE ->", lab.request("DELETE", f"/restconf/config/pod:coe/pods/{uid(3)}")[0])
        gone = pods["blue:web"].ping("10.11.2.10", count=2, wait=0.5) == 0
        failures += not gone
        print(f"blue:web -> blue:db {'silent, as it should be' if gone else 'still answered'}")

        say("done: " + ("everything as expected" if not failures else f"{failures} things were not as expected"))
    except (LabError, OSError) as error:
        print(f"\nthe demo failed: {error}", file=sys.stderr)
        print(lab.log()[-4000:], file=sys.stderr)
        failures = 1
    finally:
        lab.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
