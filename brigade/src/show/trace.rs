//! A trace: the table of parts and the worst hops, one lap as a picture, and the events that
//! Perfetto and chrome://tracing open.

use std::cmp::Reverse;
use std::ops::Range;

use harness::trace::Stop;
use serde_json::{Value, json};

use super::page::{Block, Table, left, right, unbroken};
use super::quantity::{brief_ticks, duration, percent, three_digits};
use super::scale::equal_steps;
use super::svg::{CHARACTER, END, MIDDLE, START, Size, cut, file, line, placed, rectangle, text};
use crate::judge::row::Quantity;
use crate::judge::trace::{Blame, Cause, Hop, HopPart, Piece, Quantiles, Turn, turns_within};

/// How many hops a picture shows at most.
const MOST_HOPS: usize = 8;
/// How many of the worst hops are listed.
const WORST: usize = 5;
/// The width of a picture, and of its lanes, in pixels.
const WIDTH: f64 = 720.0;
const INNER_WIDTH: f64 = 0.94 * WIDTH;
/// The height of a cell, of the label above it, from one lane to the next, and of the axis, in pixels.
const LANE: f64 = 26.0;
const LABEL: f64 = 16.0;
const STEP: f64 = 48.0;
const AXIS: f64 = 24.0;
/// The narrowest cell with a label, in pixels.
const NARROWEST_LABEL: f64 = 24.0;

/// The words for a part of a hop.
struct PartWords {
    /// Its name in the table.
    name: &'static str,
    /// Its label in a picture; empty if a colour shows it.
    label: &'static str,
    /// The end of a sentence about a hop.
    clause: &'static str,
}

impl PartWords {
    const fn new(name: &'static str, label: &'static str, clause: &'static str) -> Self {
        Self { name, label, clause }
    }
}

fn words(part: HopPart) -> PartWords {
    match part {
        HopPart::Sending => PartWords::new(
            "sender's call, until it leaves the CPU",
            "",
            "is the sender's call, until it leaves the CPU",
        ),
        HopPart::SendingToIdle => PartWords::new(
            "sender's call, the receiver's CPU asleep",
            "",
            "is the sender's call while the receiver's CPU sleeps",
        ),
        HopPart::Switching => PartWords::new(
            "gap: the CPU switches threads",
            "switch",
            "is the CPU's switch from one thread to the next",
        ),
        HopPart::Asleep => PartWords::new(
            "gap: CPU asleep and waking",
            "asleep",
            "is waiting for a sleeping CPU to wake up",
        ),
        HopPart::Queued => PartWords::new(
            "gap: queued behind another task",
            "queued",
            "is waiting behind another task",
        ),
        HopPart::Preempted => {
            PartWords::new("gap: preempted", "preempted", "is waiting after a preemption")
        }
        HopPart::Waiting => PartWords::new(
            "gap: sender waits in its call",
            "waits",
            "is the sender's waiting in its call",
        ),
        HopPart::Unknown => PartWords::new("gap: cause unknown", "?", "has an unknown cause"),
        HopPart::Receiving => PartWords::new(
            "receiver on CPU, until its call returns",
            "",
            "is the receiver's time on its CPU, until its call returns",
        ),
        HopPart::Running => PartWords::new(
            "one thread on CPU, without a switch",
            "",
            "is one thread's own code, without a switch",
        ),
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

/// What a hop spends most of its time on, and what tracing it costs; or that there is nothing to see.
fn answer(case: &str, blame: &Blame, plain_ns: Option<f64>) -> Option<String> {
    let largest = blame.parts.iter().max_by(|one, other| one.share.total_cmp(&other.share))?;
    let traced_ns = blame.mean_ns();
    if largest.part == HopPart::Running && largest.share >= ALL {
        let hop = duration(undisturbed_ns(plain_ns, traced_ns));
        let command = unbroken(&format!("perf record -g -- brigade {case}"));
        return Some(format!(
            "No switch to see: {hop} a hop, all of it in one thread's own code. perf shows which: \
             {command}"
        ));
    }
    let cost = plain_ns.map_or(String::new(), |plain_ns| cost_of_tracing(plain_ns, traced_ns));
    Some(format!("{} of a hop {}.{cost}", percent(largest.share), words(largest.part).clause))
}

/// The mean time of a hop without tracing, unless other programs slowed it more than tracing does.
fn undisturbed_ns(plain_ns: Option<f64>, traced_ns: f64) -> f64 {
    plain_ns.map_or(traced_ns, |plain_ns| plain_ns.min(traced_ns))
}

/// What tracing costs, by the mean time of a hop without it and with it.
fn cost_of_tracing(plain_ns: f64, traced_ns: f64) -> String {
    let [plain, traced] = [plain_ns, traced_ns].map(duration);
    if plain_ns <= traced_ns {
        format!(" Tracing makes a hop take {traced} instead of {plain}.")
    } else {
        format!(
            " What tracing costs is lost in noise: hops took {traced} with it, {plain} without."
        )
    }
}

/// A part with this share of the time is all of it.
const ALL: f64 = 0.995;

/// The time of each part, and the worst hops. A hop takes `plain_ns` in a process that does
/// not trace.
pub fn blocks(case: &str, blame: &Blame, plain_ns: Option<f64>) -> Vec<Block> {
    let trace = &blame.trace;
    let hops: Vec<&Hop> = blame.hops().collect();
    let count = hops.len();
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
        table.push(vec![words(time.part).name.to_owned(), p50, p99, percent(time.share)]);
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
        let by = match longest.by {
            Some(tid) if matches!(part, HopPart::Queued | HopPart::Preempted) => {
                format!(" ({})", name(blame, tid))
            }
            _ => String::new(),
        };
        let what = words(part).name;
        format!(": {} of it {what}{by}, CPU {}", duration(ns as f64), longest.cpu)
    });
    let length = duration(hop.ns() as f64);
    format!("{length} from {} to {}{cause}", task(hop.from), task(hop.to))
}

/// The typical lap as a picture: a lane for each CPU, one for the token, and the time.
pub fn picture(case: &str, blame: &Blame) -> String {
    let lap = blame.typical_lap();
    let first = lap.len().saturating_sub(MOST_HOPS) / 2;
    let hops = &lap[first..lap.len().min(first + MOST_HOPS)];
    let mut drawing = Drawing::new(hops[0].from.at_ns..hops[hops.len() - 1].to.at_ns);
    for (cpu, turns) in &blame.turns {
        drawing.draw_cpu(*cpu, turns, blame);
    }
    drawing.draw_token(hops);
    drawing.draw_time();
    let title = format!("{case}: one lap");
    let description = "Lanes are CPUs, colours are tasks. The lowest lane is the token's: gray \
                       is a gap in which neither sender nor receiver had a CPU.";
    let length = duration(drawing.length_ns());
    let shown = format!("{} of {} hops, {length}", hops.len(), lap.len());
    let height = drawing.y + STEP + AXIS;
    let inner = Size { width: INNER_WIDTH, height };
    let body = placed(&(drawing.cells + &drawing.labels), 0.03 * WIDTH, 60.0, inner);
    let around = text(0.03, 26.0, START, "head", &title) + &text(0.03, 44.0, START, "axis", &shown);
    let size = Size { width: WIDTH, height: height + 72.0 };
    file(&title, description, size, &(around + &body))
}

/// Hops while they are drawn, lane by lane.
struct Drawing {
    /// The time that is shown, in nanoseconds.
    shown: Range<u64>,
    /// Rectangles, which are below all labels.
    cells: String,
    labels: String,
    /// Where the current lane is.
    y: f64,
}

impl Drawing {
    fn new(shown: Range<u64>) -> Self {
        Self { shown, cells: String::new(), labels: String::new(), y: 0.0 }
    }

    fn length_ns(&self) -> f64 {
        (self.shown.end - self.shown.start) as f64
    }

    /// The position of a moment, as a share of the width.
    fn share(&self, at_ns: u64) -> f64 {
        let at_ns = at_ns.clamp(self.shown.start, self.shown.end);
        (at_ns - self.shown.start) as f64 / self.length_ns().max(1.0)
    }

    /// The name of the current lane.
    fn label(&mut self, name: &str) {
        self.labels += &text(0.0, self.y + LABEL - 4.0, START, "axis", name);
    }

    /// A rectangle in the current lane, with a tooltip, and a label if there is room.
    fn cell(&mut self, time_ns: Range<u64>, class: &str, name: &str, label: &str) {
        let from = self.share(time_ns.start);
        let to = self.share(time_ns.end);
        let title = format!("{name}, {}", duration((time_ns.end - time_ns.start) as f64));
        self.cells += &rectangle(from..to, self.y + LABEL, LANE, class, &title);
        let pixels = (to - from) * INNER_WIDTH;
        if pixels >= NARROWEST_LABEL {
            // Without room for one more character, labels of neighbours would touch.
            let label = cut(label, pixels - CHARACTER);
            let y = self.y + LABEL + 17.0;
            self.cells += &text((from + to) / 2.0, y, MIDDLE, "note", &label);
        }
    }

    /// The lane of a CPU; none if nothing ran on it.
    fn draw_cpu(&mut self, cpu: u32, turns: &[Turn], blame: &Blame) {
        let turns = turns_within(turns, &self.shown);
        if turns.is_empty() {
            return;
        }
        self.label(&format!("CPU {cpu}"));
        for turn in turns.iter().filter(|turn| turn.tid != 0) {
            let tasks = blame.tasks.get(&turn.tid);
            let class =
                tasks.and_then(|tasks| tasks.last()).map_or(OF_NOBODY, |task| class_of(*task));
            let name = name(blame, turn.tid);
            self.cell(turn.from_ns..turn.to_ns, class, &name, &brief_name(blame, turn.tid));
        }
        self.y += STEP;
    }

    /// The lane of the token.
    fn draw_token(&mut self, hops: &[Hop]) {
        self.label("the token");
        for hop in hops {
            for piece in &hop.pieces {
                let class = match piece.part {
                    HopPart::Sending | HopPart::SendingToIdle | HopPart::Running => {
                        class_of(hop.from.task)
                    }
                    HopPart::Receiving => class_of(hop.to.task),
                    _ => OF_NOBODY,
                };
                let PartWords { name, label, .. } = words(piece.part);
                self.cell(piece.from_ns..piece.to_ns, class, name, label);
            }
            let at = self.share(hop.from.at_ns);
            let from = self.y + LABEL - 4.0;
            let to = self.y + LABEL + LANE + 4.0;
            self.labels += &line((at, from), (at, to), "node");
        }
    }

    /// The axis of time below the last lane.
    fn draw_time(&mut self) {
        let length_ns = self.length_ns().max(1.0);
        let top = self.y + STEP;
        for ns in equal_steps(0.0, length_ns) {
            let at = ns / length_ns;
            self.labels += &line((at, top), (at, top + 5.0), "node");
            // Text beyond the picture would be cut.
            let anchor = match at {
                ..0.03 => START,
                0.97.. => END,
                _ => MIDDLE,
            };
            let tick = brief_ticks(ns, Quantity::Nanoseconds);
            self.labels += &text(at, top + 18.0, anchor, "axis", &tick);
        }
    }
}

/// The classes of a cell of the driver, and of tasks, whose colours repeat.
const OF_DRIVER: &str = "cell h0";
const OF_TASKS: [&str; 7] =
    ["cell h1", "cell h2", "cell h3", "cell h4", "cell h5", "cell h6", "cell h7"];
/// The class of a cell that is no task's.
const OF_NOBODY: &str = "part p-asleep";

/// The class of a cell of this task, or of the driver.
fn class_of(task: Option<u32>) -> &'static str {
    task.map_or(OF_DRIVER, |task| OF_TASKS[task as usize % OF_TASKS.len()])
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
        let part = |piece: &Piece| slice(words(piece.part).name, 0, [piece.from_ns, piece.to_ns]);
        events.extend(hop.pieces.iter().map(part));
    }
    json!({ "displayTimeUnit": "ns", "otherData": { "case": case }, "traceEvents": events })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracing_is_never_said_to_make_a_hop_faster() {
        let is_known = |plain_ns, traced_ns| {
            let words = cost_of_tracing(plain_ns, traced_ns);
            let figures = [plain_ns, traced_ns].map(duration);
            assert!(figures.iter().all(|figure| words.contains(figure)), "{words}");
            words.contains("makes a hop take")
        };
        assert!(is_known(214.0, 261.0));
        assert!(!is_known(1030.0, 270.0));
        assert_eq!(undisturbed_ns(Some(214.0), 261.0), 214.0);
        assert_eq!(undisturbed_ns(Some(1030.0), 270.0), 270.0);
        assert_eq!(undisturbed_ns(None, 270.0), 270.0);
    }

    #[test]
    fn labels_of_neighbouring_cells_do_not_touch() {
        for cells in 1..=(INNER_WIDTH / NARROWEST_LABEL) as u64 {
            let mut drawing = Drawing::new(0..cells);
            drawing.cell(0..1, "gap", "gap: preempted", "preempted");
            let label = drawing.cells.split("<text ").nth(1).expect("a label");
            let label = label.split(['>', '<']).nth(1).expect("its text");
            let room = INNER_WIDTH / cells as f64 - label.chars().count() as f64 * CHARACTER;
            assert!(label.starts_with('p') && room >= CHARACTER, "{cells}: {label}, {room}");
        }
    }
}
