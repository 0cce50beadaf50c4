# SPDX-License-Identifier: BSL-1.0
"""A fuzzer that finds nothing may be blind: planted bugs are found, written down and replayed."""

import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SANITIZERS = sys.argv[1:3]


def run(*args, folder=None):
    words = [PROGRAM, "--limit", "2", *args]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace")


class Canary(unittest.TestCase):
    def check_found(self, name):
        quiet = run("--mutations", "0", name)
        self.assertEqual(quiet.returncode, 0, quiet.stderr)  # else no mutation was needed
        with tempfile.TemporaryDirectory() as folder:
            found = run(name, folder=folder)
            self.assertEqual(found.returncode, 1, found.stdout)
            lines = [line.removeprefix("fuzz_replay: ") for line in found.stderr.splitlines()]
            path = lines[-2].removeprefix("the input is in ")
            self.assertTrue(pathlib.Path(path).is_file(), found.stderr)
            words = shlex.split(lines[-1])
            self.assertEqual(words, [PROGRAM, name, path])
            again = run(*words[1:], folder=folder)
            self.assertEqual(again.returncode, 1, again.stdout)

    def test_a_property_that_does_not_hold(self):
        self.check_found("canary_property")

    def test_what_never_ends(self):
        self.check_found("canary_endless")

    @unittest.skipUnless("address" in SANITIZERS, "only AddressSanitizer sees it")
    def test_a_read_behind_the_end(self):
        self.check_found("canary_memory")

    def test_a_target_that_is_not_there(self):
        self.assertEqual(run("canary_of_nothing").returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
