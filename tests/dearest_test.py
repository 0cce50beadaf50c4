# SPDX-License-Identifier: BSL-1.0
"""`./run test --times` adds up what Ninja, ctest and the test binaries have noted."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import dearest

NINJA = (
    "# ninja log v5\n"
    "0\t9000\t0\told.cpp.o\tabc\n"
    "0\t2500\t0\told.cpp.o\tabd\n"
    "2500\t3500\t0\tunit_tests\tabe\n"
)
CTEST = "1/2 Test: unit.1\nTest time =   7.25 sec\n2/2 Test: unit.2\nTest time =   1.50 sec\n"
CASES = {
    "testsuites": [
        {
            "name": "Redis/CancelSweep",
            "testsuite": [{"name": "A/0", "time": "1.5s"}, {"name": "B/0", "time": "2s"}],
        },
        {"name": "Redis/StorePort", "testsuite": [{"name": "C/0", "time": "0.25s"}]},
        {"name": "Redis/StorePortShared", "testsuite": [{"name": "F/0", "time": "0.5s"}]},
        {"name": "Points/KafkaCrash", "testsuite": [{"name": "D/0", "time": "8s"}]},
        {"name": "Mutex", "testsuite": [{"name": "E", "time": "0.5s"}]},
    ]
}


class Dearest(unittest.TestCase):
    def setUp(self):
        self.here = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.here.name)
        (folder / ".ninja_log").write_text(NINJA)
        (folder / "Testing" / "Temporary").mkdir(parents=True)
        (folder / "Testing" / "Temporary" / "LastTest.log").write_text(CTEST)
        (folder / "times").mkdir()
        (folder / "times" / "unit.1.json").write_text(json.dumps(CASES))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            dearest.show_build(folder)
            dearest.show_entries(folder)
            dearest.show_cases(folder)
        self.lines = [" ".join(line.split()) for line in printed.getvalue().splitlines()]

    def tearDown(self):
        self.here.cleanup()

    def block(self, title: str) -> list[str]:
        begin = next(i for i, line in enumerate(self.lines) if line.startswith(title))
        end = next((i for i in range(begin, len(self.lines)) if not self.lines[i]), len(self.lines))
        return self.lines[begin:end]

    def test_the_newest_build_of_an_output_counts(self):
        self.assertEqual(self.block("Sources"), ["Sources: 2 s in 1", "2.50 old.cpp.o"])
        self.assertEqual(self.block("Links")[1:], ["1.00 unit_tests"])

    def test_the_dearest_entry_comes_first(self):
        self.assertEqual(self.block("Entries")[1:], ["7.25 unit.1", "1.50 unit.2"])

    def test_cases_are_added_up_by_suite_and_by_store(self):
        self.assertEqual(self.block("Suites")[1], "8.00 Points/KafkaCrash")
        self.assertIn("3.50 Redis/CancelSweep", self.block("Suites"))
        row = [cell.strip() for cell in self.block("Stores")[3].split("|")[1:-1]]
        self.assertEqual(row, ["Redis", "2, 0.8 s", "", "", "", "", "2, 3.5 s", "", "4, 4.2 s"])
        self.assertEqual(self.block("Cases")[1], "8.00 Points/KafkaCrash.D/0")


if __name__ == "__main__":
    unittest.main()
