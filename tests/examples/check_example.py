# SPDX-License-Identifier: BSL-1.0
"""check_example.py SOURCE PROGRAM ARGS...: runs an example in an empty folder of its own.

The example must end with exit code 0, say nothing on its error output, and print the lines that
follow `// Prints:` in its source, each after `//     `; a lone N there stands for any number.
"""

import re
import subprocess
import sys
import tempfile

SECONDS_MAX = 50
INDENT = "//     "


def expected_lines(source):
    """The lines that the source promises, or nothing if it promises none."""
    lines = source.splitlines()
    if "// Prints:" not in lines:
        return None
    found = []
    for line in lines[lines.index("// Prints:") + 1:]:
        if not line.startswith(INDENT):
            break
        found.append(line[len(INDENT):])
    return found


def fits(expected, printed):
    pattern = r"\d+".join(re.escape(part) for part in re.split(r"\bN\b", expected))
    return re.fullmatch(pattern, printed) is not None


def objections(source, code, printed, complaints):
    """What is wrong with one run, as sentences."""
    expected = expected_lines(source)
    if not expected:
        return ["the source does not say what it prints"]
    wrong = []
    if code != 0:
        wrong.append(f"exit code {code}")
    if complaints:
        wrong.append(f"on the error output: {complaints}")
    lines = printed.splitlines()
    for number, (wanted, line) in enumerate(zip(expected, lines), 1):
        if not fits(wanted, line):
            wrong.append(f"line {number} is {line!r} and should be {wanted!r}")
    if len(lines) != len(expected):
        wrong.append(f"{len(lines)} lines instead of {len(expected)}:\n{printed}")
    return wrong


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        source = file.read()
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            sys.argv[2:], cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX,
            check=False)
    wrong = objections(source, run.returncode, run.stdout, run.stderr)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
