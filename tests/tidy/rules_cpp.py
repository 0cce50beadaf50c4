# SPDX-License-Identifier: BSL-1.0
"""Rules about what the code says: lengths of functions, names, clocks, chance and sleep."""

import ast
import fnmatch
import re

from tree import Finding

FUNCTION_MAX = 70

# Time is an argument or comes from coro::time_source; chance comes from a seeded generator; waiting
# is awaited. Each pattern is looked for in code without comments and literals.
HIDDEN_INPUTS = {
    r"\b(system|steady|high_resolution|utc|file)_clock\s*::\s*now\b": "a clock is read",
    r"\b(clock_gettime|gettimeofday|timespec_get)\s*\(": "a clock is read",
    r"(\bstd\s*::\s*|[^\w:.>]::\s*|[^\w:.>])time\s*\(\s*(0|NULL|nullptr|&)": "a clock is read",
    r"\brandom_device\b|\bgetrandom\s*\(|\bgetentropy\s*\(": "chance has no seed",
    r"[^\w:.>](std\s*::\s*|::\s*)?s?rand\s*\(": "chance has no seed",
    r"\bthis_thread\s*::\s*sleep_(for|until)\b": "the thread sleeps",
    r"[^\w.>:](::\s*)?(usleep|nanosleep|clock_nanosleep|sleep)\s*\(": "the thread sleeps",
    r"\b(steady|system|high_resolution|deadline)_timer\b": "Asio's timers do not count suspend",
}
# Where the rule holds; tools, examples and tests with real processes live in real time.
HIDDEN_INPUTS_WHERE = (
    "coro/*", "lib/*", "txn/*", "outbox/*", "tests/unit/*", "tests/conformance/*",
)
# Path pattern: reason. An entry that allows nothing any more is a finding, too.
HIDDEN_INPUTS_ALLOWED = {
    "coro/src/clock.cpp": "the one place that reads the clock, for everybody else",
    "lib/src/store/break_note.cpp": "the record of a broken lock says the time of day, to people",
    "lib/src/store/redis/socket_wire.cpp": "the time of an opening, which no test simulates",
    "lib/src/store/redis/sentinel_circle.*": "patience with sentinels, which no test simulates",
    "outbox/src/wall_clock.hpp": "messages say when they were written, and when they are due",
    "lib/src/base/store_types.cpp": "ids must not repeat among machines: the kernel draws them",
}


def hidden_inputs(tree, allowed=None):
    allowed = HIDDEN_INPUTS_ALLOWED if allowed is None else allowed
    used = set()
    for source in tree.cpp():
        if not any(fnmatch.fnmatch(source.path, where) for where in HIDDEN_INPUTS_WHERE):
            continue
        for number, line in enumerate(source.code_lines, 1):
            for pattern, why in HIDDEN_INPUTS.items():
                if not re.search(pattern, f" {line}"):
                    continue
                granting = [entry for entry in allowed if fnmatch.fnmatch(source.path, entry)]
                used.update(granting)
                if not granting:
                    yield Finding(source.path, number, "hidden-inputs", why)
    here = "tests/tidy/rules_cpp.py"  # not so in the fixtures' small trees
    stale = sorted(set(allowed) - used) if here in tree.by_path else []
    for entry in stale:
        text = f"the exception for {entry} allows nothing any more: remove it"
        yield Finding(here, 0, "hidden-inputs", text)


_CLASS_KEY = re.compile(r"\b(namespace|class|struct|union|enum)\b(\s*alignas\([^)]*\))?[^()]*$")
_CLASS_FIRST = re.compile(r"^\s*(class|struct|union|enum)\b")
_ACCESS = ("public", "protected", "private")
_LANGUAGE = re.compile(r'\bextern\s*""\s*$')
_INITIALIZERS = re.compile(r"\)[^;{}]*?[^:]:[^:]")


def _without_template(head):
    """The text without `template <...>`, whose parameters may say `class`."""
    match = re.search(r"\btemplate\s*<", head)
    while match:
        depth, end = 1, match.end()
        while depth and end < len(head):
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[: match.start()] + head[end:]
        match = re.search(r"\btemplate\s*<", head)
    return head


def _kind(head):
    """What a brace opens, by the text since the last statement."""
    tail = head.rstrip()
    if _INITIALIZERS.search(head) and tail and (tail[-1].isalnum() or tail[-1] in "_>"):
        return "initializer"  # constructor(...) : member_{
    text = _without_template(head)
    if _CLASS_FIRST.search(text) or _CLASS_KEY.search(text) or _LANGUAGE.search(text):
        return "scope"
    return "function" if "(" in text else "other"


def _functions(code):
    """Pairs of first and last line of each outermost function."""
    stack, head, first_line, line = [], "", None, 1
    for char in code:
        if char == "{":
            nested = any(kind == "function" for kind, _, _ in stack)
            kind = "nested" if nested else _kind(head)
            stack.append((kind, first_line or line, head))
            head, first_line = "", None
        elif char == "}":
            if not stack:
                return
            kind, opened_line, opened_head = stack.pop()
            if kind == "function":
                yield opened_line, line
            if kind == "initializer":
                head, first_line = opened_head + "}", opened_line
            else:
                head, first_line = "", None
        elif char == ";" or (char == ":" and head.strip() in _ACCESS):
            head, first_line = "", None
        else:
            if first_line is None and not char.isspace():
                first_line = line
            head += char
        if char == "\n":
            line += 1


def function_length(tree):
    for source in tree.sources:
        spans = []
        if source.is_cpp:
            code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", _keep_lines, source.code, flags=re.MULTILINE)
            spans = list(_functions(code))
        elif source.path.endswith(".py"):
            nodes = (ast.FunctionDef, ast.AsyncFunctionDef)
            walked = ast.walk(ast.parse(source.text))
            spans = [(node.lineno, node.end_lineno) for node in walked if isinstance(node, nodes)]
        for first, last in spans:
            if last - first + 1 > FUNCTION_MAX:
                text = f"{last - first + 1} lines in a function, {FUNCTION_MAX} are allowed"
                yield Finding(source.path, first, "function-length", text)


def _keep_lines(match):
    return "\n" * match.group(0).count("\n")


# A name says what it stands for: `plan`, `message`, `takeover`. A pronoun says nothing.
PRONOUNS = ("what", "which", "said", "came", "made", "told", "whom", "these", "those")
_NOT_A_TYPE = r"(?!(?:return|co_return|co_await|co_yield|throw|delete|else|case|goto|new)\b)"
_DECLARED = re.compile(
    rf"(?<![\w.:>])(?:{_NOT_A_TYPE}[A-Za-z_][\w:]*(?:<[^;{{}}()]*>)?|\)|>)"  # the end of a type
    rf"(?:\s+const)?(?:\s*[&*]+(?:\s*const)?\s*|\s+|\s*\.\.\.\s*)"
    rf"({'|'.join(PRONOUNS)})\s*(?=[,;={{\[:)])(?!::)"
)
_BOUND = re.compile(rf"\bauto&{{0,2}}\s*\[[^\]]*\b({'|'.join(PRONOUNS)})\b[^\]]*\]")


def pronouns(tree):
    for source in tree.cpp():
        for number, line in enumerate(source.code_lines, 1):
            for match in [*_DECLARED.finditer(line), *_BOUND.finditer(line)]:
                text = f"`{match.group(1)}` names nothing: use a noun of the field"
                yield Finding(source.path, number, "pronouns", text)
