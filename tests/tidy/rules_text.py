# SPDX-License-Identifier: BSL-1.0
"""Rules that need no understanding of C++: lengths, words, white space, licence, links."""

import os
import re
import urllib.parse

from tree import Finding

LINE_MAX = 100
HEADER_MAX = 400
SOURCE_MAX = 600
# Written so that this file does not name them.
BANNED = ("TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK")
SPDX = "SPDX-License-Identifier: BSL-1.0"


def line_length(tree):
    for source in tree.sources:
        if not source.is_code:
            continue
        for number, line in enumerate(source.lines, 1):
            if len(line) > LINE_MAX:
                text = f"{len(line)} columns, {LINE_MAX} are allowed"
                yield Finding(source.path, number, "line-length", text)


def file_length(tree):
    for source in tree.cpp():
        allowed = HEADER_MAX if source.path.endswith(".hpp") else SOURCE_MAX
        if len(source.lines) > allowed:
            text = f"{len(source.lines)} lines, {allowed} are allowed: one type a file"
            yield Finding(source.path, 0, "file-length", text)


def banned_words(tree):
    pattern = re.compile(r"\b(" + "|".join(BANNED) + r")\b")
    for source in tree.sources:
        for number, line in enumerate(source.lines, 1):
            match = pattern.search(line)
            if match:
                text = f"'{match.group(1)}' is not left behind: do it, or write an issue"
                yield Finding(source.path, number, "banned-words", text)


def white_space(tree):
    for source in tree.sources:
        if not source.is_code:
            continue
        for number, line in enumerate(source.lines, 1):
            if line != line.rstrip() or "\t" in line:
                yield Finding(source.path, number, "white-space", "tab or trailing blank")
        if source.text and not source.text.endswith("\n"):
            yield Finding(source.path, len(source.lines), "white-space", "no newline at the end")


def licence(tree):
    for source in tree.sources:
        if source.is_code and not any(SPDX in line for line in source.lines[:3]):
            yield Finding(source.path, 0, "licence", f"'{SPDX}' belongs into the first lines")


def _prose(source):
    """Lines of a page without its code blocks and inline code, numbered."""
    fenced = False
    for number, line in enumerate(source.lines, 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`", "", line)


def links(tree):
    inline = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
    reference = re.compile(r"^\s*\[[^\]]+\]:\s*<?(\S+?)>?\s*$")
    for source in tree.sources:
        if not source.is_markdown:
            continue
        for number, line in _prose(source):
            for target in inline.findall(line) + reference.findall(line):
                if re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("#"):
                    continue
                path = urllib.parse.unquote(target.split("#")[0])
                full = os.path.normpath(os.path.join(os.path.dirname(source.path), path))
                if path.startswith("/") or full.startswith("..") or not tree.exists(full):
                    text = f"the link leads nowhere: {target}"
                    yield Finding(source.path, number, "links", text)
