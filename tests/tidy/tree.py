# SPDX-License-Identifier: BSL-1.0
"""The files that the style rules look at, and what a finding is."""

import os
import pathlib
import re
import typing


class Finding(typing.NamedTuple):
    """One violation. Line 0 speaks of the file as a whole."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.text}"


CPP = (".hpp", ".cpp")
MODEL = ".pml"
CODE = CPP + (".py", ".cmake", ".sh", MODEL)
CODE_NAMES = ("CMakeLists.txt", "run")
SKIPPED_FOLDERS = ("build", "__pycache__", "node_modules")
FIXTURES = "tests/tidy/fixtures"

_TOKENS = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>R"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)")
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?<![0-9A-Za-z_])(?P<char>'(?:\\.|[^'\\\n])+')""",
    re.VERBOSE | re.DOTALL,
)


def _blank(match):
    """The same number of lines, without what was in them; includes keep their names."""
    text = match.group(0)
    if match.group("string"):
        return '""'
    return re.sub(r"[^\n]", " ", text)


class Source:
    """One file: its text, its lines, and for C++ its code without comments and literals."""

    def __init__(self, root, path):
        self.path = path
        self.text = (root / path).read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        self.name = os.path.basename(path)
        self.is_cpp = path.endswith(CPP)
        self.is_model = path.endswith(MODEL)
        self.is_code = path.endswith(CODE) or self.name in CODE_NAMES
        self.is_markdown = path.endswith(".md")

    @property
    def code(self):
        return _TOKENS.sub(_blank, self.text)

    @property
    def code_lines(self):
        return self.code.splitlines()

    def includes(self):
        """Pairs of line number and the included name, with its quotes or brackets."""
        pattern = re.compile(r'\s*#\s*include\s*([<"][^>"]+[>"])')
        found = ((number, pattern.match(line)) for number, line in enumerate(self.lines, 1))
        return [(number, match.group(1)) for number, match in found if match]


class Tree:
    """All files below a root that are ours to judge."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.sources = [Source(self.root, path) for path in self._walk()]
        self.by_path = {source.path: source for source in self.sources}

    def _walk(self):
        for folder, folders, files in os.walk(self.root):
            here = pathlib.Path(folder).relative_to(self.root)
            folders[:] = sorted(
                name
                for name in folders
                if not name.startswith((".", "build"))
                and name not in SKIPPED_FOLDERS
                and (here / name).as_posix() != FIXTURES
            )
            for name in sorted(files):
                if name.endswith(CODE + (".md",)) or name in CODE_NAMES:
                    yield (here / name).as_posix()

    def cpp(self):
        return [source for source in self.sources if source.is_cpp]

    def exists(self, path):
        return (self.root / path).exists()
