# SPDX-License-Identifier: BSL-1.0
"""What CMake says to a user whose project cannot have mortise: one sentence, and what to do.

Arguments: NAME=VALUE..., see user_project.py. A package that is "absent" is one that CMake is told
not to find.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from user_project import Project, Settings

SETTINGS = Settings(sys.argv[1:])
LIBRARIES = SETTINGS.libraries
HEAD = "cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES CXX)\n"
NO_BOOST = (
    "mortise needs Boost 1.88 or newer, and none was found: install it, or set Boost_ROOT to the "
    "folder of yours, or let `./run build` in mortise's own folder fetch it.")


def installed_components():
    """Those of the installed package: some are left out where their library is not."""
    path = f"{SETTINGS.prefix}/{LIBRARIES}/cmake/mortise/mortise-config.cmake"
    with open(path, encoding="utf-8") as file:
        return re.search(r"^set\(mortise_components (.*)\)$", file.read(), re.MULTILINE)[1].split()


class Case(unittest.TestCase):
    def configured(self, lines, absent, installed):
        with tempfile.TemporaryDirectory(dir=SETTINGS.work) as folder:
            project = Project(SETTINGS, folder, installed)
            project.write("CMakeLists.txt", HEAD + lines)
            project.write("main.cpp", "int main() {}\n")
            return project.configure(
                *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in absent))

    def works(self, lines, absent=(), installed=True):
        code, said = self.configured(lines, absent, installed)
        self.assertEqual(code, 0, said)

    def refuses(self, sentence, lines, absent=(), installed=True):
        code, said = self.configured(lines, absent, installed)
        self.assertNotEqual(code, 0, said)
        self.assertIn(f" {sentence} ", said)
        self.assertNotIn("FOUND to FALSE", said)


class Installed(Case):
    def test_a_component_that_does_not_exist(self):
        components = installed_components()
        for name in "coro lock sqlite tls redis sim outbox txn txn_http kafka".split():
            self.assertIn(name, components)
        names = ", ".join(components)
        self.refuses(
            f'mortise: there is no component "locks" here; there are: {names}.',
            "find_package(mortise 0.1 REQUIRED COMPONENTS coro locks)\n")

    def test_no_boost(self):
        self.refuses(
            NO_BOOST, "find_package(mortise REQUIRED COMPONENTS coro)\n", absent=["Boost"])

    def test_a_library_that_a_component_needs(self):
        for component, absent, sentence in (
            ("redis", "OpenSSL", "needs OpenSSL's development files: install libssl-dev."),
            ("txn_http", "OpenSSL", "needs OpenSSL's development files: install libssl-dev."),
            ("txn", "SQLite3", "needs SQLite's development files: install libsqlite3-dev."),
            ("kafka", "RdKafka",
             "needs librdkafka 2.0 or newer with its development files: install librdkafka-dev."),
            ("postgres", "PostgreSQL",
             "needs libpq 14 or newer with its development files: install libpq-dev."),
        ):
            if component not in installed_components():
                continue
            self.refuses(
                f"mortise::{component} {sentence}",
                f"find_package(mortise REQUIRED COMPONENTS {component})\n", absent=[absent])

    def test_no_components_means_all(self):
        self.refuses(
            "mortise::tls needs OpenSSL's development files: install libssl-dev, or name the "
            "COMPONENTS that you use in find_package(mortise).",
            "find_package(mortise REQUIRED)\n", absent=["OpenSSL"])
        self.works(
            "find_package(mortise REQUIRED)\nadd_executable(user main.cpp)\n"
            "target_link_libraries(user PRIVATE mortise::mortise)\n")

    def test_a_component_needs_only_its_own_libraries(self):
        for component, absent in (
            ("coro", ["OpenSSL", "RdKafka", "SQLite3"]),
            ("lock", ["OpenSSL", "RdKafka", "SQLite3"]),
            ("sim", ["OpenSSL", "RdKafka", "SQLite3"]),
            ("redis", ["RdKafka", "SQLite3"]),
            ("sqlite", ["OpenSSL", "RdKafka"]),
            ("outbox", ["OpenSSL", "RdKafka"]),
            ("txn_http", ["RdKafka"]),
            ("kafka", ["OpenSSL"]),
            ("postgres", ["OpenSSL", "RdKafka", "SQLite3"]),
        ):
            if component not in installed_components():
                continue
            self.works(
                f"find_package(mortise REQUIRED COMPONENTS {component})\n"
                "add_executable(user main.cpp)\n"
                f"target_link_libraries(user PRIVATE mortise::{component})\n", absent)

    def test_what_is_optional_may_be_missing(self):
        self.works(
            "find_package(mortise REQUIRED COMPONENTS lock OPTIONAL_COMPONENTS redis locks)\n"
            "if(NOT mortise_lock_FOUND OR mortise_redis_FOUND OR mortise_locks_FOUND)\n"
            "  message(FATAL_ERROR wrong)\n"
            "endif()\n", absent=["OpenSSL"])
        self.works(
            "find_package(mortise QUIET COMPONENTS locks)\n"
            "if(mortise_FOUND)\n  message(FATAL_ERROR wrong)\nendif()\n"
            "find_package(mortise REQUIRED COMPONENTS lock)\n")

    def moved(self, edit):
        """The package at another place; what is large in it is linked."""
        place = tempfile.TemporaryDirectory(dir=SETTINGS.work)
        self.addCleanup(place.cleanup)
        for name in ("include", LIBRARIES):
            os.makedirs(f"{place.name}/{name}")
            for each in os.listdir(f"{SETTINGS.prefix}/{name}"):
                if each != "cmake":
                    os.symlink(f"{SETTINGS.prefix}/{name}/{each}", f"{place.name}/{name}/{each}")
        files = f"{place.name}/{LIBRARIES}/cmake/mortise"
        shutil.copytree(f"{SETTINGS.prefix}/{LIBRARIES}/cmake/mortise", files)
        with open(f"{files}/mortise-config.cmake", "r+", encoding="utf-8") as file:
            text, count = re.subn(r'(mortise_boost_hint) "(.*)"', edit, file.read())
            self.assertEqual(count, 1)
            file.seek(0)
            file.truncate()
            file.write(text)
        return place.name

    def configured_at(self, place):
        with tempfile.TemporaryDirectory(dir=SETTINGS.work) as folder:
            project = Project(SETTINGS, folder, True)
            project.environment["CMAKE_PREFIX_PATH"] = place
            project.write(
                "CMakeLists.txt", HEAD + "find_package(mortise REQUIRED COMPONENTS sqlite)\n"
                "add_executable(user main.cpp)\n"
                "target_link_libraries(user PRIVATE mortise::sqlite)\n")
            project.write("main.cpp", "int main() {}\n")
            code, said = project.configure()
            rules = f"{project.build_folder}/build.ninja"
            if code == 0 and os.path.exists(rules):
                with open(rules, encoding="utf-8") as file:
                    self.assertNotIn(SETTINGS.prefix + "/", file.read())
            return code, said

    def test_may_be_moved(self):
        code, said = self.configured_at(self.moved(r'\1 "\2"'))
        self.assertEqual(code, 0, said)

    def test_does_not_name_the_boost_of_the_system_nor_one_that_is_gone(self):
        hints = []
        place = self.moved(lambda found: (hints.append(found[2]), f'{found[1]} "/gone/boost"')[1])
        self.assertNotRegex(hints[0], "^/usr/")
        code, said = self.configured_at(place)
        if hints[0]:  # no other was found when mortise was built
            self.assertNotEqual(code, 0)
            self.assertIn(NO_BOOST, said)
        self.assertNotIn("/gone", said)


class PkgConfig(unittest.TestCase):
    """A component's file names what that component needs, and nothing else."""

    def asked(self, option, component):
        asking = subprocess.run(
            ["pkg-config", option, component], capture_output=True, text=True, check=True, env={
                **os.environ, "PKG_CONFIG_PATH": f"{SETTINGS.prefix}/{LIBRARIES}/pkgconfig"})
        return asking.stdout.split()

    def test_a_component_needs_only_its_own_libraries(self):
        all_packages = {"sqlite3", "ssl", "rdkafka"}
        for component, needed in (
            ("coro", set()),
            ("lock", set()),
            ("sim", set()),
            ("sqlite", {"sqlite3"}),
            ("outbox", {"sqlite3"}),
            ("txn", {"sqlite3"}),
            ("redis", {"ssl"}),
            ("txn_http", {"ssl", "sqlite3"}),
            ("kafka", {"rdkafka", "sqlite3"}),
        ):
            libraries = self.asked("--libs", f"mortise-{component}")
            found = {name for name in all_packages if f"-l{name}" in libraries}
            self.assertEqual(found, needed, component)

    def test_users_stand_before_the_used(self):
        libraries = self.asked("--libs", "mortise-kafka")
        places = [libraries.index(f"-lmortise_{name}")
                  for name in ("kafka", "outbox", "sqlite", "lock", "coro")]
        self.assertEqual(places, sorted(places))


class AddSubdirectory(Case):
    def test_finds_the_boost_that_was_fetched(self):
        self.works(
            "add_subdirectory(mortise)\nadd_executable(user main.cpp)\n"
            "target_link_libraries(user PRIVATE mortise::mortise)\n", installed=False)

    def test_no_boost(self):
        self.refuses(NO_BOOST, "add_subdirectory(mortise)\n", absent=["Boost"], installed=False)

    def test_a_library_of_a_part_that_is_on(self):
        self.refuses(
            "The Kafka producer needs librdkafka 2.0 or newer with its development files: install "
            "librdkafka-dev, or switch Kafka off with -DMORTISE_WITH_KAFKA=OFF.",
            "add_subdirectory(mortise)\n", absent=["RdKafka"], installed=False)
        self.works(
            "set(MORTISE_WITH_KAFKA OFF)\nadd_subdirectory(mortise)\n", absent=["RdKafka"],
            installed=False)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
