"""A token goes from a driver through N asyncio tasks over queues and back."""
import argparse, asyncio, json, platform, signal, sys, time

parser = argparse.ArgumentParser(description=__doc__)
for flag, default in {"tasks": 500, "iters": 1000, "warmups": -1, "max-time": 1e9}.items():
    parser.add_argument("--" + flag, type=type(default), default=default)
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
