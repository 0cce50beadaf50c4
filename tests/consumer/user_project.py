# SPDX-License-Identifier: BSL-1.0
"""A user's project in an empty folder, configured as a user would: nothing says where Boost is."""

import os
import re
import subprocess


class Settings:
    """What the tests of this build hand over."""

    def __init__(self, words):
        values = dict(word.split("=", 1) for word in words)
        self.source = values["source"]
        self.prefix = values["prefix"]
        self.libraries = values["libraries"]  # the folder lib of the prefix
        self.work = values["work"]
        self.generator = values["generator"]
        self.compiler = values["compiler"]
        self.launcher = values["launcher"]
        self.flags = values["flags"]  # what has been built with a sanitizer is linked with it


class Project:
    """A folder of a user's."""

    def __init__(self, settings, folder, installed):
        self.settings = settings
        self.folder = folder
        self.build_folder = os.path.join(folder, "build")
        self.environment = dict(os.environ)
        if installed:
            paths = [settings.prefix, os.environ.get("CMAKE_PREFIX_PATH", "")]
            self.environment["CMAKE_PREFIX_PATH"] = ":".join(filter(None, paths))
            self.add_flags(settings.flags)
        else:
            os.symlink(settings.source, os.path.join(folder, "mortise"))

    def add_flags(self, flags):
        before = self.environment.get("CXXFLAGS", "")
        self.environment["CXXFLAGS"] = f"{before} {flags}".strip()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, *command):
        """Exit code and all that was said, in one line."""
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, re.sub(r"\s+", " ", done.stdout)

    def configure(self, *options):
        settings = self.settings
        return self.run(
            "cmake", "-S", self.folder, "-B", self.build_folder, "-G", settings.generator,
            f"-DCMAKE_CXX_COMPILER={settings.compiler}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={settings.launcher}", *options)

    def build(self, target="all"):
        return self.run("cmake", "--build", self.build_folder, "--target", target)
