# SPDX-License-Identifier: BSL-1.0
"""The listings of docs/coroutine-traps.md do what the page says of them.

Arguments: `refused` or `run`, then NAME=VALUE..., see user_project.py. `refused` compiles those
that g++ 12 refuses; `run` runs the right ones and those that crash, with the
address sanitizer.
"""

import re
import subprocess
import sys
import tempfile
import unittest

from user_project import Project, Settings

WAY = sys.argv[1]
SETTINGS = Settings(sys.argv[2:])
SENTENCE = (
    "mortise: g++ 12 destroys a temporary lambda twice if it captures something that has a "
    "destructor and stands in a co_await expression. Give the lambda a name and pass the name")
PRELUDE = """
#include <mortise/mortise.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>
namespace asio = boost::asio;
asio::awaitable<void> print(std::string title) {
    co_await asio::post(asio::deferred);
    std::cout << title.size() << std::endl;
}
asio::awaitable<std::string> name_of_the_day() {
    co_await asio::post(asio::deferred);
    co_return std::string(100, 'd');
}
"""
MAIN = """
asio::awaitable<void> all(mortise::lock_client& locks) {
    co_await report(locks, std::string(100, 'd'));
    co_await asio::post(asio::deferred);
    co_await locks.async_stop();
}
int main() {
    asio::io_context context;
    mortise::lock_client locks(context.get_executor(), mortise::open_store("memory:"));
    asio::co_spawn(context, all(locks), [](std::exception_ptr failure) {
        if (failure)
            std::rethrow_exception(failure);
    });
    context.run();
    std::cout << "done" << std::endl;
}
"""


def listings():
    """Pairs: what the page says of a listing, and the listing."""
    with open(f"{SETTINGS.source}/docs/coroutine-traps.md", encoding="utf-8") as page:
        text = page.read()
    found = re.findall(r"^<!-- trap: ([a-z ]+) -->\n```cpp\n(.*?)^```$", text, re.S | re.M)
    if len(found) != text.count("```cpp"):
        raise SystemExit("a listing of docs/coroutine-traps.md does not say what it does")
    return found


def is_gnu_12():
    said = subprocess.run(
        [SETTINGS.compiler, "-dM", "-E", "-x", "c++", "/dev/null"],
        capture_output=True, text=True, check=True).stdout
    return "__clang__" not in said and "#define __GNUC__ 12\n" in said


class Traps(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(dir=SETTINGS.work)
        self.addCleanup(place.cleanup)
        self.project = Project(SETTINGS, place.name, True)
        self.project.environment["ASAN_OPTIONS"] = "detect_stack_use_after_return=1:handle_sigill=1"
        self.project.add_flags("-Wall -Wextra -Wno-unused-variable -fsanitize=address")
        self.listings = [(f"trap_{i}", kind, code) for i, (kind, code) in enumerate(listings())]
        lines = [
            "cmake_minimum_required(VERSION 3.25)", "project(traps LANGUAGES CXX)",
            "find_package(mortise REQUIRED COMPONENTS lock)"]
        for name, _, code in self.listings:
            self.project.write(f"{name}.cpp", PRELUDE + code + MAIN)
            lines += [
                f"add_executable({name} EXCLUDE_FROM_ALL {name}.cpp)",
                f"target_link_libraries({name} PRIVATE mortise::lock)"]
        for kind in ("right", "crashes", "crashes everywhere"):
            names = " ".join(name for name, what, _ in self.listings if what == kind)
            lines.append(f"add_custom_target(all_{kind.replace(' ', '_')} DEPENDS {names})")
        self.project.write("CMakeLists.txt", "\n".join(lines) + "\n")
        code, said = self.project.configure()
        self.assertEqual(code, 0, said)

    def built(self, target):
        code, said = self.project.build(target)
        self.assertEqual(code, 0, said)
        self.assertNotIn("warning:", said)

    def ran(self, kind):
        for name, what, code in self.listings:
            if what == kind:
                yield code, self.project.run(f"{self.project.build_folder}/{name}")

    @unittest.skipIf(WAY != "refused", "")
    def test_what_can_be_refused_is_refused(self):
        if not is_gnu_12():
            self.skipTest("these traps are g++ 12's")
        seen = set()
        for name, kind, code in self.listings:
            if kind not in ("refused", "does not compile"):
                continue
            seen.add(kind)
            status, said = self.project.build(name)
            self.assertNotEqual(status, 0, code)
            self.assertIn(SENTENCE if kind == "refused" else "array used as initializer", said)
        self.assertEqual(seen, {"refused", "does not compile"})

    @unittest.skipIf(WAY != "run", "")
    def test_what_is_right_runs(self):
        self.built("all_right")
        for code, (status, said) in self.ran("right"):
            self.assertEqual(status, 0, code)
            self.assertRegex(said, "^(10[01] )+done $", code)

    @unittest.skipIf(WAY != "run", "")
    def test_what_is_wrong_crashes(self):
        kinds = ["crashes everywhere"] + (["crashes"] if is_gnu_12() else [])
        for kind in kinds:
            self.built("all_" + kind.replace(" ", "_"))
            for code, (status, said) in self.ran(kind):
                self.assertNotEqual(status, 0, code)
                self.assertIn("ERROR: AddressSanitizer", said, code)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
