#!/usr/bin/env python3
"""examples.py REPOSITORY ONCE PROGRAMS: runs the commands of examples/*/README.md.

PROGRAMS is the directory with the examples' programs in directories of their own. A command is a line of a ```sh
block, or of an indented one, of those programs, `once`, `curl` or the shell. It must exit with 0. What needs a service
of Amazon's runs on `once serve` in its place; `once table` and what takes messages from a broker is started
without one, for a moment: it may not be reached, but must not complain of its usage.
"""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

USAGE = {2, 64}
PATIENCE = 60
ELSEWHERE = "aws() { :; }\namqp-publish() { cat >/dev/null; }\n"
SERVES = re.compile(r"once serve .*&$")
STORIES = {"orders"}  # All that its page runs is its story, which is a test of its own.
MAY_BE_REFUSED = re.compile(r"^change_archive edit .* --etag ")  # An ETag of another day.


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def blocks(text, programs):
    """The lines of each block of commands."""
    begins = re.compile(r"^(" + "|".join(map(re.escape, programs)) + r"|once|curl|aws)\b|^STORE=")
    fenced, indented = None, []
    for line in text.splitlines() + [""]:
        if fenced is not None:
            if line == "```":
                yield fenced
                fenced = None
            else:
                fenced.append(line)
            continue
        if line.startswith("    "):
            indented.append(line[4:])
            continue
        if indented and begins.match(indented[0]) and ";" not in indented[0] and "(" not in indented[0]:
            yield indented
        indented = []
        if line == "```sh":
            fenced = []
        elif line.startswith("```") and line != "```":
            fenced = None


def commands(lines):
    """Lines that belong together are one command."""
    command = ""
    for line in lines:
        command += line + "\n"
        bare = re.sub(r"\s+#.*$", "", line).rstrip()
        if bare.endswith(("\\", "|")) or command.count("; do") > len(re.findall(r"^done\b", command, re.M)):
            continue
        yield command.rstrip("\n")
        command = ""


def rewritten(command, port, other_port):
    command = command.replace("7600", port).replace("8080", other_port)
    if re.match(r"once table ", command):
        return re.sub(r"(dynamodb://[^'\"]*)", r"\1\&endpoint=http://127.0.0.1:1", command), True
    if re.search(r"(sqs|amqp)://", command) and not command.startswith(("aws", "event_builder events")):
        command = re.sub(r"(sqs://[^'\"]*)", r"\1\&endpoint=http://127.0.0.1:1", command)
        command = re.sub(r"amqp://127\.0\.0\.1/", "amqp://127.0.0.1:1/", command)
        return re.sub(r"(dynamodb|s3)://[^'\"]*", f"http://127.0.0.1:{port}", command), True
    return re.sub(r"(dynamodb|s3)://[^'\"]*", f"http://127.0.0.1:{port}", command), False


def wait_for(port):
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


class Session:
    """One shell for a page, in a directory of its own."""

    def __init__(self, directory, environment):
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=directory, env=environment, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.process.stdin.write(ELSEWHERE)

    def run(self, command):
        """What it printed, and its exit code."""
        self.process.stdin.write(f"{command}\nprintf '\\n@@%s@@\\n' $?\n")
        printed = []
        for line in self.process.stdout:
            ended = re.fullmatch(r"@@(\d+)@@\n", line)
            if ended:
                return "".join(printed), int(ended.group(1))
            printed.append(line)
        raise SystemExit(f"the shell ended: {command}\n" + "".join(printed))

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def check_example(repository, once, directory, name, names):
    example = os.path.join(repository, "examples", name)
    port, other_port = free_port(), free_port()
    environment = {
        "PATH": f"{os.path.dirname(once)}:{os.path.join(directory, name)}:/usr/bin:/bin", "LANG": "C.UTF-8",
        "ONCE_LISTEN": f"127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
    }
    with open(os.path.join(example, "README.md"), encoding="utf-8") as file:
        found = list(blocks(file.read(), names))
    with tempfile.TemporaryDirectory() as work:
        environment["HOME"] = work
        for log in ("web.log", "worker.log"):
            with open(os.path.join(work, log), "w", encoding="utf-8") as file:
                file.write("one\ntwo\nthree\n")
        subprocess.run(["cp", "-r", example + "/.", work], check=True)
        session = Session(work, environment)
        try:
            return sum(check_block(session, name, lines, port, other_port) for lines in found)
        finally:
            session.end()


def check_block(session, name, lines, port, other_port):
    """How many commands were run."""
    session.run("kill $(jobs -p) 2>/dev/null; wait")
    if not any(SERVES.match(line) for line in lines):
        session.run("once serve --store ./state-of-the-service >/dev/null 2>&1 &")
        wait_for(port)
    ran = 0
    for ran, written in enumerate(commands(lines), 1):
        command, without_service = rewritten(written, port, other_port)
        if without_service:
            command = "timeout -k1 2 " + re.sub(r"\s*&$", "", command)
        printed, exit_code = session.run(command)
        if SERVES.match(command):
            wait_for(port)
        if re.search(r"--listen (\d+) &$", command):
            wait_for(other_port)
        refused = MAY_BE_REFUSED.match(written) and exit_code == 3
        wrong = exit_code in USAGE or re.search(r"^usage", printed, re.I | re.M)
        if wrong or (exit_code != 0 and not without_service and not refused):
            raise SystemExit(f"examples/{name}/README.md: {written}\nexits with {exit_code}:\n{printed}")
    return ran


def main():
    repository, once, directory = (os.path.abspath(path) for path in sys.argv[1:4])
    names = sorted(name for name in os.listdir(os.path.join(repository, "examples"))
                   if os.path.exists(os.path.join(repository, "examples", name, "README.md")))
    for name in sorted(set(names) - STORIES):
        ran = check_example(repository, once, directory, name, names)
        if ran < 3:
            raise SystemExit(f"examples/{name}/README.md: only {ran} commands were found")
        print(f"{name}: {ran} commands ran")


main()
