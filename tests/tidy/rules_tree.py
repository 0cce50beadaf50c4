# SPDX-License-Identifier: BSL-1.0
"""Rules about the whole: who includes whom, what the build lists, what the documents cover."""

import fnmatch
import os
import re

from tree import Finding

LIBRARIES = ("coro", "lib", "txn", "outbox")
WITH_HEADERS = r"(coro|lib|txn|txn/http|outbox|outbox/kafka)"
MAY_KNOW = {
    "coro": {"coro"},
    "lib": {"coro", "lib"},
    "txn": {"coro", "lib", "txn"},
    "outbox": {"coro", "lib", "outbox"},
}
# Who may know whom in tools/. What lies beside the folders is the program: it knows all of them.
TOOLS_MAY_KNOW = {
    "common": {"common"},
    "lock": {"common", "lock"},
    "txn": {"common", "txn"},
    "outbox": {"common", "outbox"},
    "bench": {"common", "outbox", "bench"},
}
BUILT_FOLDERS = LIBRARIES + ("tools", "examples", "tests")


def _room(include):
    """The room that a header `mortise/...` lives in."""
    for name in ("coro", "txn", "outbox"):
        if include.startswith(f"mortise/{name}/"):
            return name
    return "outbox" if include.startswith("mortise/kafka/") else "lib"


def _is_public(source):
    return re.match(WITH_HEADERS + "/include/", source.path) is not None


def _objections(source, include):
    """What is wrong with one #include of one file."""
    name, room = include[1:-1], source.path.split("/")[0]
    if ".." in name.split("/"):
        yield "an include names its way from the root, without '..'"
    if name.startswith("mortise/") and _room(name) not in MAY_KNOW.get(room, {_room(name)}):
        yield f"{room} does not know {_room(name)}"
    place = re.match(r"tools/(\w+)/", source.path)
    other = name.split("/")[0]
    if place and include.startswith('"') and other in TOOLS_MAY_KNOW:
        if other not in TOOLS_MAY_KNOW.get(place.group(1), {other}):
            yield f"tools/{place.group(1)} does not know tools/{other}"
    if room not in LIBRARIES and re.match(WITH_HEADERS + "/(src|include)/", name):
        yield "only what is public is used from outside"
    if _is_public(source):
        if (include.startswith('"') and not name.startswith("mortise/")) or "src/" in name:
            yield "a public header includes public headers only"
        if name == "boost/asio.hpp" or "/experimental/" in name:
            yield "neither <boost/asio.hpp> nor experimental headers in public"


def includes(tree):
    for source in tree.cpp():
        for number, include in source.includes():
            for text in _objections(source, include):
                yield Finding(source.path, number, "includes", f"{include}: {text}")


def _find_header(tree, source, include):
    name = include[1:-1]
    places = [os.path.dirname(source.path)]
    places += [f"{library}/{kind}" for library in LIBRARIES for kind in ("include", "src")]
    for place in places:
        found = tree.by_path.get(os.path.normpath(os.path.join(place, name)))
        if found:
            return found
    return None


def sans_io(tree):
    """lib/src/core and lib/src/wire stay free of Asio, also by way of our own headers."""
    def reaches_asio(source, seen):
        for _, include in source.includes():
            if re.match(r"boost/(asio|beast)\b", include[1:-1]):
                return True
            header = _find_header(tree, source, include)
            if header and header.path not in seen:
                seen.add(header.path)
                if reaches_asio(header, seen):
                    return True
        return False

    for source in tree.cpp():
        if not re.match(r"(lib|txn|outbox)/src/(core|wire)/", source.path):
            continue
        for number, include in source.includes():
            header = _find_header(tree, source, include)
            direct = re.match(r"boost/(asio|beast)\b", include[1:-1])
            if direct or (header and reaches_asio(header, {header.path})):
                text = f"{include} brings Asio into a state machine"
                yield Finding(source.path, number, "sans-io", text)


def _listed(tree):
    """Every word of every CMakeLists.txt, as a path from the root."""
    words = set()
    for source in tree.sources:
        if source.name != "CMakeLists.txt":
            continue
        folder = os.path.dirname(source.path)
        for line in source.lines:
            for word in re.findall(r"[\w./-]+", line.split("#")[0]):
                words.add(os.path.normpath(os.path.join(folder, word)))
                words.add(os.path.normpath(os.path.join(folder, "include", word)))
    return words


def built(tree):
    """A header that is not listed is not checked alone; a source or a model that is not is dead."""
    listed = _listed(tree)
    for source in tree.sources:
        if source.is_model and source.path not in listed:
            yield Finding(source.path, 0, "built", "no CMakeLists.txt names this model")
    for source in tree.cpp():
        if source.path.split("/")[0] not in BUILT_FOLDERS or source.path in listed:
            continue
        if fnmatch.fnmatch(source.path, "tests/consumer/*"):
            continue # projects of their own
        if source.path.endswith(".cpp") or _is_public(source):
            yield Finding(source.path, 0, "built", "no CMakeLists.txt names this file")


def guarantees(tree):
    """A store that has a conformance line has a column in docs/guarantees.md."""
    page = tree.by_path.get("docs/guarantees.md")
    heads = [line.lower() for line in page.lines if line.startswith("|")] if page else []
    for source in tree.cpp():
        for number, line in enumerate(source.code_lines, 1):
            match = re.match(r"\s*MORTISE_LOCK_CONFORMANCE\(\s*(\w+)", line)
            if not match:
                continue
            store = match.group(1).lower()
            if not any(re.search(rf"\|[^|]*\b{store}\b[^|]*\|", head) for head in heads):
                text = f"docs/guarantees.md has no column for {match.group(1)}"
                yield Finding(source.path, number, "guarantees", text)


def version(tree):
    """The header says the version that CMake says."""
    build, header = tree.by_path.get("CMakeLists.txt"), "lib/include/mortise/version.hpp"
    if build is None or header not in tree.by_path:
        return
    project = build.text[build.text.find("project("):]
    stated = re.search(r"\bVERSION\s+(\d+)\.(\d+)\.(\d+)", project)
    for name, number in zip(("MAJOR", "MINOR", "PATCH"), stated.groups() if stated else ()):
        for line, text in enumerate(tree.by_path[header].lines, 1):
            said = re.match(rf"\s*#\s*define\s+MORTISE_VERSION_{name}\s+(\d+)", text)
            if said and said.group(1) != number:
                yield Finding(header, line, "version", f"CMakeLists.txt says {number}")
