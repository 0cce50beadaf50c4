# SPDX-License-Identifier: BSL-1.0
"""One measurement: a Redis server of its own, the processes of one library, and their judge."""

import contextlib
import dataclasses
import json
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

START_SECONDS_MAX = 120  # eight Java processes on two busy processors
# Beyond the end of the measurement: workers that still wait get the lock once more.
DRAIN_SECONDS_MAX = 60


class Failed(Exception):
    """A library could not be prepared or measured; the text is what the table's reader is told."""


@dataclasses.dataclass(frozen=True)
class Load:
    """What the workers do. Times in milliseconds; `seconds` are measured, after `warm_up`."""

    kind: str
    processes: int
    workers: int  # in each process
    hold: int
    think: int
    seconds: float
    warm_up: float
    ttl: int = 5000


@dataclasses.dataclass
class Result:
    version: str
    locks_per_s: float
    wait_ms_max: float | None
    overlaps: int | None
    commands_per_lock: float = 0
    reads_per_lock: float = 0


@dataclasses.dataclass(frozen=True)
class Counts:
    """What the server has counted of all its clients."""

    commands: int
    reads: int

    def __sub__(self, earlier: "Counts") -> "Counts":
        return Counts(self.commands - earlier.commands, self.reads - earlier.reads)


def parse_counts(info: str) -> Counts:
    """PINGs are left out: `mortise bench uncontended` sends them between its locks, as its limit;
    nobody sends one for a lock."""

    def number(pattern: str) -> int:
        found = re.search(pattern, info)
        return int(found.group(1)) if found else 0

    pings = number(r"cmdstat_ping:calls=(\d+)")
    return Counts(
        number(r"total_commands_processed:(\d+)") - pings,
        number(r"total_reads_processed:(\d+)") - pings,
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A Redis server on loopback that keeps nothing and ends with the `with` block."""

    def __init__(self, program: str):
        self.program = program

    def __enter__(self) -> "Server":
        self.folder = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        words = [self.program, "--port", str(self.port), "--bind", "127.0.0.1"]
        words += ["--save", "", "--appendonly", "no", "--dir", self.folder.name]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        try:
            self._await_start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _await_start(self) -> None:
        give_up = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                self.info()
                return
            except OSError:
                time.sleep(0.02)
        raise Failed("the Redis server did not start")

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def info(self) -> str:
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as line:
            line.sendall(b"INFO everything\r\n")
            with line.makefile("rb") as reply:
                return reply.read(int(reply.readline()[1:])).decode()

    def counts(self) -> Counts:
        return parse_counts(self.info())

    def version(self) -> str:
        found = re.search(r"redis_version:(\S+)", self.info())
        return found.group(1) if found else "unknown"


def judge(workers: list[list[int]], begin: int, end: int) -> tuple[float, float, int]:
    """Locks per second, the longest wait in ms, and how many holds began before another's end.

    Each worker noted three times of CLOCK_MONOTONIC in ns for each hold: asked, granted, and just
    before the release. `mortise bench contend` judges its own processes by the same rule. Speed is
    that of grants from `begin` to `end`. The waits of grants after `end` count, too: a worker that
    starves until the others stop would otherwise be missing. Overlaps are looked for everywhere.
    """
    holds = sorted(
        (own[i + 1], own[i + 2], own[i + 1] - own[i])
        for own in workers
        for i in range(0, len(own), 3)
    )
    overlaps, latest = 0, 0
    for granted, released, _ in holds:
        overlaps += granted < latest
        latest = max(latest, released)
    waits = [(granted, wait) for granted, _, wait in holds if granted >= begin]
    locks = sum(granted < end for granted, _ in waits)
    if not locks:
        raise Failed("no lock was acquired in the time that was measured")
    return locks / ((end - begin) / 1e9), max(wait for _, wait in waits) / 1e6, overlaps


def _say_why(process: subprocess.Popen, log: pathlib.Path) -> Failed:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    last = lines[-1].strip()[:200] if lines else "no output"
    return Failed(f"exit code {process.poll()}: {last}")


def _await_ready(process: subprocess.Popen, log: pathlib.Path) -> None:
    for line in process.stdout:  # libraries may print before it
        if line.strip() == "ready":
            return
    process.wait()
    raise _say_why(process, log)


def time_max(load: Load) -> float:
    return START_SECONDS_MAX + load.warm_up + load.seconds + DRAIN_SECONDS_MAX


@contextlib.contextmanager
def time_limit(seconds: float):
    """Raises Failed in the block, wherever it waits, when so much time has passed."""

    def give_up(*_):
        raise Failed(f"it did not end within {seconds:.0f} s")

    handler_before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler_before)


def end_process(process: subprocess.Popen) -> None:
    process.kill()  # does nothing to one that has ended
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # the pipe of a dead process
            pipe.close()


def run_workers(command: list[str], server: Server, load: Load) -> Result:
    """The processes of one library, which begin and end at the same time."""
    words = [*command, "--server", server.address, "--workers", str(load.workers)]
    words += ["--ttl", f"{load.ttl}ms", "--hold", f"{load.hold}ms", "--think", f"{load.think}ms"]
    processes: list[subprocess.Popen] = []
    with tempfile.TemporaryDirectory() as folder:
        logs = [pathlib.Path(folder) / str(i) for i in range(load.processes)]
        try:
            for log in logs:
                with log.open("w") as errors:
                    pipe = subprocess.PIPE
                    process = subprocess.Popen(
                        words, stdin=pipe, stdout=pipe, stderr=errors, text=True
                    )
                processes.append(process)
            with time_limit(time_max(load)):
                return _measure(processes, logs, server, load)
        finally:
            for process in processes:
                end_process(process)


def _read_report(process: subprocess.Popen, log: pathlib.Path) -> dict:
    for line in process.stdout:
        if line.startswith("{"):
            return json.loads(line)
    process.wait()
    raise _say_why(process, log)


def _measure(processes, logs, server: Server, load: Load) -> Result:
    pairs = list(zip(processes, logs))
    for process, log in pairs:
        _await_ready(process, log)
    before = server.counts()
    begin = time.monotonic_ns() + int(load.warm_up * 1e9)
    end = begin + int(load.seconds * 1e9)
    for process in processes:
        with contextlib.suppress(BrokenPipeError):  # its missing report tells more
            process.stdin.write(f"{end}\n")
            process.stdin.flush()
    reports = [_read_report(process, log) for process, log in pairs]
    used = server.counts() - before
    workers = [own for report in reports for own in report["records"]]
    locks = sum(len(own) for own in workers) // 3
    result = Result(reports[0]["version"], *judge(workers, begin, end))
    result.commands_per_lock = used.commands / locks
    result.reads_per_lock = used.reads / locks
    return result
