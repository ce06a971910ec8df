"""A token goes from a driver through N asyncio tasks over queues and back."""
import argparse, asyncio, json, platform, signal, sys, time

parser = argparse.ArgumentParser(description=__doc__)
for flag, default in {"tasks": 500, "iters": 1000, "warmups": 10, "max-time": 1e9}.items():
    parser.add_argument("--" + flag, type=type(default), default=default)
flags = parser.parse_args()
stopped = []  # holds something once SIGINT has come
signal.signal(signal.SIGINT, lambda *_: stopped.append(True))

async def relay(upstream, downstream):
    while True:
        await downstream.put(await upstream.get() + 1)

async def measure(laps, first, last):
    times, end = [], time.monotonic() + flags.max_time
    while len(times) < laps and not stopped and not (times and time.monotonic() > end):
        start = time.monotonic_ns()
        await first.put(0)
        total = await last.get()
        times.append(time.monotonic_ns() - start)
        assert total == flags.tasks, f"the token came round as {total}, not {flags.tasks}"
    return times

async def main():
    queues = [asyncio.Queue(1) for _ in range(flags.tasks + 1)]
    tasks = [asyncio.create_task(relay(*pair)) for pair in zip(queues, queues[1:])]
    warmups = await measure(flags.warmups, queues[0], queues[-1])
    print("measuring", flush=True), sys.stdin.readline()  # the runner reads our counters
    laps_ns = await measure(flags.iters, queues[0], queues[-1])
    print("measured", flush=True), sys.stdin.readline()
    print(json.dumps({
        "schema_version": "1.0", "form": "laps", "program": "python-brigade", "tasks": len(tasks),
        "warmups": len(warmups), "runtime": platform.python_version(), "parameters": vars(flags),
        "ended_by": "signal" if stopped else "iterations" if len(laps_ns) == flags.iters else "max-time",
        "expected_switches_per_operation": 0, "measurements": [
            {"name": "iteration", "operation": "hop", "operations": len(queues), "laps_ns": laps_ns}]}))

asyncio.run(main())
sys.exit(130 if stopped else 0)
