"""Whether what clients saw of counters can be told as one story: no acknowledged write lost, no stale read.

Each key has one writer, who writes 1, 2, 3 and so on, one after the other. Then a history is linearizable if and only if every read
returns what was acknowledged before it began or something later, nothing that was not yet begun when it ended, and nothing older than
what another read returned that had ended before it began. A write without an acknowledgement may happen at any time after it began.
"""

from typing import NamedTuple


class Operation(NamedTuple):
    kind: str  #: "read" or "write"
    key: str
    value: int  #: 0: nothing was there
    begun: float
    ended: float
    acknowledged: bool


def faults(history):
    """What cannot be, in words; none if all is well."""
    found = []
    for key in sorted({one.key for one in history}):
        writes = [one for one in history if one.key == key and one.kind == "write"]
        reads = [one for one in history if one.key == key and one.kind == "read"]
        for read in reads:
            least = max((one.value for one in writes if one.acknowledged and one.ended < read.begun), default=0)
            seen = max((one.value for one in reads if one.ended < read.begun), default=0)
            most = max((one.value for one in writes if one.begun < read.ended), default=0)
            if read.value < least:
                found.append(f"{key}: {read.value} was read when {least} was acknowledged")
            elif read.value < seen:
                found.append(f"{key}: {read.value} was read after {seen} had been read")
            elif read.value > most:
                found.append(f"{key}: {read.value} was read before it was written")
    return found
