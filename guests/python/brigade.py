"""A token goes from a driver through N asyncio tasks over queues and back."""
import argparse, asyncio, json, platform, signal, sys, time

def bounded(kind, least, most):
    def number(text):  # errors of argparse have this name
        value = kind(text)
        if "_" in text or not least <= value <= most:  # no bounds include nan
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least} to {most}")
        return value
    return number

parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
parser.add_argument("--tasks", type=bounded(int, 1, 100_000_000), default=500)
parser.add_argument("--iters", type=bounded(int, 1, 1_000_000), default=1000)  # the runner accepts no more
parser.add_argument("--warmups", type=bounded(int, -1, 1_000_000), default=-1)
parser.add_argument("--max-time", type=bounded(float, 0, 1e9), default=1e9)
flags = parser.parse_args()
stopped = []  # nonempty after SIGINT
signal.signal(signal.SIGINT, lambda *_: stopped.append(True))

async def relay(upstream, downstream):
    while True:
        await downstream.put(await upstream.get() + 1)

async def measure(laps, seconds, first, last):  # at least this many laps and seconds
    times, begun = [], time.monotonic()
    while (len(times) < laps or time.monotonic() < begun + seconds) and not stopped:
        start = time.monotonic_ns()
        await first.put(0)
        total = await last.get()
        times.append(time.monotonic_ns() - start)
        assert total == flags.tasks, f"the token came round as {total}, not {flags.tasks}"
        if time.monotonic() > begun + flags.max_time: break
    return times

async def main():
    queues = [asyncio.Queue(1) for _ in range(flags.tasks + 1)]
    tasks = [asyncio.create_task(relay(*pair)) for pair in zip(queues, queues[1:])]
    warmups = await measure(*((3, 0.02) if flags.warmups < 0 else (flags.warmups, 0)), queues[0], queues[-1])
    print("measuring", flush=True), sys.stdin.readline()  # the runner reads our counters
    laps_ns = await measure(flags.iters, 0, queues[0], queues[-1])
    print("measured", flush=True), sys.stdin.readline()
    print(json.dumps({
        "schema_version": "1.2", "form": "laps", "program": "python-brigade", "kind": "async-task",
        "tasks": len(tasks), "warmups": len(warmups), "runtime": platform.python_version(),
        "parameters": vars(flags),
        "ended_by": "signal" if stopped else "iterations" if len(laps_ns) == flags.iters else "max-time",
        "expected_switches_per_operation": 0, "measurements": [
            {"name": "iteration", "operation": "hop", "operations": len(queues), "laps_ns": laps_ns}]}))

sys.exit(asyncio.run(main()) or (130 if stopped else 0))
