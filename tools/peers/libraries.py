# SPDX-License-Identifier: BSL-1.0
"""The libraries that are measured: how each is fetched, and which processes it runs.

Nothing is written outside of the folder that the driver names: .deps/peers.
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from measure import Failed, Load, Result, Server, parse_counts, run_workers, time_max

HERE = pathlib.Path(__file__).resolve().parent
PREPARE_SECONDS_MAX = 900
KINDS = ("uncontended", "contended", "greedy")


def find_tool(name: str, *folders: str) -> str | None:
    """On the path, or where its own instructions install it."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders) or None)


def telling_line(output: str) -> str:
    """The first line that names an error, else the last one."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", output)
    lines = [line.strip()[:200] for line in plain.splitlines() if len(line.strip()) > 10]
    errors = [line for line in lines if re.search("error|fatal", line, re.IGNORECASE)]
    return (errors or lines[-1:] or [""])[0]


def run_tool(words: list, log: pathlib.Path, **more) -> None:
    """Runs it to its end, with what it says in `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with log.open("w") as output:
            subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=True,
                timeout=PREPARE_SECONDS_MAX,
                **more,
            )
    except (OSError, subprocess.SubprocessError) as failure:
        why = telling_line(log.read_text(errors="replace")) or str(failure)
        raise Failed(f"{pathlib.Path(words[0]).name} failed: {why} (all of it: {log})") from None


class Library:
    """One row of the table. `waits` says how a waiter learns that the lock is free."""

    name = ""
    waits = ""
    kinds = KINDS

    def prepare(self, folder: pathlib.Path) -> None:
        """Fetches and builds, if that has not been done; Failed says what is missing."""

    def measure(self, server: Server, load: Load) -> Result:
        raise NotImplementedError


class Mortise(Library):
    name = "mortise"
    waits = "queue at the server, pushed; coroutines of a process pass the lock on"

    def __init__(self, program: pathlib.Path):
        self.program = program

    def prepare(self, folder: pathlib.Path) -> None:
        if not self.program.exists():
            raise Failed(f"{self.program} is missing: call ./run build")
        shown = subprocess.run([self.program, "--version"], capture_output=True, text=True)
        self.version = shown.stdout.split("(")[0].removeprefix("mortise").strip()

    def command(self, server: Server, load: Load) -> list:
        # The servers are new, so no earlier holder can exist: without the quarantine of 5 s.
        store = f"redis://{server.address}?assume_new=1"
        words = [self.program, "--store", store, "--json", "bench"]
        if load.kind == "uncontended":
            return [*words, "uncontended", "--seconds", str(max(1, round(load.seconds)))]
        words += ["contend", "--processes", str(load.processes), "--tasks", str(load.workers)]
        words += ["--hold", f"{load.hold}ms", "--acquisitions", str(self.acquisitions(load))]
        if load.kind == "greedy":
            return [*words, "--greedy"]
        return [*words, "--think", f"{load.think}ms"]

    @staticmethod
    def acquisitions(load: Load) -> int:
        """`bench contend` counts acquisitions: as many as fit into the seconds, hold upon hold."""
        return int(load.seconds * 1000 / (load.hold + 0.2))

    def measure(self, server: Server, load: Load) -> Result:
        words = self.command(server, load)
        before = parse_counts(server.info())
        try:
            ended = subprocess.run(words, capture_output=True, text=True, timeout=time_max(load))
        except subprocess.TimeoutExpired:
            raise Failed(f"it did not end within {time_max(load):.0f} s") from None
        used = parse_counts(server.info()) - before
        if not ended.stdout.startswith("{"):
            raise Failed(f"exit code {ended.returncode}: {ended.stderr.strip()[-200:]}")
        found = json.loads(ended.stdout)
        if load.kind == "uncontended":
            result = Result(self.version, found["cycles_per_s"], None, None)
            locks = found["cycles_per_s"] * max(1, round(load.seconds))
        else:
            wait, overlaps = found["wait_ms"]["max"], found["overlaps"]
            result = Result(self.version, found["locks_per_s"], wait, overlaps)
            locks = self.acquisitions(load)
        result.commands_per_lock = used.commands / locks
        result.reads_per_lock = used.reads / locks
        return result


class MortiseNoLocal(Mortise):
    name = "mortise --no-local"
    waits = "queue at the server, pushed; every lock passes through the server"
    kinds = ("contended", "greedy")

    def command(self, server: Server, load: Load) -> list:
        return [*super().command(server, load), "--no-local"]


class Redsync(Library):
    name = "redsync"
    waits = "poll, every 50 to 250 ms at random"

    def prepare(self, folder: pathlib.Path) -> None:
        go = find_tool("go", "/usr/local/go/bin")
        if not go:
            raise Failed("there is no `go`: install Go 1.26 or newer (https://go.dev/dl)")
        self.program = folder / "redsync" / "redsync-bench"
        flags = subprocess.run([go, "env", "GOFLAGS"], capture_output=True, text=True).stdout
        setting = {
            "GOPATH": str(folder / "go"),
            "GOMODCACHE": str(folder / "go" / "mod"),
            "GOCACHE": str(folder / "go" / "cache"),
            # Else `./run clean --all` could not remove the modules.
            "GOFLAGS": f"{flags.strip()} -modcacherw".strip(),
        }
        run_tool(
            [go, "build", "-o", str(self.program), "."],
            folder / "redsync.log",
            cwd=HERE / "redsync",
            env=os.environ | setting,
        )

    def measure(self, server: Server, load: Load) -> Result:
        return run_workers([str(self.program)], server, load)


class RedisPy(Library):
    name = "redis-py"
    waits = "poll, every 100 ms"

    def prepare(self, folder: pathlib.Path) -> None:
        venv = folder / "redis-py"
        self.python = venv / "bin" / "python3"
        wanted = HERE / "requirements.txt"
        stamp = venv / "stamp"
        if stamp.exists() and stamp.read_text() == wanted.read_text():
            return
        log = folder / "redis-py.log"
        try:
            run_tool([sys.executable, "-m", "venv", "--clear", str(venv)], log)
        except Failed as failure:
            raise Failed(f"{failure}; install python3-venv") from None
        words = [self.python, "-m", "pip", "install", "--cache-dir", str(folder / "pip")]
        run_tool([*words, "-r", str(wanted)], log)
        stamp.write_text(wanted.read_text())

    def measure(self, server: Server, load: Load) -> Result:
        return run_workers([str(self.python), str(HERE / "redis_py.py")], server, load)


class Redisson(Library):
    name = "Redisson"
    waits = "pub/sub; one waiter of each process tries again"
    options = ()
    copier = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"

    def prepare(self, folder: pathlib.Path) -> None:
        missing = [tool for tool in ("java", "javac", "mvn") if not find_tool(tool)]
        if missing:
            raise Failed(f"there is no `{missing[0]}`: install openjdk-17-jdk-headless and maven")
        own = folder / "redisson"
        self.classpath = f"{own / 'classes'}:{own / 'libs'}/*"
        sources = [HERE / "redisson" / name for name in ("pom.xml", "RedissonBench.java")]
        wanted = "".join(source.read_text() for source in sources)
        stamp = own / "stamp"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        words = ["mvn", "-B", "-q", "-f", str(sources[0]), self.copier, "-DincludeScope=runtime"]
        words += [f"-DoutputDirectory={own / 'libs'}", f"-Dmaven.repo.local={folder / 'maven'}"]
        run_tool(words, folder / "redisson.log")
        words = ["javac", "-d", str(own / "classes"), "-cp", f"{own / 'libs'}/*", str(sources[1])]
        run_tool(words, folder / "redisson.log")
        stamp.write_text(wanted)

    def measure(self, server: Server, load: Load) -> Result:
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        command = ["java", "-Xmx512m", quiet, "-cp", self.classpath, "RedissonBench", *self.options]
        command += ["--clients", str(load.processes)]  # of one process
        return run_workers(command, server, dataclasses.replace(load, processes=1))


class RedissonFair(Redisson):
    name = "Redisson, fair lock"
    waits = "a queue at the server, pub/sub; the first waiter tries again"
    kinds = ("contended", "greedy")
    options = ("--fair", "yes")
