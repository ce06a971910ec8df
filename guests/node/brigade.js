// Measures promises: a hand-over between async functions, creation and memory, each as a
// subcommand. Prints laps, as docs/PROTOCOL.md describes them.
//
// The language has promises but no channels, so a hop resolves one promise and continues one
// async function after its `await`, all on one thread, from the microtask queue, without the
// event loop. Known biases: every hop creates a promise, so the collector runs in some laps.
// Between laps the event loop runs every 10 ms, to handle signals.
"use strict";
const fs = require("node:fs");
const { setImmediate: turn } = require("node:timers/promises");
const v8 = require("node:v8");

const words = process.argv.slice(2);
const program = words.length > 0 && !words[0].startsWith("--") ? words.shift() : "brigade";
const flags = { tasks: 500, iters: 1000, warmups: -1, max_time: 1e9 };
// The runner accepts a million laps at most.
const bounds = { tasks: [1, 1e8], iters: [1, 1e6], warmups: [-1, 1e6], max_time: [0, 1e9] };
while (words.length > 0) {
  const flag = words.shift();
  const name = flag.replace(/^--/, "").replace("-", "_");
  if (!flag.startsWith("--") || !Object.keys(flags).includes(name) || words.length === 0) usage(flag);
  const text = words.shift();
  const form = name === "max_time" ? /^\d+(\.\d+)?(e[-+]?\d+)?$/ : /^-?\d+$/;
  const [least, most] = bounds[name];
  const value = Number(text);
  if (!form.test(text) || value < least || value > most) refuse(`${flag} ${text}: not a number from ${least} to ${most}`);
  flags[name] = value;
}
if (program === "memory" && flags.tasks < 2 * flags.iters) {
  refuse(`--tasks ${flags.tasks}: ${flags.iters} readings need ${2 * flags.iters} or more`);
}
let stopped = false;
process.on("SIGINT", () => { stopped = true; });
const now = () => Number(process.hrtime.bigint());

function usage(what) {
  refuse(`cannot follow ${what}; known: brigade, creation, memory, and with `
    + "a number each --tasks, --iters, --warmups, --max-time");
}

function refuse(why) {
  console.error(`node-brigade: ${why}`);
  process.exit(2);
}

/** What one async function awaits and another resolves, over and over. */
class Slot {
  constructor() { this.renew(); }
  renew() { this.filled = new Promise((fill) => { this.fill = fill; }); }
  async take() {
    const token = await this.filled;
    this.renew();
    return token;
  }
}

async function relay(upstream, downstream) {
  for (;;) {
    const token = await upstream.take();
    downstream.fill(token + 1);
  }
}

function brigade() {
  const slots = Array.from({ length: flags.tasks + 1 }, () => new Slot());
  for (let task = 0; task < flags.tasks; task++) relay(slots[task], slots[task + 1]);
  return ["iteration", "hop", flags.tasks + 1, async () => {
    const begun = now();
    slots[0].fill(0);
    const total = await slots[flags.tasks].take();
    const taken = now() - begun;
    if (total !== flags.tasks) throw new Error(`the token came round as ${total}`);
    return taken;
  }];
}

/** A lap calls so many async functions, which go on once, and awaits them. */
function creation() {
  const task = async () => { await undefined; };
  return ["create", "promise creation and end", flags.tasks, async () => {
    const begun = now();
    const tasks = [];
    for (let number = 0; number < flags.tasks; number++) tasks.push(task());
    await Promise.all(tasks);
    return now() - begun;
  }];
}

/** A lap calls a further share of the async functions, which wait; then memory is read. */
function memory(ledger) {
  const alive = [];
  const wait = async () => { await new Promise((end) => { alive.push(end); }); };
  const start = (count) => { for (let number = 0; number < count; number++) wait(); };
  const step = Math.floor((flags.tasks - Math.floor(flags.tasks / 2)) / flags.iters);
  v8.setFlagsFromString("--expose-gc");
  const collect = require("node:vm").runInNewContext("gc");
  start(flags.tasks - step * flags.iters);
  flags.warmups = 0;
  return ["create", "promise creation", step, async () => {
    const begun = now();
    start(step);
    const taken = now() - begun;
    collect();
    ledger.push(held(alive.length));
    return taken;
  }];
}

/** What process and machine hold while so many async functions wait. */
function held(tasks) {
  const of = {};
  for (const file of ["self/status", "self/smaps_rollup", "meminfo"]) {
    let text = "";
    try {
      text = fs.readFileSync(`/proc/${file}`, "utf8");
    } catch {
      // Unreadable figures are null.
    }
    for (const [, name, kib] of text.matchAll(/^(\w+):\s+(\d+) kB$/gm)) of[name] = kib * 1024;
  }
  return {
    tasks, runtime_bytes: process.memoryUsage().heapUsed, resident_bytes: of.Rss ?? null,
    proportional_bytes: of.Pss ?? null, virtual_bytes: of.VmSize ?? null, page_table_bytes: of.VmPTE ?? null,
    kernel_stack_bytes: of.KernelStack ?? null, unreclaimable_slab_bytes: of.SUnreclaim ?? null,
  };
}

/** Laps: so many, and for so many seconds, at least. */
async function measure(laps, seconds, lap) {
  const times = [];
  const begun = now();
  let heard = begun;
  const since = (then) => (now() - then) / 1e9;
  while (!stopped && (times.length < laps || since(begun) < seconds)) {
    times.push(await lap());
    if (since(begun) > flags.max_time) break;
    if (since(heard) > 0.01) {
      await turn();
      heard = now();
    }
  }
  return times;
}

/** Prints a word and waits for a line, or for the end of the input: the runner reads our counters. */
async function mark(word) {
  fs.writeSync(1, `${word}\n`);
  const byte = Buffer.alloc(1);
  try {
    while (fs.readSync(0, byte) > 0 && byte[0] !== 10);
  } catch (error) {
    if (error.code !== "EOF") throw error;
  }
  await turn();
}

async function main() {
  const programs = { brigade, creation, memory };
  if (!Object.keys(programs).includes(program)) usage(program);
  const ledger = [];
  const [name, operation, operations, lap] = programs[program](ledger);
  const warm = flags.warmups < 0;
  const warmups = await measure(warm ? 3 : flags.warmups, warm ? 0.3 : 0, lap);
  await mark("measuring");
  const laps_ns = await measure(flags.iters, 0, lap);
  await mark("measured");
  if (laps_ns.length > 0) {
    const ended = laps_ns.length === flags.iters ? "iterations" : "max-time";
    console.log(JSON.stringify({
      schema_version: "1.2", form: "laps", program: "node-brigade", kind: "async-task",
      tasks: flags.tasks, warmups: warmups.length, runtime: process.version,
      ended_by: stopped ? "signal" : ended,
      parameters: { subcommand: program, ...flags },
      expected_switches_per_operation: program === "brigade" ? 0 : null,
      ...(ledger.length > 0 && { ledger }),
      measurements: [{ name, operation, operations, covers_all_tasks: ledger.length === 0, laps_ns }],
    }));
  }
  process.exit(stopped ? 130 : 0);
}

main();
