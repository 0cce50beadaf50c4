# SPDX-License-Identifier: BSL-1.0
"""Rules about rooms: who knows whom inside lib/src, no circles, no headers that are too small."""

import fnmatch
import posixpath
import re

from tree import Finding

# Each room of lib/src: the rooms that it may include from, besides itself (docs/architecture.md).
MAY_KNOW = {
    "base": set(),
    "core": set(),
    "url": {"base"},
    "sqlite": {"base"},
    "tls": {"base"},
    "client": {"base", "core"},
    "store": {"base"},
    "store/life": {"base", "core"},
    "store/link": set(),
    "store/memory": {"base", "core", "store"},
    "store/sqlite": {"base", "core", "sqlite", "store", "store/life", "url"},
    "store/sql": {"base", "core", "store", "store/life", "store/link"},
    "store/redis": {"base", "core", "store", "store/link", "tls", "url"},
    "store/redlock": {"core", "store", "store/link", "store/redis", "url"},
    "store/postgres": {"base", "postgres", "store", "store/sql", "url"},
    "store/zookeeper": {"base", "core", "store", "store/link", "url", "zookeeper"},
    "store/mysql": {"base", "mysql", "store", "store/sql", "url"},
    "mysql": {"base", "db", "url"},
    "postgres": {"base", "url"},
    "zookeeper": set(),
    "db": {"base", "postgres", "sqlite"},
    "fence": {"base", "core", "sqlite"},
    "sim": {"base", "core", "store/link", "store/memory"},
}


def _room(path):
    """The room of a file, by its path below lib/src; empty for a loose file."""
    folders = path.split("/")[:-1]
    return "/".join(folders[:2] if folders[:1] == ["store"] else folders[:1])


def rooms(tree):
    """Every file of lib/src is in a room, and includes only from rooms that its room may know."""
    for source in tree.cpp():
        match = re.match(r"lib/src/(.+)", source.path)
        if not match:
            continue
        room = _room(match.group(1))
        if room not in MAY_KNOW:
            text = "no room of lib/src: MAY_KNOW in tests/tidy/rules_rooms.py lists them"
            yield Finding(source.path, 0, "rooms", text)
            continue
        for number, include in source.includes():
            name = include[1:-1]
            other = _room(name)
            if include.startswith('"') and other in MAY_KNOW and other != room:
                if other not in MAY_KNOW[room]:
                    text = f"{name}: {room} does not know {other}"
                    yield Finding(source.path, number, "rooms", text)


# A private header with fewer lines and one user in the product belongs into that user. Parts of
# the repository that still have such headers, and at most how many: the number only ever falls.
HEADER_MIN = 60
SMALL_HEADERS_LEFT = {
    "lib/*": 2,
    "txn/*": 2,
    "outbox/*": 4,
    "tools/*": 3,
    "examples/*": 15,
}


class _Includes:
    """Who includes whom, with the names of headers resolved to files of the tree."""

    def __init__(self, tree):
        self._by_path = tree.by_path
        self.of = {source.path: self._headers(source) for source in tree.cpp()}
        self.users = {}
        for path, headers in self.of.items():
            for header in headers:
                self.users.setdefault(header, set()).add(path)

    def _headers(self, source):
        found = {}
        for number, include in source.includes():
            for place in self._places(source.path):
                path = posixpath.normpath(posixpath.join(place, include[1:-1]))
                if path in self._by_path:
                    found.setdefault(path, number)
                    break
        return found

    @staticmethod
    def _places(path):
        """Where an include of this file is looked for: beside it, then where the build looks."""
        folder = posixpath.dirname(path)
        yield folder
        while folder:
            yield folder if posixpath.basename(folder) == "src" else posixpath.join(folder, "src")
            yield posixpath.join(folder, "include")
            folder = posixpath.dirname(folder)
        yield ""
        for library in ("coro", "lib", "txn", "txn/http", "outbox", "outbox/kafka"):
            yield f"{library}/include"
        yield "tools"
        yield "examples"


def _is_own_part(path, header):
    """`impl/x.hpp` holds the templates of `x.hpp`, and includes it so that it compiles alone."""
    return path == posixpath.join(posixpath.dirname(header), "impl", posixpath.basename(header))


def _circle(includes, start):
    """The shortest chain of headers from `start` back to it; empty if there is none."""
    chains, seen = [[start]], set()
    for chain in chains:
        for header in sorted(includes.of.get(chain[-1], ())):
            if _is_own_part(chain[-1], header):
                continue
            if header == start:
                return chain
            if header not in seen:
                seen.add(header)
                chains.append([*chain, header])
    return []


def circles(tree):
    """No header includes itself by way of others."""
    includes = _Includes(tree)
    for source in tree.cpp():
        chain = _circle(includes, source.path)
        if chain and source.path == min(chain):
            back = includes.of[chain[-1]][source.path]
            text = "includes itself: " + " -> ".join([*chain, source.path])
            yield Finding(chain[-1], back, "circles", text)


def _is_small(source):
    private = source.path.endswith(".hpp") and "/include/" not in source.path
    return private and len(source.lines) < HEADER_MIN


def _single_user(includes, path):
    """The one product file that includes a header, apart from its own source; else None."""
    own = path.removesuffix(".hpp") + ".cpp"
    users = {user for user in includes.users.get(path, ()) if not user.startswith("tests/")}
    users.discard(own)
    return users.pop() if len(users) == 1 else None


def small_headers(tree, left=None):
    left = SMALL_HEADERS_LEFT if left is None else left
    includes, counts = _Includes(tree), dict.fromkeys(left, 0)
    for source in tree.cpp():
        user = _is_small(source) and _single_user(includes, source.path)
        if not user or source.path.startswith("tests/"):
            continue
        room = next((room for room in left if fnmatch.fnmatch(source.path, room)), None)
        if room:
            counts[room] += 1
        else:
            text = f"{len(source.lines)} lines, and {user} alone includes it: merge them"
            yield Finding(source.path, 0, "small-headers", text)
    here = "tests/tidy/rules_rooms.py"
    for room, count in counts.items() if here in tree.by_path else ():
        if count > left[room]:
            text = f"{room} has {count} small headers with one user, {left[room]} are allowed"
            yield Finding(here, 0, "small-headers", text)
