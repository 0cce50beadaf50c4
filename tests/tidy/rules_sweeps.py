# SPDX-License-Identifier: BSL-1.0
"""No public function that waits is forgotten: some test cancels it before each of its handlers."""

import re

from tree import Finding

_PUBLIC = re.compile(r"(coro|lib|txn|txn/http|outbox)/include/")
_PRIVATE = re.compile(r"/(detail|impl)/")
_CLASS = re.compile(r"^(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)[^;]*$")
_ASYNC = re.compile(r"(?<![\w.>:])(async_\w+)\s*\(")
_DOCUMENTED = re.compile(r"\s*///\s*@par Cancellation\b")
_NAME = re.compile(r"(\w+)\s*\(")
_LITERAL = re.compile(r'"(\w+(?:::\w+)?)"')
_SWEEPING = re.compile(r"\bcancel_sweep\b|\bswept_operation\b")


def _enclosing(lines):
    """For each line the class that it stands in, or nothing."""
    inside, found = None, []
    for line in lines:
        match = _CLASS.match(line)
        if match:
            inside = match.group(1)
        elif re.match(r"\};?", line):
            inside = None
        found.append(inside)
    return found


def _documented_name(source, number):
    """What the comment is about: line and name of the declaration that follows it."""
    code = source.code_lines
    while number < len(code) and source.lines[number].lstrip().startswith("///"):
        number += 1
    match = _NAME.search("\n".join(code[number:]))
    if not match:
        return None
    return number + "\n".join(code[number:])[: match.start()].count("\n"), match.group(1)


def waiting_functions(source):
    """Pairs of line number and name, such as `mutex::async_lock`, of what a header declares."""
    classes = _enclosing(source.code_lines)
    declared = {}
    for index, line in enumerate(source.code_lines):
        names = [(index, name) for name in _ASYNC.findall(line)]
        if _DOCUMENTED.match(source.lines[index]):
            names += filter(None, [_documented_name(source, index)])
        for where, name in names:
            full = f"{classes[where]}::{name}" if classes[where] else name
            declared.setdefault(full, where + 1)
    return sorted((number, name) for name, number in declared.items())


def sweeps(tree):
    """A name stands in a test that sweeps, as a string; and what stands there is declared."""
    named = {}
    for source in tree.cpp():
        if source.path.startswith("tests/") and _SWEEPING.search(source.code):
            for number, line in enumerate(source.lines, 1):
                for name in _LITERAL.findall(line):
                    named.setdefault(name, (source.path, number))
    declared = set()
    for source in tree.cpp():
        if not _PUBLIC.match(source.path) or _PRIVATE.search(source.path):
            continue
        for number, name in waiting_functions(source):
            declared.add(name)
            if name not in named:
                text = f'no sweep cancels "{name}": name it in tests/conformance/' \
                    "swept_operations.cpp, or in a test that calls cancel_sweep"
                yield Finding(source.path, number, "sweeps", text)
    for name, (path, number) in sorted(named.items()):
        if re.fullmatch(r"\w+::async_\w+", name) and name not in declared:
            yield Finding(path, number, "sweeps", f'no public header declares "{name}"')
