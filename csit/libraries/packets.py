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
