"""More tasks of Python: hand-overs between threads, creation, memory and wake-ups.

threads    a token goes from a driver through N threads over queues and back
creation   a lap starts N tasks that end at once, and waits for all of them
memory     a lap starts another share of N tasks, which wait; then memory is read
wake       a lap is one wake-up of an asyncio task that sleeps until a given time

A thread holds the interpreter's lock while it runs, so a hop is a switch of threads and a
hand-over of that lock.

Wake-up k is due at k / rate seconds, regardless of the one before, and belongs to task k modulo N;
its time runs from then until the task reads the clock. An idle loop waits for its timers in
epoll_wait, to the millisecond. Greedy tasks compute next to the others before they yield.
"""
import argparse, asyncio, gc, json, math, os, platform, queue, re, signal, sys, threading, time

def bounded(kind, least, most):
    def number(text):  # errors of argparse have this name
        value = kind(text)
        if "_" in text or not least <= value <= most:  # no bounds include nan
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least} to {most}")
        return value
    return number

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter, allow_abbrev=False)
parser.add_argument("program", choices=["threads", "creation", "memory", "wake"])
parser.add_argument("--kind", choices=["asyncio", "thread"], default="thread", help="kind of the tasks of creation and memory")
woken = sys.argv[1:2] == ["wake"]
parser.add_argument("--tasks", type=bounded(int, 1, 100_000_000), default=4 if woken else 500)
parser.add_argument("--iters", type=bounded(int, 1, 1_000_000), default=10_000 if woken else 1000)  # the runner accepts no more
parser.add_argument("--warmups", type=bounded(int, -1, 1_000_000), default=-1)
parser.add_argument("--max-time", type=bounded(float, 0, 1e9), default=1e9)
waking = ["rate", "greedy", "greedy-for"] if woken else []
if woken:
    parser.add_argument("--rate", type=bounded(int, 1, 1_000_000), default=10_000)
    parser.add_argument("--greedy", type=bounded(int, 0, 1024), default=0)
    parser.add_argument("--greedy-for", type=bounded(int, 1, 1_000_000), default=10_000)
flags = parser.parse_args()
flags.kind = {"threads": "thread", "wake": "asyncio"}.get(flags.program, flags.kind)
if flags.program == "memory" and flags.tasks < 2 * flags.iters:
    parser.error(f"--tasks {flags.tasks}: {flags.iters} readings need {2 * flags.iters} or more")
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
    text = ""
    for file in ("self/status", "self/smaps_rollup", "meminfo"):
        try:
            text += open(f"/proc/{file}").read()
        except OSError:
            pass  # unreadable figures are null
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

async def wake_ups(count, seconds, kept):  # a round of at least this many, and for these seconds
    count = min(max(count, int(seconds * flags.rate)), max(1, math.ceil(flags.max_time * flags.rate)))
    late, over, missed = [], [], 0
    begin = time.monotonic_ns() + 10_000_000

    async def sleep(task):
        nonlocal missed
        for number in range(task, count, flags.tasks):
            due, waited = begin + number * 1_000_000_000 // flags.rate, False
            while (left := due - time.monotonic_ns()) > 0 and not stopped:
                await asyncio.sleep(min(left / 1e9, 0.2))
                waited = True
            if stopped: return
            late.append(time.monotonic_ns() - due)
            missed += not waited

    async def compute():
        while not over:
            until = time.monotonic_ns() + flags.greedy_for * 1000
            while time.monotonic_ns() < until: pass
            await asyncio.sleep(0)

    greedy = [asyncio.create_task(compute()) for _ in range(flags.greedy)]
    await asyncio.gather(*map(sleep, range(flags.tasks)))
    over.append(True)
    await asyncio.gather(*greedy)
    kept.update(missed=missed, called_late=None)
    return late

async def main():
    kept = {}
    programs = {"threads": threads, "creation": creation, "memory": memory, "wake": lambda: ("wake-up", "wake-up", 1, kept)}
    taken = wake_ups if woken else measure
    name, operation, operations, lap = programs[flags.program]()
    warmups = await taken(*((3, 0.02) if flags.warmups < 0 else (flags.warmups, 0)), lap)
    print("measuring", flush=True), sys.stdin.readline()  # the runner reads our counters
    laps_ns = await taken(flags.iters, 0, lap)
    print("measured", flush=True), sys.stdin.readline()
    if laps_ns: print(json.dumps({
        "schema_version": "1.2", "form": "laps", "program": "python-tasks",
        "kind": "thread" if flags.kind == "thread" else "async-task",
        "tasks": flags.tasks, "warmups": len(warmups), "runtime": platform.python_version(),
        "parameters": {"subcommand": vars(flags)["program"], "kind": flags.kind, "max_time": flags.max_time,
                       "tasks": flags.tasks, "iters": flags.iters, "warmups": flags.warmups,
                       **{flag.replace("-", "_"): getattr(flags, flag.replace("-", "_")) for flag in waking}},
        "ended_by": "signal" if stopped else "iterations" if len(laps_ns) == flags.iters else "max-time",
        "ledger": ledger or None, "schedule": kept or None, "measurements": [{
            "name": name, "operation": operation, "operations": operations,
            "covers_all_tasks": not ledger and not woken, "laps_ns": laps_ns}]}), flush=True)

asyncio.run(main())
os._exit(130 if stopped else 0)  # without waiting for threads that wait for ever
