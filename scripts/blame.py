#!/usr/bin/env python3
"""Checks the causes that brigade trace names: disturbs traces on purpose and counts how often the
worst hop names the cause. Needs root, for the quota and to see other processes. The halt case
needs an idle machine.

usage: scripts/blame.py [--brigade FILE] [--times N] [hog|quota|stop|halt]..."""

import argparse
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

CAUSES = {
    # Case, and what the worst hop must name.
    "hog": ("thread-brigade/same-cpu", ("queued behind another task (python3", "preempted (python3")),
    "quota": ("thread-brigade/same-cpu", ("throttled by a quota",)),
    "stop": ("thread-brigade/same-cpu", ("stopped by a signal",)),
    "halt": ("halt", ("CPU asleep and waking",)),
}
# Twenty hops, some to an idle CPU: of thousands, the worst often has another cause.
HALT = """[profiles.default]
rounds = 3
flags = []
[programs.thread-brigade]
title = "halt"
check = { tasks = 19, iters = 1, warmups = 0, operations = 20 }
[[group]]
name = "halt"
question = "What does a CPU that sleeps cost?"
[[group.case]]
name = "halt"
program = "thread-brigade"
flags = ["--tasks", "19", "--iters", "1"]
placement = "free"
profiles = ["default"]
"""
GROUP = pathlib.Path("/sys/fs/cgroup")
HOG = """import time
while True:
    end = time.monotonic() + 0.003
    while time.monotonic() < end: pass
    time.sleep(0.007)"""


@contextlib.contextmanager
def hog():
    """On each CPU, a process that is busy for 3 ms of 10."""
    hogs = [
        subprocess.Popen([sys.executable, "-c", HOG], preexec_fn=lambda: os.sched_setaffinity(0, [cpu]))
        for cpu in os.sched_getaffinity(0)
    ]
    try:
        yield None
    finally:
        for process in hogs:
            process.kill()
            process.wait()


@contextlib.contextmanager
def quota():
    """A control group that may use 30 % of a CPU, in periods shorter than a trace."""
    two = (GROUP / "cgroup.controllers").exists()
    group = (GROUP if two else GROUP / "cpu") / "brigade-blame"
    if two:
        (GROUP / "cgroup.subtree_control").write_text("+cpu")
    group.mkdir(exist_ok=True)
    if two:
        (group / "cpu.max").write_text("3000 10000")
    else:
        (group / "cpu.cfs_period_us").write_text("10000")
        (group / "cpu.cfs_quota_us").write_text("3000")
    try:
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        with contextlib.suppress(OSError):
            group.rmdir()


@contextlib.contextmanager
def halt():
    """Some hops go to an idle CPU."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as manifest:
        manifest.write(HALT)
        manifest.flush()
        yield manifest.name


@contextlib.contextmanager
def stop():
    """Stops the program that traces for 5 ms, again and again. Its laps would fall into step with
    a fixed period, and run between the stops."""
    ended = threading.Event()

    def tracing():
        """Those that trace now."""
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if entry.name.isdigit() and b"--trace" in words and b"--json" in words:
                    yield int(entry.name)

    def run():
        # Searching takes time, which must not be that of the CPU that is traced.
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
        while not ended.wait(0.02):
            for pid in tracing():
                with contextlib.suppress(OSError):
                    while not ended.wait(random.uniform(0.001, 0.006)):
                        os.kill(pid, signal.SIGSTOP)
                        time.sleep(0.005)
                        os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield None
    finally:
        ended.set()
        thread.join()


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--brigade", default="target/release/brigade")
    flags.add_argument("--times", type=int, default=10)
    flags.add_argument("causes", nargs="*", metavar="CAUSE", help=", ".join(CAUSES))
    args = flags.parse_args()
    failed = False
    for cause in args.causes or CAUSES:
        case, words = CAUSES[cause]
        disturb = {"hog": hog, "quota": quota, "stop": stop, "halt": halt}[cause]
        named = 0
        for _ in range(args.times):
            with disturb() as enter:
                command = [args.brigade, "trace", case, "--wait", "--no-build"]
                if cause == "halt":
                    command, enter = command + ["--manifest", enter], None
                run = subprocess.run(command, capture_output=True, text=True, preexec_fn=enter)
            text = " ".join(run.stdout.split())
            worst = text.partition("The worst hops ")[2].partition(" - ")
            worst = (worst[2] if not worst[0] else worst[0]).removeprefix("- ").partition(" - ")[0]
            is_named = any(of in worst for of in words)
            named += is_named
            if not is_named:
                print(f"{cause}: {worst or run.stderr.strip()}", file=sys.stderr)
        print(f"{cause}: named by the worst hop of {named} of {args.times} traces", flush=True)
        failed |= named < 0.9 * args.times
    sys.exit(failed)


if __name__ == "__main__":
    main()
