# SPDX-License-Identifier: BSL-1.0
"""first_program.py WAY NAME=VALUE...: builds and runs what the README prints as a first program.

WAY is `installed` or `add_subdirectory`. The listings go into an empty folder as they stand.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from user_project import Project, Settings

SECONDS_HELD = 1  # by the program
# As if these were not on the machine: the component sqlite must not ask for them.
ABSENT = ("OpenSSL", "RdKafka")


def listing(readme, mark):
    """The block of code that follows this comment."""
    found = re.findall(rf"<!-- {re.escape(mark)} -->\n```\w+\n(.*?)^```$", readme, re.S | re.M)
    if len(found) != 1:
        raise SystemExit(f"the README has {len(found)} listings after <!-- {mark} -->")
    return found[0]


def files_of(readme, installed):
    cmake = listing(readme, "first program: CMakeLists.txt")
    if len(cmake.splitlines()) != 5:
        raise SystemExit("the CMakeLists.txt of the README has not five lines")
    if not installed:
        instead = listing(readme, "first program: instead of find_package")
        cmake, count = re.subn(r"^find_package\(mortise .*\n", instead, cmake, flags=re.M)
        if count != 1:
            raise SystemExit("the CMakeLists.txt of the README does not find mortise")
    program = listing(readme, "examples/01_with_lock.cpp [with_lock]")
    return {"CMakeLists.txt": cmake, "nightly.cpp": program}


def must(what, outcome):
    code, said = outcome
    if code != 0:
        raise SystemExit(f"{what}: exit code {code}: {said}")
    if "warning" in said.lower():
        raise SystemExit(f"{what} warns: {said}")


def run_twice(folder):
    """Starts the program twice at once: one waits for the other."""
    begin = time.monotonic()
    program = os.path.join(folder, "build", "nightly")
    pair = [
        subprocess.Popen(
            [program], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(2)]
    said = [one.communicate(timeout=60)[0] for one in pair]
    tokens = [re.fullmatch(r"the lock is mine, with token (\d+)\n", each) for each in said]
    if any(one.returncode for one in pair) or not all(tokens):
        raise SystemExit(f"the program fails: {said}")
    if tokens[0].group(1) == tokens[1].group(1):
        raise SystemExit(f"both have the same token: {said}")
    if time.monotonic() - begin < 2 * SECONDS_HELD:
        raise SystemExit("the second one did not wait for the first")


def main():
    way, settings = sys.argv[1], Settings(sys.argv[2:])
    installed = way == "installed"
    with open(os.path.join(settings.source, "README.md"), encoding="utf-8") as file:
        files = files_of(file.read(), installed)
    folder = tempfile.mkdtemp(dir=settings.work, prefix=f"{way}.")
    try:
        project = Project(settings, folder, installed)
        for name, text in files.items():
            project.write(name, text)
        project.add_flags("-O1 -Wall -Wextra")
        options = []
        if installed:
            options = ["--no-warn-unused-cli"]
            options += [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ABSENT]
        must("configuring", project.configure(*options))
        must("building", project.build())
        run_twice(folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
