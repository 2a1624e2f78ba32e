"""Cases of the checker: histories that can be, and histories that cannot."""

from robot.api.deco import keyword, library

from linear import Operation, faults


def write(value, begun, ended, acknowledged=True):
    return Operation("write", "k", value, begun, ended, acknowledged)


def read(value, begun, ended):
    return Operation("read", "k", value, begun, ended, True)


CASES = [
    ("nothing happened", [], None),
    ("nothing was there", [read(0, 0, 1)], None),
    ("what was acknowledged is read", [write(1, 0, 1), read(1, 2, 3)], None),
    ("a read during the write may see it", [write(1, 0, 4), read(1, 1, 2)], None),
    ("or not", [write(1, 0, 4), read(0, 1, 2)], None),
    ("an acknowledged write is lost", [write(1, 0, 1), read(0, 2, 3)], "acknowledged"),
    ("an older one is there", [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)], "acknowledged"),
    ("a write without an answer may be there", [write(1, 0, 1), write(2, 2, 3, False), read(2, 9, 10)], None),
    ("or not", [write(1, 0, 1), write(2, 2, 3, False), read(1, 9, 10)], None),
    ("or come late", [write(1, 0, 1), write(2, 2, 3, False), read(1, 4, 5), read(2, 9, 10)], None),
    ("but does not go again", [write(1, 0, 1), write(2, 2, 3, False), read(2, 4, 5), read(1, 9, 10)], "had been read"),
    ("during a write two readers agree on the order", [write(1, 0, 9), read(1, 1, 2), read(0, 3, 4)], "had been read"),
    ("two reads at once may differ", [write(1, 0, 9), read(1, 1, 4), read(0, 2, 5)], None),
    ("what is not begun is not there", [write(1, 5, 6), read(1, 1, 2)], "before it was written"),
]


@library(scope="SUITE", auto_keywords=False)
class LinearCases:
    @keyword
    def the_checker_is_right_in_its_cases(self):
        for name, history, wanted in CASES:
            found = faults(history)
            if (wanted is None and found) or (wanted is not None and not any(wanted in one for one in found)):
                raise AssertionError(f"{name}: {found}")
