"""More tasks of Python: hand-overs between threads, creation and memory.

threads    a token goes from a driver through N threads over queues and back
creation   a lap starts N tasks that end at once, and waits for all of them
memory     a lap starts another share of N tasks, which wait; then memory is read

A thread holds the interpreter's lock while it runs, so a hop is a switch of threads and a
hand-over of that lock.
"""
import argparse, asyncio, gc, json, os, platform, queue, re, signal, sys, threading, time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("program", choices=["threads", "creation", "memory"])
parser.add_argument("--kind", choices=["asyncio", "thread"], default="thread", help="kind of the tasks of creation and memory")
for flag, default in {"tasks": 500, "iters": 1000, "warmups": -1, "max-time": 1e9}.items():
    parser.add_argument("--" + flag, type=type(default), default=default)
flags = parser.parse_args()
flags.kind = "thread" if flags.program == "threads" else flags.kind
if flags.tasks < 1 or flags.iters < 1: parser.error("--tasks and --iters are numbers from 1")
stopped = []  # nonempty after SIGINT
signal.signal(signal.SIGINT, lambda *_: stopped.append(True))
threading.stack_size(1 << 20)  # as in the other programs
ledger = []

def spawn(body, *arguments):
    thread = threading.Thread(target=body, args=arguments, daemon=True)
    thread.start()
    return thread

def relay(upstream, downstream):
    while True:
        downstream.put(upstream.get() + 1)

def threads():
    queues = [queue.SimpleQueue() for _ in range(flags.tasks + 1)]
    for pair in zip(queues, queues[1:]): spawn(relay, *pair)
    async def lap():
        start = time.monotonic_ns()
        queues[0].put(0)
        total = queues[-1].get()
        taken = time.monotonic_ns() - start
        assert total == flags.tasks, f"the token came round as {total}, not {flags.tasks}"
        return taken
    return "iteration", "hop", len(queues), lap

def creation():
    async def nothing(): pass
    async def lap():
        start = time.monotonic_ns()
        if flags.kind == "thread":
            for thread in [spawn(lambda: None) for _ in range(flags.tasks)]: thread.join()
        else:
            for task in [asyncio.create_task(nothing()) for _ in range(flags.tasks)]: await task
        return time.monotonic_ns() - start
    return "create", f"{flags.kind} creation and end", flags.tasks, lap

def memory():
    alive, gate = [], threading.Event()
    async def wait(): await asyncio.Future()
    async def start(count):
        if flags.kind == "thread":
            alive.extend(spawn(gate.wait) for _ in range(count))
        else:
            alive.extend(asyncio.create_task(wait()) for _ in range(count))
            await asyncio.sleep(0)  # lets them begin
    step = (flags.tasks - flags.tasks // 2) // flags.iters
    flags.warmups = 0
    async def lap():
        if not alive: await start(flags.tasks - step * flags.iters)
        begun = time.monotonic_ns()
        await start(step)
        taken = time.monotonic_ns() - begun
        ledger.append(held(len(alive)))
        return taken
    return "create", f"{flags.kind} creation", step, lap

def held(tasks):  # memory of process and machine, in bytes
    gc.collect()
    text = "".join(open(f"/proc/{file}").read() for file in ("self/status", "self/smaps_rollup", "meminfo"))
    found = {name: int(kib) * 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.M)}
    names = {"resident": "Rss", "proportional": "Pss", "virtual": "VmSize", "page_table": "VmPTE",
             "kernel_stack": "KernelStack", "unreclaimable_slab": "SUnreclaim"}
    return {"tasks": tasks, **{f"{name}_bytes": found.get(key) for name, key in names.items()}}

async def measure(laps, seconds, lap):  # at least this many laps and seconds
    times, begun = [], time.monotonic()
    while (len(times) < laps or time.monotonic() < begun + seconds) and not stopped:
        times.append(await lap())
        if time.monotonic() > begun + flags.max_time: break
    return times

async def main():
    name, operation, operations, lap = {"threads": threads, "creation": creation, "memory": memory}[flags.program]()
    warmups = await measure(*((3, 0.02) if flags.warmups < 0 else (flags.warmups, 0)), lap)
    print("measuring", flush=True), sys.stdin.readline()  # the runner reads our counters
    laps_ns = await measure(flags.iters, 0, lap)
    print("measured", flush=True), sys.stdin.readline()
    if laps_ns: print(json.dumps({
        "schema_version": "1.0", "form": "laps", "program": "python-tasks", "tasks": flags.tasks,
        "warmups": len(warmups), "runtime": platform.python_version(),
        "parameters": {"subcommand": vars(flags)["program"], "kind": flags.kind, "max_time": flags.max_time,
                       "tasks": flags.tasks, "iters": flags.iters, "warmups": flags.warmups},
        "ended_by": "signal" if stopped else "iterations" if len(laps_ns) == flags.iters else "max-time",
        "ledger": ledger or None, "measurements": [{
            "name": name, "operation": operation, "operations": operations,
            "covers_all_tasks": not ledger, "laps_ns": laps_ns}]}), flush=True)

asyncio.run(main())
os._exit(130 if stopped else 0)  # without waiting for threads that wait for ever
