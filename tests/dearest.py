#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""dearest.py BUILD_FOLDER: the thirty dearest sources, binaries and suites of a build and its
tests, and what each store costs

Reads Ninja's log of the build, ctest's log of the last run, and the times that the test binaries
left in BUILD_FOLDER/times (`./run test --times`).
"""

import collections
import json
import pathlib
import re
import sys

ROWS_MAX = 30
SUITES_OF_STORES = (
    "StorePort",
    "StoreRules",
    "LockConformance",
    "LockThreads",
    "ContextEnd",
    "CancelSweep",
    "FaultSweep",
)


def built(folder: pathlib.Path) -> dict[str, float]:
    """Seconds of each output; the newest build of it counts."""
    seconds = {}
    for line in (folder / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, output, _ = line.split("\t")
        seconds[output] = (int(end) - int(begin)) / 1000
    return seconds


def show(title: str, seconds: dict[str, float]) -> None:
    print(f"\n{title}: {sum(seconds.values()):.0f} s in {len(seconds)}")
    for name in sorted(seconds, key=seconds.get, reverse=True)[:ROWS_MAX]:
        print(f"  {seconds[name]:8.2f}  {name}")


def show_build(folder: pathlib.Path) -> None:
    outputs = built(folder)
    show("Sources", {name: time for name, time in outputs.items() if name.endswith(".o")})
    links = {name: time for name, time in outputs.items() if not name.endswith((".o", ".ok"))}
    show("Links and the rest", links)


def show_entries(folder: pathlib.Path) -> None:
    log = folder / "Testing" / "Temporary" / "LastTest.log"
    entries, name = {}, ""
    for line in log.read_text(errors="replace").splitlines():
        if found := re.match(r"\d+/\d+ Test: (.*)", line):
            name = found.group(1)
        elif found := re.match(r"Test time = +([\d.]+) sec", line):
            entries[name] = float(found.group(1))
    show("Entries of ctest", entries)


def store_of(suite: str) -> tuple[str, str] | None:
    """The store and the suite of an instance of a suite for all stores: "Redis/CancelSweep". A part
    of a suite counts as the suite: "Redis/StorePortShared"."""
    store, slash, name = suite.partition("/")
    whole = next((each for each in SUITES_OF_STORES if name.startswith(each)), None)
    return (store, whole) if slash and whole else None


def show_stores(stores: dict[str, dict[str, list[float]]]) -> None:
    """A row for each store, as in docs/testing.md: tests, seconds."""
    print("\nStores: tests and seconds of the suites for all of them")
    print("| store | " + " | ".join(SUITES_OF_STORES) + " | all |")
    print("| --- " * (len(SUITES_OF_STORES) + 2) + "|")
    for store, suites in sorted(stores.items()):
        columns = [suites.get(suite, []) for suite in SUITES_OF_STORES]
        columns.append([seconds for column in columns for seconds in column])
        cells = (f"{len(each)}, {sum(each):.1f} s" if each else "" for each in columns)
        print(f"| {store} | " + " | ".join(cells) + " |")


def show_cases(folder: pathlib.Path) -> None:
    suites, cases = collections.Counter(), {}
    stores = collections.defaultdict(lambda: collections.defaultdict(list))
    for report in (folder / "times").glob("*.json"):
        for suite in json.loads(report.read_text())["testsuites"]:
            for case in suite["testsuite"]:
                seconds = float(case["time"].rstrip("s"))
                suites[suite["name"]] += seconds
                if place := store_of(suite["name"]):
                    stores[place[0]][place[1]].append(seconds)
                cases[f"{suite['name']}.{case['name']}"] = seconds
    show_stores(stores)
    show("Suites", suites)
    show("Cases", cases)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    show_build(folder)
    show_entries(folder)
    show_cases(folder)


if __name__ == "__main__":
    main()
