#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""check_models.py MODEL.pml [FOLDER]: searches a model with Spin, and each fault that it plants.

The first comment of a model says what to do, a line each:

    search NAME: safety|cycles|ltl FORMULA [MACRO[=VALUE]...]
    fault MACRO of NAME: what is wrong then

A search must go through all states and find nothing. `safety` looks for broken assertions and for
states where nothing goes on although somebody has not come to an end; `cycles` for runs that never
end; `ltl` for runs, weakly fair, that break the formula. The search of a fault, with its macro
defined, must find something. And some search must reach each line of the model, for what is never
reached proves nothing.

What belongs to a failure is kept in FOLDER; the last line tells how to see it.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import time
import typing

MEMORY_MB_MAX = 900
DEPTH_MAX = 1_000_000
SECONDS_MAX = 240
SEARCH = re.compile(r" \* search (\w+): (safety|cycles|ltl (\w+))((?: \w+(?:=\w+)?)*)")
FAULT = re.compile(r" \* fault (\w+) of (\w+): .+")
FOUND = re.compile(r"^pan:1: ((?:assertion violated|invalid end state|non-progress cycle|"
                   r"acceptance cycle).*)$", re.M)
BUILD = {"safety": ["-DSAFETY", "-DNOCLAIM"], "cycles": ["-DNP"], "ltl": ["-DNFAIR=3"]}


class Failure(Exception):
    """A model that does not do what it must; says how to see it."""


class Search(typing.NamedTuple):
    name: str
    kind: str  # safety, cycles, ltl
    formula: str
    macros: tuple[str, ...]

    def options(self):
        return {"safety": [], "cycles": ["-l"], "ltl": ["-a", "-f", "-N", self.formula]}[self.kind]

    def defines(self):
        return [f"-D{macro}" for macro in self.macros]


class Result(typing.NamedTuple):
    found: str  # what was found, as pan puts it; empty: nothing
    complete: bool
    states: int
    seconds: float
    lines: set[int]  # that have a statement
    reached: set[int]
    text: str


def plan_of(text):
    """The searches of a model by their names, and its faults: pairs of macro and search."""
    head = text[:text.find("*/")]
    searches, faults = {}, []
    for line in head.splitlines():
        search = SEARCH.fullmatch(line)
        fault = FAULT.fullmatch(line)
        if search:
            name, kind, formula, macros = search.groups()
            searches[name] = Search(name, kind.split()[0], formula or "", tuple(macros.split()))
        elif fault:
            faults.append(fault.groups())
        elif re.match(r" \* (search|fault)\b", line):
            raise Failure(f"not understood: {line}")
    if not searches or not faults:
        raise Failure("the first comment names no search, or no fault")
    for macro, name in faults:
        if name not in searches:
            raise Failure(f"the fault {macro} is of an unknown search, {name}")
        if not re.search(rf"^#.*\b{macro}\b", text[len(head):], re.M):
            raise Failure(f"nothing depends on the fault {macro}")
    return searches, faults


def called(command, folder, what):
    """Its output; a failure if it fails or takes too long."""
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, timeout=SECONDS_MAX, check=False)
    except FileNotFoundError as missing:
        raise Failure(f"{what} is not there: {missing}") from missing
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{what} takes more than {SECONDS_MAX} s") from late
    if done.returncode != 0 or "Error: " in done.stdout:
        raise Failure(f"{what} failed:\n{done.stdout}\n    {' '.join(command)}")
    return done.stdout


def table(code, name):
    """The numbers of one array of pan.c, if it is there."""
    found = re.search(rf"\b{name} \[\] = \{{(.*?)\}};", code, re.S)
    return [int(word) for word in re.findall(r"\d+", found.group(1))] if found else None


def coverage(code, text):
    """Which lines have statements, and which of these were reached: by pan's own tables."""
    lines, reached = set(), set()
    sections = re.findall(r"^unreached in proctype \w+\n((?:\t.*\n)*)", text, re.M)
    for number, section in enumerate(sections):
        places, none = table(code, f"src_ln{number}"), table(code, f"reached{number}")
        if places is None or none is None:
            raise Failure("this version of Spin does not tell what was reached")
        missed = {int(state) for state in re.findall(r", state (\d+), ", section)}
        for state, place in enumerate(places):
            ends = re.search(rf", state {state}, \"-end-\"", section)
            if none[state] == 0 and place != 0 and not ends:
                lines.add(place)
                if state not in missed:
                    reached.add(place)
    return lines, reached


def run(model, search, folder, level):
    """Builds and runs one search in that folder, optimised to that level."""
    called(["spin", *search.defines(), "-a", str(model)], folder, "spin")
    called(["cc", "-w", level, f"-DMEMLIM={MEMORY_MB_MAX}", *BUILD[search.kind], "-o", "pan",
            "pan.c"], folder, "the compiler")
    begin = time.monotonic()
    text = called(["./pan", f"-m{DEPTH_MAX}", *search.options()], folder, "the search")
    seconds = time.monotonic() - begin
    errors = re.search(r"errors: (\d+)", text)
    states = re.search(r"^\s*([\d.e+]+) states, stored", text, re.M)
    if not errors or not states:
        raise Failure(f"the search says nothing of its result:\n{text}")
    found = FOUND.search(text)
    if (int(errors.group(1)) != 0) != bool(found):
        raise Failure(f"the search failed otherwise:\n{text}")
    cut = re.search(r"not completed|too small|reached -DMEMLIM|out of memory|aborting", text)
    code = (pathlib.Path(folder) / "pan.c").read_text(encoding="utf-8", errors="replace")
    lines, reached = (set(), set()) if found else coverage(code, text)
    return Result(found.group(1) if found else "", not cut, int(float(states.group(1))), seconds,
                  lines, reached, text)


def kept_trail(model, search, folder, keep):
    """Moves the trail to where it stays; the command that replays it."""
    trail = (keep / f"{model.stem}.{'.'.join((search.name, *search.macros))}.trail").resolve()
    keep.mkdir(parents=True, exist_ok=True)
    (pathlib.Path(folder) / f"{model.name}.trail").replace(trail)
    defines = " ".join(search.defines())
    return f"cd {keep.resolve()} && spin -k {trail.name} -p -g -l {defines} {model}"


def searched(model, search, keep):
    """One search of the model as it is."""
    with tempfile.TemporaryDirectory() as folder:
        result = run(model, search, folder, "-O1")  # A long search pays for its compilation.
        print(f"search {search.name:<18} {search.kind:<7} {result.states:>9,} states "
              f"{result.seconds:6.1f} s", flush=True)
        if result.found:
            raise Failure(f"found: {result.found}\n{kept_trail(model, search, folder, keep)}")
        if not result.complete:
            raise Failure(f"the search is not complete:\n{result.text}")
    return result


def tried(model, search, macro):
    """The search for a fault."""
    search = search._replace(macros=(*search.macros, macro))
    with tempfile.TemporaryDirectory() as folder:
        result = run(model, search, folder, "-O0")
    print(f"fault  {macro:<26} {result.states:>9,} states {result.seconds:6.1f} s  "
          f"{result.found[:60]}", flush=True)
    if not result.found:
        raise Failure(f"the fault {macro} is not found. To search by hand:\n"
                      f"spin {' '.join(search.defines())} -a {model} && "
                      f"cc {' '.join(BUILD[search.kind])} -o pan pan.c && "
                      f"./pan -m{DEPTH_MAX} {' '.join(search.options())}")


def check(model, keep):
    """All of one model. @throws Failure"""
    searches, faults = plan_of(model.read_text(encoding="utf-8"))
    lines, reached = set(), set()
    for search in searches.values():
        result = searched(model, search, keep)
        lines |= result.lines
        reached |= result.reached
    for macro, name in faults:
        tried(model, searches[name], macro)
    if lines - reached:
        numbers = ", ".join(str(line) for line in sorted(lines - reached))
        raise Failure(f"never reached in {model}: line {numbers}")
    print(f"{len(reached)} lines with statements, all reached")


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: check_models.py MODEL.pml [FOLDER]")
    model = pathlib.Path(sys.argv[1]).resolve()
    keep = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else ".")
    try:
        check(model, keep)
    except Failure as failure:
        print(f"{model.name}: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
