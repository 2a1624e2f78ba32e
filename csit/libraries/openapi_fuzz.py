"""schemathesis against a controller of its own on the loopback: requests drawn from /openapi.json for a bounded time.

What counts is that no answer is a server error (5xx). The controller has no switches and its data stand in a temporary
directory; both go away at the end. Usage: openapi_fuzz.py BINARY [SECONDS]
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PASSWORD = "openapi"


def free_port():
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_alive(url, controller, timeout=20.0):
    """Returns once the controller answers; raises when it ends or stays silent."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if controller.poll() is not None:
            raise RuntimeError(f"the controller ended with {controller.returncode}")
        try:
            urllib.request.urlopen(f"{url}/livez", timeout=2).read()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"no answer at {url} within {timeout:g} s")


def main(binary, seconds):
    """Runs the controller, then schemathesis; the exit code of schemathesis is ours."""
    schemathesis = pathlib.Path(sys.executable).with_name("st")
    with tempfile.TemporaryDirectory(prefix="coeus-openapi-") as directory:
        ports = [free_port() for _ in range(4)]
        url = f"http://127.0.0.1:{ports[0]}"
        environment = {**os.environ, "COEUS_ADMIN_PASSWORD": PASSWORD}
        options = [
            "--restconf-plain", f"127.0.0.1:{ports[0]}",
            "--restconf", f"127.0.0.1:{ports[1]}",
            "--openflow", f"127.0.0.1:{ports[2]}",
            "--ovsdb", f"127.0.0.1:{ports[3]}",
            "--data-dir", f"{directory}/data",
        ]
        log = open(f"{directory}/controller.log", "w", encoding="utf-8")
        controller = subprocess.Popen([binary, "serve", *options], env=environment, stdout=log, stderr=log)
        try:
            wait_until_alive(url, controller)
            outcome = subprocess.run(
                [
                    schemathesis, "run", f"{url}/openapi.json", "--url", url, "--auth", f"admin:{PASSWORD}",
                    "--checks", "not_a_server_error", "--phases", "fuzzing", "--max-time", str(seconds),
                    "--request-timeout", "20", "--warnings", "off", "--suppress-health-check", "all",
                    "--seed", "1", "--no-shrink", "--continue-on-failure",
                ],
                cwd=directory,
                timeout=seconds + 300,
                check=False,
            )
            if controller.poll() is not None:
                print(f"the controller ended with {controller.returncode}", file=sys.stderr)
                return 1
            return outcome.returncode
        finally:
            if controller.poll() is None:
                controller.send_signal(signal.SIGTERM)
                try:
                    controller.wait(20)
                except subprocess.TimeoutExpired:
                    controller.kill()
            log.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60))
