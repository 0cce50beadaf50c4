# SPDX-License-Identifier: BSL-1.0
"""Rules about the rooms of a library: who knows whom inside lib/src."""

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
    "store/memory": {"base", "core", "store"},
    "store/sqlite": {"base", "core", "sqlite", "store", "url"},
    "store/redis": {"base", "core", "store", "tls", "url"},
    "db": {"base", "sqlite"},
    "fence": {"base", "core", "sqlite"},
    "sim": {"base", "core", "store/memory"},
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
