#!/usr/bin/env python3
"""Coeus and OVN on the same machine, with the same pods on one node each.

    apt-get install --no-install-recommends ovn-central ovn-host openvswitch-switch
    cargo build --release
    sudo benches/against_ovn.py target/release/coeus --pods 100 1000 --more 20 --rounds 3

The ports of all pods are plugged in with their `iface-id` before the clock starts. Then the pods are written: one PUT for Coeus,
one transaction to the north-bound database for OVN (logical switches on one router, port security, DHCP options).
After that one pod more, again and again. Two shapes: all pods in one namespace (one logical switch), and over ten. The
contenders take turns; `contenders.py` says how the clock runs. What no controller can be faster than is taken with the same clock and
the same ports: all rules of Coeus again by `ovs-ofctl --bundle`, and eighteen rules and a barrier on a bare socket.
"""

import argparse
import pathlib
import statistics

from contenders import QUIET_BULK, QUIET_ONE, Coeus, Ovn, Pod, prepare

#: What the switch is asked for by itself, for one pod more.
RULES_OF_A_POD = 18


def measure(make, spaces, count, more):
    """One contender, one shape: the figures of one round."""
    pods = [Pod(number, spaces) for number in range(count)]
    spares = [Pod(number, spaces) for number in range(count, count + more)]
    contender = make(spaces, pods, spares)
    try:
        before = contender.cpu()
        bulk = contender.write(pods, QUIET_BULK)
        cpu, rules = contender.cpu() - before, contender.rules()
        # The first is warm-up.
        single = [contender.write([spare], QUIET_ONE) for spare in spares][1:]
        figures = {"bulk": bulk, "cpu": cpu, "rules": rules, "single": single, "memory": contender.memory()}
        if contender.kind == "coeus":
            figures["alone"] = contender.alone(RULES_OF_A_POD, len(spares))
        return figures
    finally:
        contender.close()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("coeus", help="the program, a release build")
    arguments.add_argument("--pods", type=int, nargs="+", default=[100, 1000])
    arguments.add_argument("--spaces", type=int, nargs="+", default=[1, 10])
    arguments.add_argument("--more", type=int, default=20, help="pods that come one by one")
    arguments.add_argument("--rounds", type=int, default=3)
    chosen = arguments.parse_args()
    prepare()
    contenders = {
        "coeus": lambda *shape: Coeus(pathlib.Path(chosen.coeus).resolve(), *shape),
        "ovn": Ovn,
    }
    print("| pods | namespaces | | bulk, s | rules | CPU s | one more, ms p50 | p99 | peak MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for count in chosen.pods:
        for spaces in chosen.spaces:
            rounds = [{name: measure(make, spaces, count, chosen.more) for name, make in contenders.items()} for _ in range(chosen.rounds)]
            middle = {}
            for name in contenders:
                mine = [one[name] for one in rounds]
                single = sorted(1000 * value for one in mine for value in one["single"])
                figures = {key: statistics.median(one[key] for one in mine) for key in ("bulk", "rules", "cpu", "memory")}
                figures["p50"], figures["p99"] = statistics.median(single), single[min(len(single) - 1, int(len(single) * 0.99))]
                middle[name] = figures
                print(f"| {count} | {spaces} | {name} | {figures['bulk']:.3f} | {figures['rules']:.0f} | {figures['cpu']:.2f} | {figures['p50']:.2f} | {figures['p99']:.2f} | {figures['memory']:.0f} |", flush=True)
            coeus, ovn = middle["coeus"], middle["ovn"]
            alone = statistics.median(one["coeus"]["alone"][0] for one in rounds)
            single = [1000 * value for one in rounds for value in one["coeus"]["alone"][1][1:]]
            one_more = statistics.median(single)
            print(f"| {count} | {spaces} | the switch alone | {alone:.3f} | | | {one_more:.2f} | | |")
            print(f"| {count} | {spaces} | Coeus / the switch alone | {coeus['bulk'] / alone:.1f} | | | {coeus['p50'] / one_more:.1f} | | |")
            ratio = {key: ovn[key] / coeus[key] if coeus[key] else float("inf") for key in ("bulk", "rules", "cpu", "p50", "p99", "memory")}
            print(f"| {count} | {spaces} | OVN / Coeus | {ratio['bulk']:.1f} | {ratio['rules']:.2f} | {ratio['cpu']:.1f} | {ratio['p50']:.1f} | {ratio['p99']:.1f} | {ratio['memory']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
