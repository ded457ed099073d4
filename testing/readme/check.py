#!/usr/bin/env python3
"""check.py README BINARY: runs the commands of the README, or of another page, and compares what they print.

A ```console block is a session: a line "$ COMMAND", further lines of it after "> ", and what it
prints, stdout and stderr together. All of them are given to one shell, in order, in a directory of
its own. A ```crontab block has lines for cron; what they run is run, and must exit with 0. A ```sh
block may only name what NOT_HERE lists, so that no command of the README goes unnoticed.

What differs from run to run is replaced by a name in both, the README and the output: see VARYING.
The server's port is a free one in place of 7600.
"""
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE = 30.0  # Seconds for one command.
END = "@@end-of-command@@"

VARYING = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "TIME"),
    (re.compile(r"@\d{4}-\d\d-\d\d'"), "@DAY'"),
    (re.compile(r'"ticket":"[^"]*"'), '"ticket":"TICKET"'),
    (re.compile(r'"fence":\d+'), '"fence":FENCE'),
]
# What a shell says when its own job ended; not every shell does.
ABOUT_JOBS = re.compile(r"^(\S*bash: line \d+: +\d+|\[\d+\][+-]?) +Killed\b.*$")

NOT_HERE = {
    "./run": "builds; what it ends with is the binary that this test runs",
    "./test": "runs this test",
    "./pay": "package.README builds and runs it",
}


def blocks(text):
    """(line number, language, lines) of each fenced block."""
    language, start, lines = None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        if language is None and line.startswith("```"):
            language, start, lines = line[3:].strip(), number, []
        elif language is not None and line == "```":
            yield start, language, lines
            language = None
        elif language is not None:
            lines.append((number, line))
    if language is not None:
        raise SystemExit(f"line {start}: a block that does not end")


def session(lines):
    """(line number, command, expected lines) of each command of a console block."""
    commands = []
    for number, line in lines:
        if line.startswith("$ "):
            commands.append((number, line[2:], []))
        elif not commands:
            raise SystemExit(f"line {number}: output before the first command")
        elif line.startswith("> ") and not commands[-1][2]:
            before = commands[-1]
            commands[-1] = (before[0], before[1] + "\n" + line[2:], [])
        else:
            commands[-1][2].append(line)
    return commands


def plain(line):
    for pattern, name in VARYING:
        line = pattern.sub(name, line)
    return line


class Shell:
    def __init__(self, directory, environment):
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"], cwd=directory, env=environment, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        self.unread = b""

    def lines_until(self, enough):
        """What is printed until `enough(lines)`, or time is up."""
        give_up = time.monotonic() + PATIENCE
        while True:
            lines = self.unread.decode().splitlines()
            if enough(lines):
                self.unread = b""
                return lines
            left = give_up - time.monotonic()
            ready, _, _ = select.select([self.process.stdout], [], [], max(left, 0))
            more = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not more:
                return lines + ["(no more within 30 s)" if not ready else "(the shell ended)"]
            self.unread += more

    def run(self, command, expected):
        # A command in the background prints when it is ready; its reader waits for that, too.
        background = command.rstrip().endswith("&")
        self.process.stdin.write(f"{command}\nprintf '\\n%s\\n' {END}\n".encode())
        wanted = len(expected) if background else 0

        def said(lines):
            return [line for line in lines
                    if line not in ("", END) and not ABOUT_JOBS.match(line)]

        return said(self.lines_until(
            lambda lines: END in lines and len(said(lines)) >= wanted))

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def check_block(shell, port, language, start, lines):
    """How many commands were run; raises what differs."""
    if language == "console":
        commands = session(lines)
        for number, command, expected in commands:
            expected = [plain(line.replace("7600", port)) for line in expected]
            got = [plain(line) for line in shell.run(command.replace("7600", port), expected)]
            if got != expected:
                raise SystemExit("\n".join(
                    [f"line {number}: {command}", "the README shows:", *expected,
                     "it printed:", *got]))
        return len(commands)
    if language == "crontab":
        for number, line in lines:
            command = line.split(None, 5)[5].replace("7600", port)
            got = shell.run(f"sh -c {quoted(command)} >/dev/null 2>&1; echo $?", [])
            if got != ["0"]:
                raise SystemExit(f"line {number}: exits with {got}: {command}")
        return len(lines)
    if language == "sh":
        for number, line in lines:
            if line.split()[0] not in NOT_HERE:
                raise SystemExit(f"line {number}: a command that no test runs: {line}")
    elif language not in ("cmake", "cpp", "python", "toml"):
        raise SystemExit(f"line {start}: no rule for a block of '{language}'")
    return 0


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def main():
    readme, binary = sys.argv[1:3]
    port = free_port()
    with tempfile.TemporaryDirectory() as directory, open(readme, encoding="utf-8") as file:
        environment = {
            "PATH": os.path.dirname(os.path.abspath(binary)) + ":/usr/bin:/bin",
            "HOME": directory, "LANG": "C.UTF-8", "ONCE_LISTEN": f"127.0.0.1:{port}",
        }
        shell = Shell(directory, environment)
        try:
            ran = sum(check_block(shell, port, language, start, lines)
                      for start, language, lines in blocks(file.read()))
        finally:
            shell.end()
    if ran < 10:
        raise SystemExit(f"only {ran} commands were found")
    print(f"{ran} commands print what the README shows")


main()
