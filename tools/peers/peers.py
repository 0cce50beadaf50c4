#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Lock libraries of other projects beside mortise, in turns, each turn at a Redis server of its own

`./run bench --peers` calls this; README.md beside this file says what is measured, and how.
"""

import argparse
import datetime
import os
import pathlib
import platform
import shutil
import signal
import statistics
import sys

import libraries
from measure import Failed, Load, Result, Server

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = (
    "load",
    "library",
    "locks/s",
    "longest wait",
    "commands a lock",
    "reads a lock",
    "overlaps",
)


def load_of(kind: str, seconds: float, warm_up: float) -> Load:
    if kind == "uncontended":
        return Load(kind, 1, 1, 0, 0, seconds, warm_up)
    return Load(kind, 8, 8, 2, 0 if kind == "greedy" else 50, seconds, warm_up)


def median_of(results: list[Result]) -> Result:
    """The median of each figure; overlaps are added up, for one of them is one too many."""

    def middle(name: str) -> float | None:
        figures = [getattr(result, name) for result in results]
        return None if None in figures else statistics.median(figures)

    overlaps = [result.overlaps for result in results]
    return Result(
        results[-1].version,
        middle("locks_per_s"),
        middle("wait_ms_max"),
        None if None in overlaps else sum(overlaps),
        middle("commands_per_lock"),
        middle("reads_per_lock"),
    )


class Bench:
    """All turns: the results of each library and load, and why a library was skipped."""

    def __init__(self, peers: list, loads: list[Load], note=lambda text: None):
        self.peers = peers
        self.loads = loads
        self.note = note
        self.results: dict[tuple[str, str], list[Result]] = {}
        self.skipped: dict[str, str] = {}

    def prepare(self, folder: pathlib.Path) -> None:
        for peer in self.peers:
            self.note(f"preparing {peer.name}")
            try:
                peer.prepare(folder)
            except Failed as failure:
                self.skip(peer, str(failure))

    def skip(self, peer, reason: str) -> None:
        self.note(f"{peer.name} is skipped: {reason}")
        self.skipped[peer.name] = reason

    def run(self, rounds: int, new_server) -> None:
        """A B C, A B C: a slow phase of the machine slows all of them alike."""
        for number in range(1, rounds + 1):
            for load in self.loads:
                for peer in self.peers:
                    if peer.name not in self.skipped and load.kind in peer.kinds:
                        self.note(f"round {number} of {rounds}: {load.kind}, {peer.name}")
                        self.turn(peer, load, new_server)

    def turn(self, peer, load: Load, new_server) -> None:
        try:
            with new_server() as server:
                result = peer.measure(server, load)
        except Failed as failure:
            self.skip(peer, f"{load.kind}: {failure}")
            return
        self.results.setdefault((load.kind, peer.name), []).append(result)

    def rows(self) -> list[tuple[str, ...]]:
        return [
            row_of(load.kind, peer.name, median_of(self.results[load.kind, peer.name]))
            for load in self.loads
            for peer in self.peers
            if (load.kind, peer.name) in self.results
        ]

    def versions(self) -> list[str]:
        """One text for each library that was measured: its version, and how its waiters wait."""
        texts = []
        for peer in self.peers:
            keys = [key for key in self.results if key[1] == peer.name]
            if keys:
                version = self.results[keys[0]][0].version
                texts.append(f"{peer.name} ({version}): {peer.waits}")
        return texts


def row_of(kind: str, name: str, result: Result) -> tuple[str, ...]:
    wait, overlaps = result.wait_ms_max, result.overlaps
    return (
        kind,
        name,
        f"{result.locks_per_s:,.0f}",
        "" if wait is None else f"{wait:,.1f} ms" if wait < 10 else f"{wait:,.0f} ms",
        f"{result.commands_per_lock:.1f}",
        f"{result.reads_per_lock:.1f}",
        "" if overlaps is None else str(overlaps),
    )


def plain(rows: list[tuple[str, ...]]) -> str:
    table = [COLUMNS, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(COLUMNS))]
    lines = []
    for row in table:
        left = [row[i].ljust(widths[i]) for i in range(2)]
        right = [row[i].rjust(widths[i]) for i in range(2, len(COLUMNS))]
        lines.append("  ".join(left + right).rstrip())
    return "\n".join(lines)


def markdown(rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def report(bench: Bench, surroundings: str, as_markdown: bool) -> str:
    shown = markdown(bench.rows()) if as_markdown else plain(bench.rows())
    notes = bench.versions()
    notes += [f"{name}: skipped. {reason}" for name, reason in bench.skipped.items()]
    bullet = "* " if as_markdown else "  "
    return "\n\n".join([surroundings, shown, "\n".join(bullet + note for note in notes)])


def surroundings_of(redis: str, rounds: int, seconds: float) -> str:
    day = datetime.date.today().isoformat()
    processors = len(os.sched_getaffinity(0))
    busy = os.getloadavg()[0]
    return (
        f"{day}, Linux {platform.release()} {platform.machine()}, {processors} processors "
        f"(load {busy:.1f}), Redis {redis} on loopback; medians of {rounds} rounds of {seconds:g} s"
    )


def names(text: str) -> list[str]:
    return [name.strip().lower() for name in text.split(",") if name.strip()]


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run bench --peers",
        description="Redis lock libraries beside mortise, in turns, in one table.",
    )
    add = parser.add_argument
    add("--rounds", type=int, default=3, help="turns of each library; default: 3")
    add("--seconds", type=float, default=10, help="of each measurement; default: 10")
    add("--warm-up", type=float, default=3, help="seconds before it that do not count; default: 3")
    add("--short", action="store_true", help="one round, measurements of 2 s")
    add("--only", type=names, help="libraries: mortise,redsync,redis-py,redisson")
    add("--kinds", type=names, default=list(libraries.KINDS), help="uncontended,contended,greedy")
    add("--markdown", action="store_true", help="the table as Markdown")
    add("--folder", type=pathlib.Path, default=ROOT / ".deps" / "peers", help=argparse.SUPPRESS)
    add(
        "--mortise",
        type=pathlib.Path,
        default=ROOT / ".build" / "release" / "tools" / "mortise",
        help=argparse.SUPPRESS,
    )
    chosen = parser.parse_args(words)
    if chosen.short:
        chosen.rounds, chosen.seconds = 1, 2
    if chosen.rounds < 1 or chosen.seconds < 1 or chosen.warm_up < 0:
        parser.error("at least one round, and measurements of at least 1 s")
    if unknown := set(chosen.kinds) - set(libraries.KINDS):
        parser.error(f"there is no load {', '.join(sorted(unknown))}")
    return chosen


def word_of(peer) -> str:
    return peer.name.lower().split()[0].rstrip(",")


def choose(peers: list, only: list[str] | None) -> list:
    """`mortise` and `redisson` name both of their rows."""
    if only is None:
        return peers
    chosen = [peer for peer in peers if word_of(peer) in only]
    known = {word_of(peer) for peer in peers}
    if unknown := set(only) - known:
        there_are = ", ".join(sorted(known))
        raise SystemExit(f"peers: there is no {', '.join(sorted(unknown))}, only {there_are}")
    return chosen


def main(words: list[str]) -> int:
    chosen = parse(words)
    program = shutil.which("redis-server")
    if not program:
        raise SystemExit("peers: there is no redis-server; `./run bench --peers` provides it")
    peers = [
        libraries.Mortise(chosen.mortise),
        libraries.MortiseNoLocal(chosen.mortise),
        libraries.Redsync(),
        libraries.RedisPy(),
        libraries.Redisson(),
        libraries.RedissonFair(),
    ]
    loads = [load_of(kind, chosen.seconds, chosen.warm_up) for kind in chosen.kinds]

    def note(text: str) -> None:
        print(f"    {text}", file=sys.stderr, flush=True)

    bench = Bench(choose(peers, chosen.only), loads, note)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    bench.prepare(chosen.folder.resolve())
    with Server(program) as server:
        redis = server.version()
    bench.run(chosen.rounds, lambda: Server(program))
    print(report(bench, surroundings_of(redis, chosen.rounds, chosen.seconds), chosen.markdown))
    return 0 if bench.results else 1


if __name__ == "__main__":
    # As by Ctrl-C: the server and the workers end with the driver.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
