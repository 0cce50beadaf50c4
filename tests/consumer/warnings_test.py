# SPDX-License-Identifier: BSL-1.0
"""Users' programs compile without a word at any optimisation: examples with -Wall -Wextra.

Arguments: NAME=VALUE..., see user_project.py.
"""

import sys
import tempfile
import unittest

from user_project import Project, Settings

SETTINGS = Settings(sys.argv[1:])
EXAMPLES = ("01_with_lock", "05_several_locks", "06_leader_election", "14_shipping")


class Warnings(unittest.TestCase):
    def silent(self, found_by, levels, installed):
        sources = " ".join(f"{SETTINGS.source}/examples/{name}.cpp" for name in EXAMPLES)
        with tempfile.TemporaryDirectory(dir=SETTINGS.work) as folder:
            project = Project(SETTINGS, folder, installed)
            project.write("CMakeLists.txt", f"""
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
{found_by}
add_custom_target(levels)
foreach(level IN ITEMS {levels})
    add_library(level_${{level}} OBJECT {sources})
    target_compile_options(level_${{level}} PRIVATE -O${{level}} -Wall -Wextra)
    target_link_libraries(level_${{level}} PRIVATE mortise::mortise)
    add_dependencies(levels level_${{level}})
endforeach()
""")
            for code, said in (project.configure(), project.build("levels")):
                self.assertEqual(code, 0, said)
                self.assertNotIn("warning:", said)
                self.assertNotIn("In function", said)

    def test_with_an_installed_mortise(self):
        self.silent("find_package(mortise REQUIRED)", "0 1 2 3", True)

    def test_with_add_subdirectory(self):
        self.silent("add_subdirectory(mortise)", "1 2", False)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
