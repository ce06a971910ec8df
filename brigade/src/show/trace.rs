//! A trace: the table of parts and the worst hops, one lap as a picture, and the events that
//! Perfetto and chrome://tracing open.

use std::cmp::Reverse;

use harness::trace::Stop;
use serde_json::{Value, json};

use super::page::{Block, Table, left, right, unbroken};
use super::quantity::{brief_ticks, duration, percent, three_digits};
use super::scale::equal_steps;
use super::svg::{END, MIDDLE, START, Size, cut, file, line, placed, rectangle, text};
use crate::judge::row::Quantity;
use crate::judge::trace::{Blame, Cause, Hop, Part, Piece, Quantiles, Turn, turns_within};

/// How many hops a picture shows at most.
const MOST_HOPS: usize = 8;
/// How many of the worst hops are listed.
const WORST: usize = 5;
/// The width of a picture in pixels.
const WIDTH: f64 = 720.0;

/// A part's name, and its label in a picture.
fn words(part: Part) -> [&'static str; 2] {
    match part {
        Part::Sending => ["sender's call, until it leaves the CPU", ""],
        Part::SendingToIdle => ["sender's call, the receiver's CPU asleep", ""],
        Part::Switching => ["gap: the CPU switches threads", "switch"],
        Part::Asleep => ["gap: CPU asleep and waking", "asleep"],
        Part::Queued => ["gap: queued behind another task", "queued"],
        Part::Preempted => ["gap: preempted", "preempted"],
        Part::Waiting => ["gap: sender waits in its call", "waits"],
        Part::Unknown => ["gap: cause unknown", "?"],
        Part::Receiving => ["receiver on CPU, until its call returns", ""],
        Part::Running => ["one thread on CPU, without a switch", ""],
    }
}

fn task_name(task: Option<u32>) -> String {
    task.map_or_else(|| "driver".to_owned(), |task| format!("task {task}"))
}

/// The only task of a thread, or that it is the driver's; `None` of a thread that runs several tasks.
fn only_task(blame: &Blame, tid: u32) -> Option<Option<u32>> {
    let tasks: Vec<Option<u32>> = blame.tasks.get(&tid)?.iter().copied().collect();
    match tasks[..] {
        // With or without a stop that only divides a hop.
        [task] | [None, task] => Some(task),
        _ => None,
    }
}

/// The name of a thread: that of its task, or its number if it runs several tasks.
fn name(blame: &Blame, tid: u32) -> String {
    match (only_task(blame, tid), blame.trace.names.get(&tid)) {
        (Some(task), _) => task_name(task),
        (None, Some(name)) => name.clone(),
        (None, None) => format!("thread {tid}"),
    }
}

/// The name of a thread in a narrow space: the number of its task without a word.
fn brief_name(blame: &Blame, tid: u32) -> String {
    match only_task(blame, tid) {
        Some(Some(task)) => task.to_string(),
        _ => name(blame, tid),
    }
}

/// A part as the end of a sentence about a hop.
fn clause(part: Part) -> &'static str {
    match part {
        Part::Sending => "is the sender's call, until it leaves the CPU",
        Part::SendingToIdle => "is the sender's call while the receiver's CPU sleeps",
        Part::Switching => "is the CPU's switch from one thread to the next",
        Part::Asleep => "is waiting for a sleeping CPU to wake up",
        Part::Queued => "is waiting behind another task",
        Part::Preempted => "is waiting after a preemption",
        Part::Waiting => "is the sender's waiting in its call",
        Part::Unknown => "has an unknown cause",
        Part::Receiving => "is the receiver's time on its CPU, until its call returns",
        Part::Running => "is one thread's own code, without a switch",
    }
}

/// What a hop spends most of its time on, and what tracing it costs; or that there is nothing to see.
fn answer(case: &str, blame: &Blame, plain_ns: Option<f64>) -> Option<String> {
    let largest = blame.parts.iter().max_by(|one, other| one.share.total_cmp(&other.share))?;
    let traced_ns = blame.mean_ns();
    if largest.part == Part::Running && largest.share >= ALL {
        let hop = duration(plain_ns.unwrap_or(traced_ns));
        let command = unbroken(&format!("perf record -g -- brigade {case}"));
        return Some(format!(
            "No switch to see: {hop} a hop, all of it in one thread's own code. perf shows which: \
             {command}"
        ));
    }
    let cost = plain_ns.map_or(String::new(), |plain_ns| {
        let [plain, traced] = [plain_ns, traced_ns].map(duration);
        format!(" Tracing makes a hop take {traced} instead of {plain}.")
    });
    Some(format!("{} of a hop {}.{cost}", percent(largest.share), clause(largest.part)))
}

/// A part with this share of the time is all of it.
const ALL: f64 = 0.995;

/// The time of each part, and the worst hops. A hop takes `plain_ns` in a process that does
/// not trace.
pub fn blocks(case: &str, blame: &Blame, plain_ns: Option<f64>) -> Vec<Block> {
    let hops: Vec<&Hop> = blame.hops().collect();
    let (count, trace) = (hops.len(), &blame.trace);
    let Quantiles { median_ns, p99_ns } = Quantiles::new(hops.iter().map(|hop| hop.ns()));
    let [p50, p99] = [median_ns, p99_ns].map(duration);
    let crossing = hops.iter().filter(|hop| hop.from.cpu != hop.to.cpu).count();
    let crossing = percent(crossing as f64 / count as f64);
    let switches: u64 = trace.batches.iter().map(|batch| batch.counted).sum();
    let each = three_digits(switches as f64 / count as f64);
    let sees = if trace.whole_machine {
        ""
    } else {
        " Other processes are not visible without CAP_PERFMON."
    };
    let mut table = Table::new([left("part of a hop"), right("p50"), right("p99"), right("share")]);
    for time in &blame.parts {
        let shown = |ns| if ns > 0.0 { duration(ns) } else { "0".to_owned() };
        let Quantiles { median_ns, p99_ns } = time.quantiles;
        let [p50, p99] = [median_ns, p99_ns].map(shown);
        table.push(vec![words(time.part)[0].to_owned(), p50, p99, percent(time.share)]);
    }
    let mut worst = hops;
    worst.sort_by_key(|hop| Reverse(hop.ns()));
    worst.truncate(WORST);
    let facts = format!(
        "Traced, half of the hops take less than {p50}, one in a hundred more than {p99}. \
         {crossing} go to another CPU. The kernel counted {switches} switches, {each} per hop; each \
         was recorded.{sees}"
    );
    let laps = blame.laps.len();
    let plural = if laps == 1 { "" } else { "s" };
    let evidence = [
        Block::Heading(1, format!("{case}: {count} hops in {laps} lap{plural}")),
        Block::Paragraph(facts),
        Block::Table(table),
        Block::Heading(2, "The worst hops".to_owned()),
        Block::Items(worst.into_iter().map(|hop| reason(blame, hop)).collect()),
    ];
    let answer = answer(case, blame, plain_ns).map(Block::Paragraph);
    answer.into_iter().chain(evidence).collect()
}

/// A hop with its cause.
fn reason(blame: &Blame, hop: &Hop) -> String {
    let task = |stop: Stop| format!("{} on CPU {}", task_name(stop.task), stop.cpu);
    let cause = blame.cause(hop).map_or(String::new(), |Cause { part, ns, longest }| {
        let other = longest.by.filter(|_| matches!(part, Part::Queued | Part::Preempted));
        let by = other.map_or(String::new(), |tid| format!(" ({})", name(blame, tid)));
        let [what, _] = words(part);
        format!(": {} of it {what}{by}, CPU {}", duration(ns as f64), longest.cpu)
    });
    let length = duration(hop.ns() as f64);
    format!("{length} from {} to {}{cause}", task(hop.from), task(hop.to))
}

/// The typical lap as a picture: a lane for each CPU, one for the token, and the time.
pub fn picture(case: &str, blame: &Blame) -> String {
    const LANE: f64 = 26.0;
    const STEP: f64 = 48.0;
    const LABEL: f64 = 16.0;
    const AXIS: f64 = 24.0;
    let lap = blame.typical_lap();
    let first = lap.len().saturating_sub(MOST_HOPS) / 2;
    let hops = &lap[first..lap.len().min(first + MOST_HOPS)];
    let ends = [hops[0].from.at_ns, hops[hops.len() - 1].to.at_ns];
    let length = (ends[1] - ends[0]) as f64;
    let share = |at: u64| (at.clamp(ends[0], ends[1]) - ends[0]) as f64 / length.max(1.0);
    let mut body = String::new();
    let mut block = |[from, to]: [u64; 2], y, task: Option<Option<u32>>, words: [&str; 2]| {
        let ends = [from, to].map(share);
        let class = match task {
            Some(task) => format!("cell h{}", task.map_or(0, |task| 1 + task % 7)),
            None => "part p-asleep".to_owned(),
        };
        let title = format!("{}, {}", words[0], duration((to - from) as f64));
        body += &rectangle(ends[0]..ends[1], y + LABEL, LANE, &class, &title);
        let pixels = (ends[1] - ends[0]) * 0.94 * WIDTH;
        if pixels >= 24.0 {
            let (middle, words) = (ends.iter().sum::<f64>() / 2.0, cut(words[1], pixels));
            body += &text(middle, y + LABEL + 17.0, MIDDLE, "note", &words);
        }
    };
    let label = |y: f64, name: &str| text(0.0, y + LABEL - 4.0, START, "axis", name);
    let (mut y, mut labels) = (0.0, String::new());
    for (cpu, turns) in &blame.turns {
        let turns = turns_within(turns, &(ends[0]..ends[1]));
        if turns.is_empty() {
            continue;
        }
        labels += &label(y, &format!("CPU {cpu}"));
        for Turn { tid, from_ns, to_ns, .. } in turns.iter().filter(|turn| turn.tid != 0) {
            let task = blame.tasks.get(tid).and_then(|tasks| tasks.last().copied());
            let names = [name(blame, *tid), brief_name(blame, *tid)];
            block([*from_ns, *to_ns], y, task, names.each_ref().map(String::as_str));
        }
        y += STEP;
    }
    labels += &label(y, "the token");
    for hop in hops {
        for Piece { part, from_ns, to_ns, .. } in hop.pieces.iter().copied() {
            let task = match part {
                Part::Sending | Part::SendingToIdle | Part::Running => Some(hop.from.task),
                Part::Receiving => Some(hop.to.task),
                _ => None,
            };
            block([from_ns, to_ns], y, task, words(part));
        }
        let at = share(hop.from.at_ns);
        labels += &line((at, y + LABEL - 4.0), (at, y + LABEL + LANE + 4.0), "node");
    }
    for ns in equal_steps(0.0, length.max(1.0)) {
        let (at, top) = (ns / length.max(1.0), y + STEP);
        labels += &line((at, top), (at, top + 5.0), "node");
        // Text beyond the picture would be cut.
        let anchor = match at {
            ..0.03 => START,
            0.97.. => END,
            _ => MIDDLE,
        };
        let tick = brief_ticks(ns, Quantity::Nanoseconds);
        labels += &text(at, top + 18.0, anchor, "axis", &tick);
    }
    let title = format!("{case}: one lap");
    let description = "Lanes are CPUs, colours are tasks. The lowest lane is the token's: gray \
                       is a gap in which neither sender nor receiver had a CPU.";
    let shown = format!("{} of {} hops, {}", hops.len(), lap.len(), duration(length));
    let height = y + STEP + AXIS;
    let inner = Size { width: 0.94 * WIDTH, height };
    let body = placed(&(body + &labels), 0.03 * WIDTH, 60.0, inner);
    let around = text(0.03, 26.0, START, "head", &title) + &text(0.03, 44.0, START, "axis", &shown);
    let size = Size { width: WIDTH, height: height + 72.0 };
    file(&title, description, size, &(around + &body))
}

/// The trace in the Trace Event Format: threads as tracks, parts and laps as slices, hops as
/// flows. Times are in microseconds.
pub fn events(case: &str, blame: &Blame) -> Value {
    let begun_ns = blame.trace.batches[0].begun_ns;
    let us = |at_ns: u64| (at_ns - begun_ns) as f64 / 1e3;
    let slice = |name: &str, tid: u32, [from, to]: [u64; 2]| {
        json!({ "name": name, "ph": "X", "pid": 1, "tid": tid, "ts": us(from),
            "dur": (to - from) as f64 / 1e3 })
    };
    let named = |tid: u32, name: &str| {
        json!({ "name": "thread_name", "ph": "M", "pid": 1, "tid": tid,
            "args": { "name": name } })
    };
    let flow = |kind: &str, id: usize, stop: Stop| {
        json!({ "name": "hop", "cat": "brigade", "ph": kind, "bp": "e", "id": id, "pid": 1,
            "tid": stop.tid, "ts": us(stop.at_ns) })
    };
    let mut events = vec![named(0, "laps")];
    events.extend(blame.tasks.keys().map(|tid| named(*tid, &name(blame, *tid))));
    for Turn { cpu, tid, from_ns, to_ns, .. } in blame.turns.values().flatten() {
        if blame.tasks.contains_key(tid) {
            events.push(slice(&format!("on CPU {cpu}"), *tid, [*from_ns, *to_ns]));
        }
    }
    for (number, lap) in blame.laps.iter().enumerate() {
        let ends = [lap[0].from.at_ns, lap[lap.len() - 1].to.at_ns];
        events.push(slice(&format!("lap {number}"), 0, ends));
    }
    for (id, hop) in blame.hops().enumerate() {
        events.extend([flow("s", id, hop.from), flow("f", id, hop.to)]);
        let part = |piece: &Piece| slice(words(piece.part)[0], 0, [piece.from_ns, piece.to_ns]);
        events.extend(hop.pieces.iter().map(part));
    }
    json!({ "displayTimeUnit": "ns", "otherData": { "case": case }, "traceEvents": events })
}
