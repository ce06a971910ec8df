//! A trace: the table of parts, one lap on a timeline as text and as a picture, the worst
//! hops, and the events that Perfetto and chrome://tracing open.

use std::collections::{BTreeMap, BTreeSet};

use harness::trace::{Stop, Switch, Trace, Way};
use serde_json::{Value, json};

use super::page::{Block, COLUMNS, Side, Table};
use super::quantity::{duration, percent, three_digits};
use super::svg::{self, Anchor, Picture, cut, rectangle};
use crate::judge::trace::{Blame, Hop, Part, quantile};

/// How many hops a timeline shows at most.
const MOST_HOPS: usize = 8;
/// How many of the worst hops are listed.
const WORST: usize = 5;
/// Columns of the name of a lane.
const NAME: usize = 7;

/// The median time of a hop without tracing and with it, over pairs of processes.
#[derive(Clone, Copy, Debug)]
pub struct Overhead {
    /// Without.
    pub plain_ns: f64,
    /// With.
    pub traced_ns: f64,
    /// How many pairs.
    pub pairs: usize,
}

/// What a thread is called: after its task, or its number where it runs several.
struct Names<'a> {
    trace: &'a Trace,
    tasks: BTreeMap<u32, BTreeSet<Option<u32>>>,
}

impl<'a> Names<'a> {
    fn new(trace: &'a Trace) -> Self {
        let mut tasks = BTreeMap::<_, BTreeSet<_>>::new();
        for stop in trace.laps.iter().flat_map(|lap| &lap.stops) {
            tasks.entry(stop.tid).or_default().insert(stop.task);
        }
        Self { trace, tasks }
    }

    fn of(&self, tid: u32) -> String {
        let tasks = self.tasks.get(&tid).map(|tasks| tasks.iter().collect::<Vec<_>>());
        match (tasks.as_deref(), self.trace.names.get(&tid)) {
            (Some([task]), _) => task_name(**task),
            (_, Some(name)) => name.clone(),
            (_, None) if tid == 0 => "idle".to_owned(),
            (_, None) => format!("thread {tid}"),
        }
    }
}

fn task_name(task: Option<u32>) -> String {
    task.map_or_else(|| "driver".to_owned(), |task| format!("task {task}"))
}

/// The page: what each part takes, one lap, and the worst hops.
pub fn blocks(case: &str, trace: &Trace, blame: &Blame, overhead: Option<Overhead>) -> Vec<Block> {
    let names = Names::new(trace);
    let laps = blame.laps();
    let p50 = |share| quantile(blame.hops.iter().map(Hop::ns), share) as f64;
    let lap = quantile(laps.values().copied(), 0.5) as f64;
    let sees = match blame.whole_machine {
        true => "all processes' switches were recorded",
        false => "only this program's switches were recorded; those of others take CAP_PERFMON",
    };
    let switches = blame.hops.len() as f64;
    let mut page = vec![
        Block::Heading(1, format!("{case}: {} hops in {} laps", blame.hops.len(), laps.len())),
        Block::Paragraph(format!(
            "A hop takes {} (p99 {}), a lap {}. In {} of the hops a task is preempted, and {} go \
             to another CPU. {} switches were recorded and {} counted by the kernel, {} per hop; \
             {sees}.",
            duration(p50(0.5)),
            duration(p50(0.99)),
            duration(lap),
            percent(blame.preempted_share),
            percent(blame.crossing_share),
            blame.recorded,
            blame.counted,
            three_digits(blame.counted as f64 / switches),
        )),
    ];
    if let Some(Overhead { plain_ns, traced_ns, pairs }) = overhead {
        page.push(Block::Paragraph(format!(
            "Without tracing a hop takes {} on average, with it {}: medians over {pairs} processes each, in \
             turn.",
            duration(plain_ns),
            duration(traced_ns)
        )));
    }
    page.push(Block::Table(table(blame)));
    page.push(Block::Heading(2, "One lap".to_owned()));
    page.push(Block::Code(timeline(trace, blame, &names)));
    page.push(Block::Heading(2, "The worst hops".to_owned()));
    page.push(Block::Items(blame.worst(WORST).into_iter().map(|hop| worst(hop, &names)).collect()));
    page
}

fn table(blame: &Blame) -> Table {
    let columns = [
        ("part of a hop", Side::Left),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("share", Side::Right),
    ];
    let mut table = Table::new(&columns);
    for row in &blame.rows {
        let name = row.part.words().0.to_owned();
        let times = [row.p50_ns, row.p99_ns]
            .map(|ns| if ns == 0 { "0".to_owned() } else { duration(ns as f64) });
        table.push([&[name], &times[..], &[percent(row.share)]].concat());
    }
    table
}

fn worst(hop: &Hop, names: &Names) -> String {
    let tasks =
        [hop.from, hop.to].map(|stop| format!("{} on CPU {}", task_name(stop.task), stop.cpu));
    let cause = hop.cause().map_or_else(String::new, |piece| {
        let by = match (piece.part, piece.by) {
            (Part::Queued | Part::Preempted, Some(tid)) => format!(" ({})", names.of(tid)),
            _ => String::new(),
        };
        let part = piece.part.words().0;
        format!(
            ": {} of it {part}{by}, CPU {}",
            duration(hop.spent_on(piece.part) as f64),
            piece.cpu
        )
    });
    format!("{} from {} to {}{cause}", duration(hop.ns() as f64), tasks[0], tasks[1])
}

/// What a timeline shows: hops of the typical lap that follow each other.
struct Window<'a> {
    hops: Vec<&'a Hop>,
    begun: u64,
    ended: u64,
    /// The CPUs, each with the threads that had it, and when.
    lanes: BTreeMap<u32, Vec<(u32, u64, u64)>>,
}

impl<'a> Window<'a> {
    fn new(trace: &Trace, blame: &'a Blame) -> Self {
        let mut hops = blame.hops_of(blame.typical_lap);
        let first = hops.len().saturating_sub(MOST_HOPS) / 2;
        hops = hops.into_iter().skip(first).take(MOST_HOPS).collect();
        let begun = hops.first().map_or(0, |hop| hop.from.at_ns);
        let ended = hops.last().map_or(0, |hop| hop.to.at_ns);
        Self { hops, begun, ended, lanes: lanes(trace, begun, ended) }
    }

    /// Where a moment is, from 0 to 1.
    fn share(&self, at: u64) -> f64 {
        let length = (self.ended - self.begun).max(1) as f64;
        (at.clamp(self.begun, self.ended) - self.begun) as f64 / length
    }
}

/// Who had which CPU between two moments.
fn lanes(trace: &Trace, begun: u64, ended: u64) -> BTreeMap<u32, Vec<(u32, u64, u64)>> {
    let mut lanes = BTreeMap::<u32, Vec<(u32, u64, u64)>>::new();
    let mut running = BTreeMap::<u32, (u32, u64)>::new();
    for Switch { at_ns, cpu, tid, way, .. } in &trace.switches {
        if *way == Way::In {
            running.insert(*cpu, (*tid, *at_ns));
        } else if let Some((tid, since)) = running.remove(cpu)
            && *at_ns > begun
            && since < ended
        {
            lanes.entry(*cpu).or_default().push((tid, since, *at_ns));
        }
    }
    for (cpu, (tid, since)) in running.into_iter().filter(|(_, (_, since))| *since < ended) {
        lanes.entry(cpu).or_default().push((tid, since, ended));
    }
    lanes
}

/// The timeline as text: what has each CPU, and who has the token.
fn timeline(trace: &Trace, blame: &Blame, names: &Names) -> String {
    let window = Window::new(trace, blame);
    let width = COLUMNS - NAME;
    let column = |at: u64| ((window.share(at) * width as f64) as usize).min(width - 1);
    let tids: BTreeSet<u32> =
        window.hops.iter().flat_map(|hop| [hop.from.tid, hop.to.tid]).collect();
    let letter = |tid: u32| match tids.iter().position(|known| *known == tid) {
        Some(index) => char::from(b'a' + (index % 26) as u8),
        None if tid == 0 => '.',
        None => '#',
    };
    let mut text = String::new();
    let mut line = |name: &str, cells: Vec<char>| {
        let cells: String = cells.into_iter().collect();
        text += format!("{name:<NAME$}{cells}").trim_end();
        text.push('\n');
    };
    let length = duration((window.ended - window.begun) as f64);
    let shown = format!(
        "{} of {} hops, {length}",
        window.hops.len(),
        blame.hops_of(blame.typical_lap).len()
    );
    line("", shown.chars().collect());
    for (cpu, threads) in &window.lanes {
        let mut cells = vec![' '; width];
        for (tid, from, to) in threads {
            cells[column(*from)..=column(*to)].fill(letter(*tid));
        }
        line(&format!("CPU {cpu}"), cells);
    }
    let mut cells = vec![' '; width];
    for piece in window.hops.iter().flat_map(|hop| &hop.pieces) {
        cells[column(piece.from_ns)..=column(piece.to_ns)].fill(piece.part.words().2);
    }
    for hop in &window.hops {
        cells[column(hop.from.at_ns)] = '|';
    }
    line("token", cells);
    let parts: BTreeSet<Part> =
        window.hops.iter().flat_map(|hop| &hop.pieces).map(|piece| piece.part).collect();
    let legend = parts.into_iter().map(|part| format!("{} {}", part.words().2, part.words().0));
    let threads = tids.iter().map(|tid| format!("{} {}", letter(*tid), names.of(*tid)));
    let others = ["| the token is sent".to_owned(), ". idle".to_owned(), "# other".to_owned()];
    let legend: Vec<String> = legend.chain(threads).chain(others).collect();
    text + &super::page::lines(&legend.join("; "))
}

/// The timeline as a file.
pub fn file(case: &str, trace: &Trace, blame: &Blame) -> String {
    const WIDTH: f64 = 1200.0;
    const MARGIN: f64 = 24.0;
    const HEAD: f64 = 64.0;
    let picture = picture(case, trace, blame);
    let title = svg::escape(&cut(&picture.title, WIDTH - 2.0 * MARGIN));
    let title = format!("<text class=\"head\" x=\"{MARGIN}\" y=\"36\">{title}</text>\n");
    svg::file(&picture, [WIDTH, picture.height + HEAD + 8.0], [MARGIN, HEAD], &title)
}

/// The timeline as a picture.
fn picture(case: &str, trace: &Trace, blame: &Blame) -> Picture {
    const LANE: f64 = 26.0;
    const STEP: f64 = 48.0;
    const LABEL: f64 = 16.0;
    let (window, names) = (Window::new(trace, blame), Names::new(trace));
    // A page narrower than this shows no notes.
    let note = |ends: [f64; 2], y: f64, words: &str| {
        let pixels = (ends[1] - ends[0]) * 640.0;
        let middle = (ends[0] + ends[1]) / 2.0;
        let words = if pixels < 24.0 { String::new() } else { cut(words, pixels) };
        svg::text(middle, y, Anchor::Middle, "note", &words)
    };
    let class = |stop: Option<Option<u32>>| match stop {
        Some(task) => format!("cell h{}", task.map_or(0, |task| 1 + task % 7)),
        None => "part p-asleep".to_owned(),
    };
    let mut body = String::new();
    let mut y = 0.0;
    for (cpu, threads) in &window.lanes {
        body += &svg::text(0.0, y + LABEL - 4.0, Anchor::Start, "axis", &format!("CPU {cpu}"));
        for (tid, from, to) in threads.iter().filter(|(tid, ..)| *tid != 0) {
            let [from_share, to_share] = [*from, *to].map(|at| window.share(at));
            let task = names.tasks.get(tid).and_then(|tasks| tasks.first().copied());
            let title = format!("{}, {}", names.of(*tid), duration((to - from) as f64));
            body += &rectangle([from_share, to_share], y + LABEL, LANE, &class(task), &title);
            let name = names.of(*tid);
            body +=
                &note([from_share, to_share], y + LABEL + 17.0, name.trim_start_matches("task "));
        }
        y += STEP;
    }
    body += &svg::text(0.0, y + LABEL - 4.0, Anchor::Start, "axis", "the token");
    for hop in &window.hops {
        for piece in &hop.pieces {
            let ends = [piece.from_ns, piece.to_ns].map(|at| window.share(at));
            let class = match piece.part {
                Part::Sending | Part::Running => class(Some(hop.from.task)),
                Part::Receiving => class(Some(hop.to.task)),
                _ => "part p-asleep".to_owned(),
            };
            let part = piece.part.words().0;
            let title = format!("{part}, {}", duration(piece.ns() as f64));
            body += &rectangle(ends, y + LABEL, LANE, &class, &title);
            if class == "part p-asleep" {
                body += &note(ends, y + LABEL + 17.0, piece.part.words().1);
            }
        }
        let at = window.share(hop.from.at_ns);
        body += &svg::line((at, y + LABEL - 4.0), (at, y + LABEL + LANE + 4.0), "node");
    }
    y += STEP + 12.0;
    let length = duration((window.ended - window.begun) as f64);
    body += &svg::text(0.0, y, Anchor::Start, "axis", "0");
    body += &svg::text(1.0, y, Anchor::End, "axis", &length);
    Picture {
        title: format!("{case}: one lap on a timeline"),
        description: format!(
            "{} hops of a lap of {case}. Lanes are CPUs, colours are tasks; the lowest lane is \
             the token's, where gray is a gap in which neither sender nor receiver had a CPU.",
            window.hops.len()
        ),
        legend: Vec::new(),
        height: y + 8.0,
        body,
    }
}

/// The trace in the Trace Event Format: threads as tracks, parts and laps as slices, hops as
/// flows. Times are in microseconds.
pub fn chrome(case: &str, trace: &Trace, blame: &Blame) -> Value {
    let names = Names::new(trace);
    let origin = blame.hops[0].from.at_ns;
    let us = |at: u64| (at as f64 - origin as f64) / 1e3;
    let slice = |name: &str, tid: u32, from: u64, to: u64| {
        let length = (to - from) as f64 / 1e3;
        json!({ "name": name, "cat": "brigade", "ph": "X", "pid": 1, "tid": tid, "ts": us(from), "dur": length })
    };
    let named = |tid: u32, name: &str| json!({ "name": "thread_name", "ph": "M", "pid": 1, "tid": tid, "ts": 0, "args": { "name": name } });
    let mut events = vec![named(0, "laps")];
    events.extend(names.tasks.keys().map(|tid| named(*tid, &names.of(*tid))));
    let (begun, ended) = (origin, blame.hops.last().map_or(origin, |hop| hop.to.at_ns));
    for (cpu, threads) in lanes(trace, begun, ended) {
        let own = threads.into_iter().filter(|(tid, ..)| names.tasks.contains_key(tid));
        events.extend(own.map(|(tid, from, to)| slice(&format!("on CPU {cpu}"), tid, from, to)));
    }
    for (id, hop) in blame.hops.iter().enumerate() {
        let flow = |kind: &str, Stop { tid, at_ns, .. }: Stop| json!({ "name": "hop", "cat": "brigade", "ph": kind, "bp": "e", "id": id, "pid": 1, "tid": tid, "ts": us(at_ns) });
        events.extend([flow("s", hop.from), flow("f", hop.to)]);
    }
    for lap in blame.laps().into_keys() {
        let hops = blame.hops_of(lap);
        let ends = hops.first().zip(hops.last());
        let (from, to) = ends.map_or((0, 0), |(first, last)| (first.from.at_ns, last.to.at_ns));
        events.push(slice(&format!("lap {lap}"), 0, from, to));
        for piece in hops.iter().flat_map(|hop| &hop.pieces) {
            let event = slice(piece.part.words().0, 0, piece.from_ns, piece.to_ns);
            events.push(event);
        }
    }
    json!({ "displayTimeUnit": "ns", "otherData": { "case": case }, "traceEvents": events })
}
