"""Checks of packets that are made once more, without what switches have cached, before they fail.

A barrier does not wait for the flows that a datapath has cached; they follow some hundred milliseconds later, on a busy machine more.
And in the userspace datapath of Open vSwitch 3.1.0 one stays as it was now and then, though the tables say otherwise, for as long as it is
used (docs/guide/policy.md, limits). What is wrong in the tables is as wrong the second time.
"""

import functools
import time

from robot.api import logger
from robot.libraries.BuiltIn import BuiltIn

from lab import LabError

#: Seconds between the two.
PAUSE = 0.3


def checks_packets(check):
    """A keyword that fails when packets do not go where they should, or answers nothing (0, "")."""

    @functools.wraps(check)
    def checked(library, *words, **named):
        try:
            answer = check(library, *words, **named)
            if answer is None or answer:
                return answer
            what = f"{check.__name__} {words}: {answer!r}"
        except (AssertionError, LabError, OSError) as error:
            what = f"{check.__name__} {words}: {error}"
        logger.info(f"once more, without what switches have cached: {what}")
        BuiltIn().get_library_instance("CoeusLab").lab.forget_cached_flows()
        time.sleep(PAUSE)
        return check(library, *words, **named)

    return checked


def who(client, patience):
    """Asks by datagrams again and again for so many seconds; answers who answered, or nobody."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            client.send(b"who?")
            return client.recv(200).decode()
        except OSError:
            continue
    return None


def should_move_on(name, client, away, seconds):
    """A client that sends datagrams from one port and never pauses: after the keyword `away` was run, others answer within so many seconds.

    Who is held by a cached flow alone moves on when switches forget those, and a warning says so.
    """
    first = who(client, 3)
    robot = BuiltIn()
    robot.run_keyword(*away)
    for cached in (True, False):
        done = time.monotonic()
        while (since := time.monotonic() - done) < float(seconds):
            answer = who(client, 0.05)
            if answer and answer != first:
                logger.info(f"from {first} to {answer} after {since:.2f} s")
                return answer
        if cached:
            logger.warn(f"{name} stays with {first}, or has nobody, until switches forget what they have cached")
            robot.get_library_instance("CoeusLab").lab.forget_cached_flows()
    raise AssertionError(f"still {first}, or nobody")


def should_be_refused(asking, ask):
    """Who asks is told at once: a reset, or an ICMP error. `asking` says who asked what."""
    try:
        answer = ask()
    except ConnectionRefusedError:
        return
    except OSError as error:
        raise AssertionError(f"{asking} and was not refused: {error}") from None
    raise AssertionError(f"{asking} and was answered by {answer}")
