//! A trace: the table of parts, one lap on a timeline as text and as a picture, the worst
//! hops, and the events that Perfetto and chrome://tracing open.

use std::collections::{BTreeMap, BTreeSet};
use std::{cmp::Reverse, iter};

use harness::trace::{Stop, Trace};
use serde_json::{Value, json};

use super::page::{Block, COLUMNS, Table, item, lines};
use super::quantity::{duration, percent, three_digits};
use super::svg::{Anchor, Picture, cut, file, line, rectangle, text};
use crate::judge::trace::{Blame, Hop, Part, Piece, Turn, quantile};

/// The number of processes with tracing, and of those without.
pub const PAIRS: usize = 3;
/// How many hops a timeline shows at most.
const MOST_HOPS: usize = 8;
/// How many threads are named as a cause: those with the longest pieces.
const MOST_NAMES: usize = 4;
/// How many of the worst hops are listed.
const WORST: usize = 5;
/// The width of a picture in pixels.
const WIDTH: f64 = 720.0;
/// Columns of the name of a lane.
const NAME: usize = 7;

/// A trace, and hops of its typical lap that follow each other.
pub struct Timeline<'a> {
    case: &'a str,
    /// What is traced: a hop or a wake-up.
    hop: &'a str,
    trace: &'a Trace,
    blame: &'a Blame,
    /// The tasks of each thread.
    tasks: BTreeMap<u32, BTreeSet<Option<u32>>>,
    /// The hops of the typical lap, and those that are shown.
    lap: &'a [Hop],
    hops: &'a [Hop],
    begun: u64,
    ended: u64,
}

impl<'a> Timeline<'a> {
    /// That of this trace.
    pub fn new([case, hop]: [&'a str; 2], trace: &'a Trace, blame: &'a Blame) -> Self {
        let mut tasks = BTreeMap::<_, BTreeSet<_>>::new();
        for stop in trace.laps.iter().flat_map(|lap| &lap.stops) {
            tasks.entry(stop.tid).or_default().insert(stop.task);
        }
        let lap = blame.typical_lap();
        let first = lap.len().saturating_sub(MOST_HOPS) / 2;
        let hops = &lap[first..lap.len().min(first + MOST_HOPS)];
        let begun = hops.first().map_or(0, |hop| hop.from.at_ns);
        let ended = hops.last().map_or(0, |hop| hop.to.at_ns);
        Self { case, hop, trace, blame, tasks, lap, hops, begun, ended }
    }

    fn is_ring(&self) -> bool {
        self.hop != "wake-up"
    }

    fn task_name(&self, task: Option<u32>) -> String {
        let other = if self.is_ring() { "driver" } else { "waker" };
        task.map_or_else(|| other.to_owned(), |task| format!("task {task}"))
    }

    /// The name of a thread: that of its task, or its number if it runs several tasks.
    fn name(&self, tid: u32) -> String {
        let tasks = self.tasks.get(&tid).map(|tasks| tasks.iter().collect::<Vec<_>>());
        match (tasks.as_deref(), self.trace.names.get(&tid)) {
            // With or without a stop that only divides a hop.
            (Some([task] | [None, task]), _) => self.task_name(**task),
            (_, Some(name)) => name.clone(),
            (_, None) => format!("thread {tid}"),
        }
    }

    /// Where a moment is, from 0 to 1.
    fn share(&self, at: u64) -> f64 {
        let length = (self.ended - self.begun).max(1) as f64;
        (at.clamp(self.begun, self.ended) - self.begun) as f64 / length
    }

    /// The turns on each CPU between these times.
    fn lanes(&self, begun: u64, ended: u64) -> BTreeMap<u32, Vec<&Turn>> {
        let mut lanes = BTreeMap::<_, Vec<_>>::new();
        let is_in = |turn: &&Turn| turn.to_ns > begun && turn.from_ns < ended;
        for turn in self.blame.turns.iter().filter(is_in) {
            lanes.entry(turn.cpu).or_default().push(turn);
        }
        lanes
    }

    /// The page: the time of each part, one lap, and the worst hops. A hop takes `plain_ns` in a
    /// process that does not trace.
    pub fn blocks(&self, plain_ns: Option<f64>) -> Vec<Block> {
        let (hops, blame) = (&self.blame.hops, self.blame);
        let quantile = |share| duration(quantile(hops.iter().map(Hop::ns), share) as f64);
        let share = |is: &dyn Fn(&Hop) -> bool| {
            percent(hops.iter().filter(|hop| is(hop)).count() as f64 / hops.len() as f64)
        };
        let sees = match self.trace.whole_machine {
            true => "all processes' switches were recorded",
            false => "only this program's were recorded: seeing others' takes CAP_PERFMON",
        };
        let (case, name, count, laps) = (self.case, self.hop, hops.len(), self.trace.laps.len());
        let cost = match plain_ns {
            Some(plain_ns) => format!(
                "on average {} without tracing, {} with it (medians of {PAIRS} processes, in turn)",
                duration(plain_ns),
                duration(blame.mean_ns())
            ),
            None => "from holder to holder; without tracing that is not measured".to_owned(),
        };
        let crossing = match self.is_ring() {
            true => share(&|hop| hop.from.cpu != hop.to.cpu) + " go to another CPU, and in ",
            false => "In ".to_owned(),
        };
        vec![
            Block::Heading(1, format!("{case}: {count} {name}s in {laps} laps")),
            Block::Paragraph(format!(
                "A {name} takes {} (p99 {}), {cost}. {crossing}{} of the {name}s a task is \
                 preempted. {} switches were recorded and {} counted by the kernel, {} per {name}; \
                 {sees}.",
                quantile(0.5),
                quantile(0.99),
                share(&|hop| hop.preempted),
                blame.recorded,
                blame.counted,
                three_digits(blame.counted as f64 / hops.len() as f64),
            )),
            Block::Table(self.table()),
            Block::Heading(2, self.title()),
            Block::Code(self.text()),
            Block::Heading(2, format!("The worst {name}s")),
            Block::Items(self.worst()),
        ]
    }

    fn title(&self) -> String {
        format!("One {}", if self.is_ring() { "lap" } else { self.hop })
    }

    /// The longest hops, the longest first.
    fn worst(&self) -> Vec<String> {
        let mut hops: Vec<&Hop> = self.blame.hops.iter().collect();
        hops.sort_by_key(|hop| Reverse(hop.ns()));
        hops.truncate(if self.is_ring() { WORST } else { 2 * WORST });
        hops.into_iter().map(|hop| self.reason(hop)).collect()
    }

    fn reason(&self, hop: &Hop) -> String {
        let task = |of: Stop| format!("{} on CPU {}", self.task_name(of.task), of.cpu);
        let from = format!("from {} to", task(hop.from));
        let from = if self.is_ring() { &*from } else { "until" };
        let cause = self.blame.cause(hop).map_or_else(String::new, |(cause, pieces)| {
            let ns: u64 = pieces.iter().map(|piece| piece.ns()).sum();
            let mut others = Vec::new();
            for name in pieces.iter().filter_map(|piece| Some(self.name(piece.by?))) {
                if matches!(cause, Part::Queued | Part::Preempted) && !others.contains(&name) {
                    others.push(name);
                }
            }
            let more = others.len().saturating_sub(MOST_NAMES);
            others.truncate(MOST_NAMES);
            others.extend((more > 0).then(|| format!("{more} more")));
            let (what, cpu) = (cause.words().0, pieces[0].cpu);
            let by = if others.is_empty() { "" } else { &format!(" ({})", others.join(", ")) };
            format!(": {} of it {what}{by}, CPU {cpu}", duration(ns as f64))
        });
        format!("{} {from} {}{cause}", duration(hop.ns() as f64), task(hop.to))
    }

    /// The timeline as text: which thread has each CPU, and who has the token.
    fn text(&self) -> String {
        let width = COLUMNS - NAME;
        let column = |at: u64| ((self.share(at) * width as f64) as usize).min(width - 1);
        let lanes = self.lanes(self.begun, self.ended);
        let turns = lanes.values().flatten();
        let ran = turns.map(|of| of.tid).filter(|tid| self.tasks.contains_key(tid));
        let ends = self.hops.iter().flat_map(|hop| [hop.from.tid, hop.to.tid]);
        let tids: BTreeSet<u32> = ends.chain(ran).collect();
        let letter = |tid: u32| match tids.iter().position(|known| *known == tid) {
            Some(index) => char::from(b'a' + (index % 26) as u8),
            None if tid == 0 => '.',
            None => '#',
        };
        let mut rows = vec![format!("{:NAME$}{}", "", self.shown())];
        let mut add = |name: String, cells: Vec<char>| {
            rows.push(format!("{name:<NAME$}{}", cells.iter().collect::<String>()));
        };
        for (cpu, threads) in lanes {
            let mut cells = vec![' '; width];
            for turn in threads {
                cells[column(turn.from_ns)..=column(turn.to_ns)].fill(letter(turn.tid));
            }
            add(format!("CPU {cpu}"), cells);
        }
        let mut cells = vec![' '; width];
        let mut parts = BTreeSet::new();
        for piece in self.hops.iter().flat_map(|hop| &hop.pieces) {
            cells[column(piece.from_ns)..=column(piece.to_ns)].fill(piece.part.words().2);
            parts.insert(piece.part);
        }
        self.hops.iter().for_each(|hop| cells[column(hop.from.at_ns)] = '|');
        add("token".to_owned(), cells);
        let parts = parts.into_iter().map(|part| format!("{} {}", part.words().2, part.words().0));
        let threads = tids.iter().map(|tid| format!("{} {}", letter(*tid), self.name(*tid)));
        let sent = if self.is_ring() { "| the token is sent" } else { "| it is due" };
        let others = [sent, ". idle", "# other"].map(str::to_owned);
        let legend: Vec<String> = parts.chain(threads).chain(others).collect();
        rows.join("\n") + "\n" + &lines(&legend.join("; "))
    }

    /// The extent of a timeline.
    fn shown(&self) -> String {
        let length = duration((self.ended - self.begun) as f64);
        format!("{} of {} {}s, {length}", self.hops.len(), self.lap.len(), self.hop)
    }

    /// The timeline as a picture in a file.
    pub fn file(&self) -> String {
        const LANE: f64 = 26.0;
        const STEP: f64 = 48.0;
        const LABEL: f64 = 16.0;
        let mut body = String::new();
        let mut block =
            |from: u64, to: u64, y: f64, task: Option<Option<u32>>, words: [&str; 2]| {
                let ends = [from, to].map(|at| self.share(at));
                let class = match task {
                    Some(task) => format!("cell h{}", task.map_or(0, |task| 1 + task % 7)),
                    None => "part p-asleep".to_owned(),
                };
                let title = format!("{}, {}", words[0], duration((to - from) as f64));
                body += &rectangle(ends, y + LABEL, LANE, &class, &title);
                // A page narrower than this shows no notes.
                let pixels = (ends[1] - ends[0]) * 0.94 * WIDTH;
                if pixels >= 24.0 {
                    let (middle, words) = (ends.iter().sum::<f64>() / 2.0, cut(words[1], pixels));
                    body += &text(middle, y + LABEL + 17.0, Anchor::Middle, "note", &words);
                }
            };
        let label = |y: f64, name: &str| text(0.0, y + LABEL - 4.0, Anchor::Start, "axis", name);
        let (mut y, mut labels) = (0.0, String::new());
        for (cpu, threads) in &self.lanes(self.begun, self.ended) {
            labels += &label(y, &format!("CPU {cpu}"));
            for Turn { tid, from_ns, to_ns, .. } in threads.iter().filter(|turn| turn.tid != 0) {
                let (name, task) = (self.name(*tid), self.tasks.get(tid));
                let task = task.and_then(|tasks| tasks.last().copied());
                block(*from_ns, *to_ns, y, task, [&name, name.trim_start_matches("task ")]);
            }
            y += STEP;
        }
        labels += &label(y, "the token");
        for hop in self.hops {
            for piece in &hop.pieces {
                let task = match piece.part {
                    Part::Sending | Part::SendingToIdle | Part::Running => Some(hop.from.task),
                    Part::Receiving => Some(hop.to.task),
                    _ => None,
                };
                let (name, gap, _) = piece.part.words();
                block(piece.from_ns, piece.to_ns, y, task, [name, gap]);
            }
            let at = self.share(hop.from.at_ns);
            labels += &line((at, y + LABEL - 4.0), (at, y + LABEL + LANE + 4.0), "node");
        }
        let picture = Picture {
            title: format!("{}: {}", self.case, self.title().to_lowercase()),
            description: "Lanes are CPUs, colours are tasks. The lowest lane is the token's: gray \
                          is a gap in which neither sender nor receiver had a CPU."
                .to_owned(),
            legend: Vec::new(),
            height: y + STEP,
            body: body + &labels,
        };
        let words = |y, class, words: &str| text(0.03, y, Anchor::Start, class, words);
        let mut around = words(26.0, "head", &picture.title) + &words(44.0, "axis", &self.shown());
        let worst: String = self.worst().iter().map(|hop| item(hop)).collect();
        let mut y = picture.height + 84.0;
        for line in iter::once(&*format!("The worst {}s:", self.hop)).chain(worst.lines()) {
            around += &words(y, "small", line);
            y += 17.0;
        }
        file(&picture, [WIDTH, y], [0.03 * WIDTH, 60.0], &around)
    }

    /// The trace in the Trace Event Format: threads as tracks, parts and laps as slices, hops as
    /// flows. Times are in microseconds.
    pub fn events(&self) -> Value {
        let hops = &self.blame.hops;
        let origin = hops[0].from.at_ns;
        let us = |at: u64| (at as f64 - origin as f64) / 1e3;
        let slice = |name: &str, tid: u32, from: u64, to: u64| {
            let length = (to - from) as f64 / 1e3;
            json!({ "name": name, "cat": "brigade", "ph": "X", "pid": 1, "tid": tid,
                "ts": us(from), "dur": length })
        };
        let named = |tid: u32, name: &str| {
            json!({ "name": "thread_name", "ph": "M", "pid": 1, "tid": tid, "ts": 0,
                "args": { "name": name } })
        };
        let mut events = vec![named(0, "laps")];
        events.extend(self.tasks.keys().map(|tid| named(*tid, &self.name(*tid))));
        for (cpu, threads) in self.lanes(origin, hops[hops.len() - 1].to.at_ns) {
            let own = threads.into_iter().filter(|turn| self.tasks.contains_key(&turn.tid));
            let on = format!("on CPU {cpu}");
            events.extend(own.map(|of| slice(&on, of.tid, of.from_ns.max(origin), of.to_ns)));
        }
        for lap in hops.chunk_by(|one, other| one.lap == other.lap) {
            let (from, to) = (lap[0].from.at_ns, lap[lap.len() - 1].to.at_ns);
            events.push(slice(&format!("lap {}", lap[0].lap), 0, from, to));
        }
        for (id, hop) in hops.iter().enumerate() {
            let flow = |kind: &str, Stop { tid, at_ns, .. }: Stop| {
                json!({ "name": "hop", "cat": "brigade", "ph": kind, "bp": "e", "id": id, "pid": 1,
                    "tid": tid, "ts": us(at_ns) })
            };
            events.extend([flow("s", hop.from), flow("f", hop.to)]);
            let part = |of: &Piece| slice(of.part.words().0, 0, of.from_ns, of.to_ns);
            events.extend(hop.pieces.iter().map(part));
        }
        json!({ "displayTimeUnit": "ns", "otherData": { "case": self.case }, "traceEvents": events })
    }

    fn table(&self) -> Table {
        let mut table = Table::of(&format!("part of a {}|>p50|>p99|>share", self.hop));
        for row in &self.blame.rows {
            let [p50, p99] = [row.p50_ns, row.p99_ns]
                .map(|ns| if ns == 0 { "0".to_owned() } else { duration(ns as f64) });
            table.push(vec![row.part.words().0.to_owned(), p50, p99, percent(row.share)]);
        }
        table
    }
}
