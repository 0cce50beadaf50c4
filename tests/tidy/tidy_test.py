#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A check that cannot fail is a defect: every rule must report its bad snippets, and no others.

A fixture is a small tree. In it a line that a rule must report says BAD, and a file that it must
report as a whole has a name that begins with `bad_`. What editors would spoil, or what is long, is
written by this program.
"""

import pathlib
import tempfile
import unittest

import rules_cpp
import rules_text
import tidy
from tree import Tree

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
LICENCE = f"// {rules_text.SPDX}\n"


def expected(tree):
    lines = {
        (source.path, number)
        for source in tree.sources
        for number, line in enumerate(source.lines, 1)
        if "BAD" in line
    }
    return lines | {(s.path, 0) for s in tree.sources if s.name.startswith("bad_")}


def written(folder, files):
    for path, text in files.items():
        target = pathlib.Path(folder) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def function(lines, head="int f(int a)"):
    """A function of that many lines, braces of several kinds within."""
    body = ["    if (a) { g([&] { return '{'; }); }"] * (lines - 2)
    return "\n".join([head + " {", *body, "}"]) + "\n"


class Fixtures(unittest.TestCase):
    def judge(self, root, rule, allowed_rules=()):
        tree = Tree(root)
        found = {(f.path, f.line) for f in tidy.RULES[rule](tree)}
        self.assertTrue(expected(tree), f"the fixture of {rule} marks nothing")
        self.assertEqual(found, expected(tree))
        others = {f.rule for name in tidy.RULES for f in tidy.RULES[name](tree)}
        self.assertLessEqual(others, {rule, *allowed_rules})

    def test_every_rule_has_a_fixture(self):
        on_disk = {path.name for path in FIXTURES.iterdir()}
        here = {"banned-words", "file-length", "function-length", "white-space"}
        self.assertEqual(on_disk | here, set(tidy.RULES))

    def test_rules_report_their_fixtures_and_nothing_else(self):
        for folder in sorted(FIXTURES.iterdir()):
            with self.subTest(rule=folder.name):
                self.judge(folder, folder.name)

    def test_banned_words(self):
        lines = [f"// {word}: later BAD" for word in rules_text.BANNED]
        files = {"docs/a.hpp": LICENCE + "\n".join(lines) + "\n// a methodoxxx\n"}
        with tempfile.TemporaryDirectory() as root:
            written(root, files | {"b.md": f"{rules_text.BANNED[0]} BAD\n"})
            self.judge(root, "banned-words")

    def test_file_length(self):
        def of(count):
            return LICENCE + "int x;\n" * (count - 1)

        with tempfile.TemporaryDirectory() as root:
            written(root, {
                "docs/good.hpp": of(rules_text.HEADER_MAX),
                "docs/bad_long.hpp": of(rules_text.HEADER_MAX + 1),
                "docs/good.cpp": of(rules_text.SOURCE_MAX),
                "docs/bad_long.cpp": of(rules_text.SOURCE_MAX + 1),
            })
            self.judge(root, "file-length")

    def test_white_space(self):
        text = LICENCE + "int a; \nint b;\t// BAD\n".replace("a; ", "a; // BAD ")
        with tempfile.TemporaryDirectory() as root:
            written(root, {"docs/a.hpp": text, "docs/b.hpp": LICENCE + "int c; // BAD"})
            self.judge(root, "white-space")


class FunctionLength(unittest.TestCase):
    HEADS = (
        "int f(int a)",
        "template <class T> requires (sizeof(T) > 1) auto f(T a) -> std::vector<T>",
        "lease::lease(int a) noexcept : a_{a}, b_(std::move(a)), c_{}",
        "TEST(Suite, Name)",
        "auto operator()(int a) const noexcept -> bool",
    )

    def spans(self, text, name="docs/a.cpp"):
        with tempfile.TemporaryDirectory() as root:
            written(root, {name: text})
            return [finding.line for finding in rules_cpp.function_length(Tree(root))]

    def test_counts_functions_in_every_scope(self):
        opening = "namespace a::b {\nnamespace {\nclass [[nodiscard]] c : d<int> {\npublic:\n"
        for head in self.HEADS:
            with self.subTest(head=head):
                allowed = function(rules_cpp.FUNCTION_MAX, head)
                too_long = function(rules_cpp.FUNCTION_MAX + 1, head)
                self.assertEqual(self.spans(LICENCE + too_long), [2])
                self.assertEqual(self.spans(opening + allowed + too_long + "};\n}\n}\n"),
                                 [5 + rules_cpp.FUNCTION_MAX])

    def test_long_classes_enums_and_tables_are_no_functions(self):
        long = "    int x;\n" * 100
        self.assertEqual(self.spans("template <class T = int>\nclass x {\n" + long + "};\n"), [])
        special = "template <class... T>\nclass x<void(T...)> {\n"
        self.assertEqual(self.spans(special + long + "};\n"), [])
        self.assertEqual(self.spans("enum class x : int {\n" + "    a,\n" * 100 + "};\n"), [])
        self.assertEqual(self.spans("const int x[] = {\n" + "    1'000,\n" * 100 + "};\n"), [])

    def test_python(self):
        body = "    pass\n" * rules_cpp.FUNCTION_MAX
        self.assertEqual(self.spans("def f():\n" + body, "docs/a.py"), [1])
        self.assertEqual(self.spans("def f():\n" + body[9:], "docs/a.py"), [])


class Exceptions(unittest.TestCase):
    def test_an_exception_that_allows_nothing_is_reported(self):
        allowed = {"coro/src/a.cpp": "why", "coro/src/gone.cpp": "why"}
        with tempfile.TemporaryDirectory() as root:
            written(root, {
                "coro/src/a.cpp": "void f() { usleep(1); }\n",
                "tests/tidy/rules_cpp.py": "# the rules live in the tree that is judged\n",
            })
            found = [f.text for f in rules_cpp.hidden_inputs(Tree(root), allowed)]
        self.assertEqual(len(found), 1)
        self.assertIn("coro/src/gone.cpp", found[0])


if __name__ == "__main__":
    unittest.main()
