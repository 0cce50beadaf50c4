# SPDX-License-Identifier: BSL-1.0
"""redis-py's Lock as a peer of `./run bench --peers`; README.md describes arguments and output."""

import argparse
import json
import os
import sys
import threading
import time

import redis


def seconds(text: str) -> float:
    """A duration as the driver writes it: milliseconds, such as 50ms."""
    return float(text.removesuffix("ms")) / 1000


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--ttl", type=seconds, default=5)
    parser.add_argument("--hold", type=seconds, default=0)
    parser.add_argument("--think", type=seconds, default=0)
    return parser.parse_args()


def work(client: redis.Redis, load: argparse.Namespace, end: int, records: list[int]) -> None:
    # The pause between two tries stays the default of `sleep`, 100 ms.
    lock = client.lock("bench", timeout=load.ttl, blocking=True)
    while (asked := time.monotonic_ns()) < end:
        lock.acquire()
        granted = time.monotonic_ns()
        if load.hold:
            time.sleep(load.hold)
        records += (asked, granted, time.monotonic_ns())
        lock.release()
        if load.think:
            time.sleep(load.think)


def end_process(failure) -> None:
    sys.__excepthook__(failure.exc_type, failure.exc_value, failure.exc_traceback)
    os._exit(1)  # the driver waits for all workers


def main() -> None:
    threading.excepthook = end_process
    load = parse()
    host, port = load.server.rsplit(":", 1)
    client = redis.Redis(host=host, port=int(port))
    client.ping()
    print("ready", flush=True)
    end = int(sys.stdin.readline())

    records: list[list[int]] = [[] for _ in range(load.workers)]
    threads = [threading.Thread(target=work, args=(client, load, end, own)) for own in records]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"version": redis.__version__, "records": records}))


main()
