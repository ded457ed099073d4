#!/usr/bin/python3
"""The sources themselves. `$MYPY_CACHE_DIR`, if it is set, makes a second check quick."""
import os
import pathlib
import subprocess
import sys
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parent.parent


class Source(unittest.TestCase):
    def test_the_blocking_nouns_are_made_from_the_awaitable_ones(self):
        check = subprocess.run([sys.executable, f"{PACKAGE}/tools/unasync.py", "--check"])
        self.assertEqual(check.returncode, 0)

    def test_types_are_strict(self):
        cache = os.environ.get("MYPY_CACHE_DIR", "/dev/null")
        check = subprocess.run(["mypy", "--strict", "--python-executable", "/usr/bin/python3", "--cache-dir", cache, "src/once"],
                               cwd=PACKAGE, capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout)


if __name__ == "__main__":
    unittest.main()
