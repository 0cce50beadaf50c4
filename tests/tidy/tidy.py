#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The style rules that a machine can check. Usage: tidy.py ROOT; exit code 1 if one is broken."""

import sys

import rules_cpp
import rules_rooms
import rules_sweeps
import rules_text
import rules_tree
from tree import Tree

RULES = {
    "banned-words": rules_text.banned_words,
    "built": rules_tree.built,
    "circles": rules_rooms.circles,
    "file-length": rules_text.file_length,
    "function-length": rules_cpp.function_length,
    "guarantees": rules_tree.guarantees,
    "hidden-inputs": rules_cpp.hidden_inputs,
    "includes": rules_tree.includes,
    "licence": rules_text.licence,
    "line-length": rules_text.line_length,
    "links": rules_text.links,
    "pronouns": rules_cpp.pronouns,
    "rooms": rules_rooms.rooms,
    "sans-io": rules_tree.sans_io,
    "small-headers": rules_rooms.small_headers,
    "sweeps": rules_sweeps.sweeps,
    "version": rules_tree.version,
    "white-space": rules_text.white_space,
}


def check(root):
    """All findings below a root, sorted."""
    tree = Tree(root)
    if not tree.sources:
        raise SystemExit(f"tidy: there is nothing to check below {root}")
    return tree, sorted(finding for rule in RULES.values() for finding in rule(tree))


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: tidy.py ROOT")
    tree, findings = check(sys.argv[1])
    for finding in findings:
        print(finding)
    print(f"tidy: {len(tree.sources)} files, {len(RULES)} rules, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
