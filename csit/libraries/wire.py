"""A bad wire: carries frames between two devices, late, not all of them, or slowly.

    python wire.py ONE OTHER --delay 0.15 --loss 0.05 --rate 20000 --seed 7

Delay in seconds each way, loss as a part of one, rate in bytes a second each way (a queue of 64 KiB before it: what is more is dropped).
"""

import argparse
import heapq
import random
import select
import socket
import time

QUEUE = 64 << 10


def opened(device):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    raw.bind((device, 0x0003))
    raw.setblocking(False)
    return raw


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("devices", nargs=2)
    arguments.add_argument("--delay", type=float, default=0.0)
    arguments.add_argument("--loss", type=float, default=0.0)
    arguments.add_argument("--rate", type=float, default=0.0)
    arguments.add_argument("--seed", type=int, default=1)
    asked = arguments.parse_args()
    chance = random.Random(asked.seed)
    ends = [opened(device) for device in asked.devices]
    other = {ends[0]: ends[1], ends[1]: ends[0]}
    free = {end: 0.0 for end in ends}
    waiting, number = [], 0
    while True:
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 1.0
        for end in select.select(ends, [], [], pause)[0]:
            try:
                frame, where = end.recvfrom(1 << 16)
            except BlockingIOError:
                continue
            if where[2] == socket.PACKET_OUTGOING or chance.random() < asked.loss:
                continue
            due = now = time.monotonic()
            if asked.rate:
                due = max(now, free[end])
                if (due - now) * asked.rate > QUEUE:
                    continue
                due += len(frame) / asked.rate
                free[end] = due
            number += 1
            heapq.heappush(waiting, (due + asked.delay, number, other[end], frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, frame = heapq.heappop(waiting)
            try:
                end.send(frame)
            except OSError:
                continue


if __name__ == "__main__":
    main()
