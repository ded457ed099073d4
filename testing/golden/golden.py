#!/usr/bin/env python3
"""golden.py check|record PART PROGRAM... [--in DIRECTORY]

The bytes that Once sends and stores, as the binary of 2026-11-16 did. `check` plays the same again with today's programs and
compares with PART.txt in DIRECTORY, the one that this file is in unless another is given. The parts:

  api ONCE, clients ONCE, proxy ONCE    what is sent and answered
  remote ONCE REMOTE_CALLS              what the library sends to a server
  stored ONCE, library LIBRARY_RECORDS  what is read from directories that the older programs wrote

`record` writes PART.txt, and is for a change of the contract that is meant: say in the commit which and why.
`golden.py make stored ONCE` and `golden.py make library LIBRARY_RECORDS` write the directories (*.tar.gz) anew, which makes sense
with programs that are older than the tree.
"""
import difflib
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True  # The tree stays as it is.

import api
import clients
import proxy
import stored

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parent.parent


def played(what, programs, work, directory):
    if what == "remote":
        return clients.record_remote(*programs, work)
    if what == "library":
        return stored.record_library(*programs, work, directory)
    if what == "stored":
        return stored.record(*programs, work, REPO, directory)
    return {"api": api, "clients": clients, "proxy": proxy}[what].record(*programs, work, REPO)


def compare(before, now, name):
    """Where they differ, with the request before it."""
    faults = list(difflib.unified_diff(before.splitlines(), now.splitlines(), name, "now", lineterm="", n=12))
    if faults:
        print("\n".join(faults[:200]))
        raise SystemExit(f"FAILED: not as in {name}")


def main(verb, what, *arguments):
    directory = pathlib.Path(arguments[-1]) if "--in" in arguments else HERE
    programs = [str(pathlib.Path(one).resolve()) for one in (arguments[:-2] if "--in" in arguments else arguments)]
    file = directory / f"{what}.txt"
    with tempfile.TemporaryDirectory(prefix="once-golden.") as name:
        work = pathlib.Path(name)
        if verb == "make":
            {"stored": stored.make, "library": stored.make_library}[what](*programs, work, HERE)
            return
        now = played(what, programs, work, directory).rstrip("\n") + "\n"
    if verb == "record":
        file.write_text(now, encoding="utf-8")
    else:
        compare(file.read_text(encoding="utf-8"), now, file.name)
        print(f"{now.count(chr(10))} lines as in {file.name}")


main(*sys.argv[1:])
