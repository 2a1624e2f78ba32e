"""What failed in a run of the suites, at the end of its output: each case with its message, the keywords that led there, and what the last of them logged.

    python failures.py output.xml
"""

import sys

from robot.api import ExecutionResult, ResultVisitor

LINES = 12
WIDTH = 400


class Failures(ResultVisitor):
    def visit_test(self, test):
        if not test.failed:
            return
        print(f"\n{test.full_name} ({test.start_time:%H:%M:%S} to {test.end_time:%H:%M:%S})")
        print(shortened(test.message))
        step, said = test, []
        while step := next((inner for inner in getattr(step, "body", ()) if getattr(inner, "failed", False)), None):
            if step.type == step.KEYWORD:
                print("  in", "  ".join([step.full_name, *map(str, step.args)])[:WIDTH])
                said = [line.message for line in step.messages]
        for line in said[-3:]:
            print(shortened(line))

    def visit_suite(self, suite):
        for part in (suite.setup, suite.teardown):
            if part and part.failed:
                print(f"\n{suite.full_name}: {part.name} failed\n{shortened(part.message)}")
        super().visit_suite(suite)


def shortened(text):
    lines = text.splitlines()
    if len(lines) > LINES:
        lines = lines[: LINES // 2] + ["..."] + lines[-LINES // 2 :]
    return "\n".join(f"    {line[:WIDTH]}" for line in lines)


if __name__ == "__main__":
    ExecutionResult(sys.argv[1]).visit(Failures())
