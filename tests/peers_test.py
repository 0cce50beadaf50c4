# SPDX-License-Identifier: BSL-1.0
"""`./run bench --peers` takes turns, takes medians, judges overlaps and leaves out what is missing;
without a network, a Redis server or the libraries."""

import contextlib
import io
import pathlib
import sys
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "peers"))

import libraries  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402

MS = 1_000_000
LOAD = measure.Load("contended", 2, 3, 2, 50, 1.0, 0.05)
# A program as the driver expects one: each worker holds the lock for one ms in a slot of its own.
PROGRAM = """
import json, sys, time
print("a greeting of the library")
print("ready", flush=True)
end = int(sys.stdin.readline())
records = []
while (now := time.monotonic_ns()) < end:
    records += (now, now + 10, now + 20)
    time.sleep(0.01)
print(json.dumps({"version": "1.2", "records": [records, []]}))
"""


class FakeServer:
    address = "127.0.0.1:1"

    def __init__(self):
        self.commands = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def counts(self):
        self.commands += 1000
        return measure.Counts(self.commands, self.commands // 2)


class FakeLibrary(libraries.Library):
    waits = "not at all"

    def __init__(self, name, speeds, turns, missing=None, fails_at=None):
        self.name, self.speeds, self.turns = name, iter(speeds), turns
        self.missing, self.fails_at = missing, fails_at

    def prepare(self, folder):
        if self.missing:
            raise measure.Failed(self.missing)

    def measure(self, server, load):
        self.turns.append((load.kind, self.name))
        if load.kind == self.fails_at:
            raise measure.Failed("exit code 1: out of memory")
        return measure.Result("1.0", next(self.speeds), 20.0, 1, 4.0, 2.0)


def bench_of(library, *more, kinds=("contended",), rounds=3):
    loads = [peers.load_of(kind, 1, 0) for kind in kinds]
    bench = peers.Bench([library, *more], loads)
    bench.prepare(pathlib.Path("unused"))
    bench.run(rounds, FakeServer)
    return bench


class Turns(unittest.TestCase):
    def test_libraries_alternate_and_the_median_counts(self):
        turns = []
        first, second = FakeLibrary("a", [9, 1, 5], turns), FakeLibrary("b", [7, 8, 90], turns)
        bench = bench_of(first, second)
        self.assertEqual([name for _, name in turns], ["a", "b"] * 3)
        rows = [row[:3] for row in bench.rows()]
        self.assertEqual(rows, [("contended", "a", "5"), ("contended", "b", "8")])

    def test_overlaps_are_added_up(self):
        self.assertEqual(bench_of(FakeLibrary("a", [1, 2, 3], [])).rows()[0][-1], "3")

    def test_a_missing_tool_is_named_and_the_others_go_on(self):
        turns = []
        missing = FakeLibrary("a", [], turns, missing="there is no `go`: install it")
        bench = bench_of(missing, FakeLibrary("b", [1, 2, 3], turns))
        self.assertEqual([name for _, name in turns], ["b"] * 3)
        text = peers.report(bench, "today", False)
        self.assertIn("a: skipped. there is no `go`: install it", text)
        self.assertIn("b (1.0): not at all", text)

    def test_a_library_that_fails_has_no_further_turn_and_keeps_its_results(self):
        turns = []
        kinds = ("uncontended", "contended", "greedy")
        failing = FakeLibrary("a", [4], turns, fails_at="contended")
        bench = bench_of(failing, kinds=kinds, rounds=2)
        self.assertEqual([kind for kind, _ in turns], ["uncontended", "contended"])
        self.assertEqual([row[0] for row in bench.rows()], ["uncontended"])
        self.assertIn("contended: exit code 1", bench.skipped["a"])

    def test_a_load_that_a_library_does_not_have_is_no_row(self):
        library = FakeLibrary("a", [1], [])
        library.kinds = ("greedy",)
        bench = bench_of(library, kinds=("uncontended", "greedy"), rounds=1)
        self.assertEqual([row[0] for row in bench.rows()], ["greedy"])


class Tables(unittest.TestCase):
    ROWS = [peers.row_of("greedy", "a", measure.Result("1", 1234.5, 2.25, 0, 4.04, 2))]

    def test_figures_are_rounded_and_absent_ones_are_empty(self):
        self.assertEqual(self.ROWS[0], ("greedy", "a", "1,234", "2.2 ms", "4.0", "2.0", "0"))
        absent = peers.row_of("uncontended", "a", measure.Result("1", 9, None, None))
        self.assertEqual((absent[3], absent[6]), ("", ""))

    def test_plain_columns_are_aligned(self):
        head, row = peers.plain(self.ROWS).splitlines()
        self.assertEqual(head.index("locks/s") + len("locks/s"), row.index("1,234") + 5)

    def test_markdown_has_a_line_for_each_row(self):
        lines = peers.markdown(self.ROWS).splitlines()
        self.assertEqual(lines[2], "| greedy | a | 1,234 | 2.2 ms | 4.0 | 2.0 | 0 |")

    def test_the_median_of_a_figure_that_is_absent_is_absent(self):
        self.assertIsNone(peers.median_of([measure.Result("1", 1, None, None)] * 2).wait_ms_max)


class Choices(unittest.TestCase):
    def test_mortise_names_both_of_its_rows(self):
        known = [libraries.Mortise(None), libraries.MortiseNoLocal(None), libraries.RedisPy()]
        self.assertEqual(len(peers.choose(known, ["mortise"])), 2)
        with self.assertRaises(SystemExit):
            peers.choose(known, ["redlock"])

    def test_redisson_names_both_of_its_rows(self):
        known = [libraries.Redisson(), libraries.RedissonFair(), libraries.RedisPy()]
        self.assertEqual(len(peers.choose(known, ["redisson"])), 2)

    def test_wrong_options_are_refused(self):
        for words in (["--kinds", "idle"], ["--rounds", "0"], ["--seconds", "0"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                peers.parse(words)
        self.assertEqual(peers.parse(["--short"]).rounds, 1)


class Judge(unittest.TestCase):
    def test_it_counts_grants_in_the_window_and_waits_that_outlast_it(self):
        first = [0, 1 * MS, 3 * MS, 4 * MS, 10 * MS, 12 * MS]
        second = [0, 5 * MS, 7 * MS, 8 * MS, 30 * MS, 31 * MS]
        speed, wait, overlaps = measure.judge([first, second], 4 * MS, 24 * MS)
        self.assertAlmostEqual(speed, 100)
        self.assertEqual((wait, overlaps), (22, 0))

    def test_it_sees_a_hold_that_begins_in_another(self):
        workers = [[0, 1 * MS, 9 * MS], [0, 2 * MS, 3 * MS], [0, 4 * MS, 5 * MS]]
        self.assertEqual(measure.judge(workers, 0, 10 * MS)[2], 2)

    def test_it_refuses_an_empty_window(self):
        with self.assertRaises(measure.Failed):
            measure.judge([[0, 1, 2]], 5, 6)

    def test_pings_do_not_count_as_commands(self):
        info = "total_commands_processed:50\r\ntotal_reads_processed:30\r\n"
        info += "cmdstat_ping:calls=20,usec=1\r\n"
        self.assertEqual(measure.parse_counts(info), measure.Counts(30, 10))


class Workers(unittest.TestCase):
    def test_processes_begin_together_and_report(self):
        result = measure.run_workers([sys.executable, "-c", PROGRAM], FakeServer(), LOAD)
        self.assertEqual(result.version, "1.2")
        self.assertGreater(result.locks_per_s, 0)
        self.assertGreater(result.commands_per_lock, result.reads_per_lock)

    def test_a_program_that_fails_says_why(self):
        at_once = "raise SystemExit('no module')"
        later = "print('ready'); raise SystemExit('lost')"
        for program in (at_once, later):
            with self.assertRaisesRegex(measure.Failed, "exit code 1: (no module|lost)"):
                measure.run_workers([sys.executable, "-c", program], FakeServer(), LOAD)

    def test_a_program_that_hangs_is_ended(self):
        with self.assertRaisesRegex(measure.Failed, "did not end"), measure.time_limit(0.3):
            time.sleep(10)


    def test_the_processes_of_redisson_are_clients_of_one(self):
        fair = libraries.RedissonFair()
        fair.classpath = "nowhere"
        with mock.patch.object(libraries, "run_workers") as run:
            fair.measure(FakeServer(), LOAD)
        command, _, load = run.call_args.args
        self.assertEqual(command[-4:], ["--fair", "yes", "--clients", "2"])
        self.assertEqual((load.processes, load.workers), (1, LOAD.workers))


class Tools(unittest.TestCase):
    def test_the_line_that_names_the_error_is_shown(self):
        output = "\x1b[1mScanning\x1b[m\n[ERROR] no such artifact\nfor help, see the manual\n"
        self.assertEqual(libraries.telling_line(output), "[ERROR] no such artifact")
        last = libraries.telling_line("it began\nand then it stopped")
        self.assertEqual(last, "and then it stopped")
        self.assertEqual(libraries.telling_line(""), "")


if __name__ == "__main__":
    unittest.main()
