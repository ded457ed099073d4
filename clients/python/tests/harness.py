"""A real server, and a relay before it that loses answers."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOURCE = ROOT / "clients/python/src"
if not os.environ.get("ONCE_INSTALLED"):
    sys.path.insert(0, str(SOURCE))

BINARY = os.environ.get("ONCE_BINARY") or str(ROOT / "build/dev/once")
RELAY = os.environ.get("ONCE_RELAY") or str(ROOT / "build/dev/testing/relay/once_relay")
PATIENCE = 60


def wait_until(condition, within=PATIENCE):
    """Polls. A condition that never holds is an error."""
    until = time.monotonic() + within
    while not condition():
        if time.monotonic() > until:
            raise AssertionError("the condition never held")
        time.sleep(0.01)


class Server:
    """A server with a store of its own, which can be killed and started again at the same place."""

    def __init__(self, *options):
        self.directory = tempfile.mkdtemp(prefix="once-py-")
        self.options = options
        self.listen = "127.0.0.1:0"
        self.process = None
        self.start()

    def start(self):
        command = [BINARY, "serve", "--store", f"{self.directory}/store", "--listen", self.listen, *self.options]
        until = time.monotonic() + PATIENCE
        while True:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            line = self.process.stdout.readline()
            if line:
                break
            if time.monotonic() > until:
                raise AssertionError(f"{command} did not start")
        self.url = line.split()[2]
        self.listen = self.url.removeprefix("http://")

    @property
    def port(self):
        return int(self.listen.rsplit(":", 1)[1])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)
        self.process.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Relay:
    """Loses every nth answer of the server on that port."""

    def __init__(self, port, every):
        self.process = subprocess.Popen(
            [RELAY, str(port), str(every)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()
