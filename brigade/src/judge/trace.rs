//! Where the time of each hop went, from the switches and stops of a trace.
//!
//! Every moment of a hop belongs to one part: to the sender, to the receiver, or to a gap in
//! which neither had a CPU. So the parts of a lap add up to it exactly. An ordinary user sees
//! only the program's own switches, so whether another process ran on the CPU or it slept stays
//! unknown.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use harness::trace::{RecordedSpan, Stop, Switch, Trace, Way};

/// The parts of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The sender is on a CPU, until it leaves it or the receiver runs.
    Sending,
    /// Likewise, while the CPU that the receiver takes next is idle.
    SendingToIdle,
    /// The CPU changes from one thread to the next.
    Switching,
    /// The CPU that the receiver takes next is idle: it sleeps, and wakes up.
    Asleep,
    /// Another thread has its CPU.
    Queued,
    /// It is ready to run, but was taken off its CPU.
    Preempted,
    /// No thread of the process runs, for as long as a quota reports to have throttled it.
    Throttled,
    /// No thread of the process runs, and the runner saw it stopped by a signal.
    Stopped,
    /// The sender blocked before it had sent.
    Waiting,
    /// The records do not show why neither ran.
    Unknown,
    /// The receiver is on a CPU, until it has the token.
    Receiving,
    /// Sender and receiver are tasks of one thread, which runs.
    Running,
}

impl Part {
    /// Its name, the label of such a gap, and its sign in a line of text.
    pub fn words(self) -> (&'static str, &'static str, char) {
        match self {
            Self::Sending => ("sender's call, until it leaves the CPU", "", '>'),
            Self::SendingToIdle => ("sender's call, the receiver's CPU asleep", "", '^'),
            Self::Switching => ("gap: the CPU switches threads", "switch", 'x'),
            Self::Asleep => ("gap: CPU asleep and waking", "asleep", 'z'),
            Self::Queued => ("gap: queued behind another task", "queued", 'q'),
            Self::Preempted => ("gap: preempted", "preempted", 'p'),
            Self::Throttled => ("gap: throttled by a quota", "throttled", 't'),
            Self::Stopped => ("gap: stopped by a signal", "stopped", 's'),
            Self::Waiting => ("gap: sender waits in its call", "waits", 'w'),
            Self::Unknown => ("gap: cause unknown", "?", '?'),
            Self::Receiving => ("receiver on CPU, until its call returns", "", '<'),
            Self::Running => ("one thread runs both ends", "", '='),
        }
    }

    /// The part that a hop which is slow for this reason is blamed on: waking a sleeping CPU
    /// holds up the sender as well.
    fn cause(self) -> Self {
        if self == Self::SendingToIdle { Self::Asleep } else { self }
    }
}

/// A piece of a hop, spent on one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The part.
    pub part: Part,
    /// Its start.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// The CPU concerned.
    pub cpu: u32,
    /// The thread that had this CPU, if one is known; 0 is an idle one.
    pub by: Option<u32>,
}

impl Piece {
    /// Its length.
    pub fn ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// One hop.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// The lap, from 0.
    pub lap: usize,
    /// The sender.
    pub from: Stop,
    /// The receiver.
    pub to: Stop,
    /// Its pieces, in order and without holes.
    pub pieces: Vec<Piece>,
    /// Whether sender or receiver was preempted.
    pub preempted: bool,
}

impl Hop {
    /// How long it took.
    pub fn ns(&self) -> u64 {
        self.to.at_ns - self.from.at_ns
    }
}

/// What all hops spent on one part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The part.
    pub part: Part,
    /// Quantiles over all hops, of which some spend nothing on it.
    pub p50_ns: u64,
    /// Likewise.
    pub p99_ns: u64,
    /// Of the time of all laps, 0 to 1.
    pub share: f64,
}

/// The result of splitting a trace's hops.
#[derive(Clone, Debug, PartialEq)]
pub struct Blame {
    /// All hops, by time.
    pub hops: Vec<Hop>,
    /// The parts that occur.
    pub rows: Vec<Row>,
    /// The kernel's count of switches within the recorded spans.
    pub counted: u64,
    /// Records of threads of the process that left a CPU.
    pub recorded: u64,
    /// Who had which CPU, by start.
    pub turns: Vec<Turn>,
}

/// A quantile, by the nearest rank.
pub fn quantile(values: impl IntoIterator<Item = u64>, share: f64) -> u64 {
    let mut values: Vec<u64> = values.into_iter().collect();
    values.sort_unstable();
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied().unwrap_or(0)
}

impl Blame {
    /// Splits every hop of `trace`.
    ///
    /// # Errors
    /// If the trace is inconsistent.
    pub fn of(trace: &Trace) -> Result<Self, String> {
        let spans: Vec<Span> = trace.spans.iter().map(|span| Span::new(trace, span)).collect();
        let direct = direct_ns(&spans);
        let mut hops = Vec::<Hop>::new();
        for (lap, traced) in trace.laps.iter().enumerate() {
            for pair in traced.stops.windows(2) {
                let [from, to] = [pair[0], pair[1]];
                let span = spans
                    .iter()
                    .find(|span| span.of.begun_ns <= from.at_ns && to.at_ns <= span.of.ended_ns);
                let (Some(span), true) = (span, from.at_ns <= to.at_ns) else {
                    return Err(format!("lap {lap} of the trace lies outside its recorded spans"));
                };
                let hop = span.split(lap, from, to, direct);
                match hops.last_mut() {
                    // The waker called: no task had it yet.
                    Some(before) if before.lap == lap && from.task.is_none() => {
                        (before.to, before.preempted) = (to, before.preempted || hop.preempted);
                        before.pieces.extend(hop.pieces);
                    }
                    _ => hops.push(hop),
                }
            }
        }
        if hops.is_empty() {
            return Err("the trace has no hops".to_owned());
        }
        let counted = trace.spans.iter().map(|span| span.counted).sum();
        let leaves = |switch: &&Switch| switch.own && switch.way != Way::In;
        let recorded = trace.switches.iter().filter(leaves).count() as u64;
        let turns = spans.into_iter().flat_map(|span| span.turns).collect();
        Ok(Self { rows: rows(&hops), counted, recorded, hops, turns })
    }

    /// How long a hop takes on average.
    pub fn mean_ns(&self) -> f64 {
        self.hops.iter().map(|hop| hop.ns() as f64).sum::<f64>() / self.hops.len() as f64
    }

    /// The cause on which a hop spent most, or, if it took at least twice as long as the median
    /// hop, most beyond the medians. With the pieces that it spent on it, the longest first.
    pub fn cause<'a>(&self, hop: &'a Hop) -> Option<(Part, Vec<&'a Piece>)> {
        let of = |cause| hop.pieces.iter().filter(move |piece| piece.part.cause() == cause);
        let spent = |cause| of(cause).map(Piece::ns).sum::<u64>();
        let rows = |cause| self.rows.iter().filter(move |row| row.part.cause() == cause);
        let is_unusual = hop.ns() / 2 >= quantile(self.hops.iter().map(Hop::ns), 0.5);
        let usual = |cause| rows(cause).filter(|_| is_unusual).map(|row| row.p50_ns).sum::<u64>();
        let beyond = |cause: Part| (spent(cause).saturating_sub(usual(cause)), cause);
        let (_, cause) = hop.pieces.iter().map(|piece| beyond(piece.part.cause())).max()?;
        let mut pieces: Vec<&Piece> = of(cause).collect();
        pieces.sort_by_key(|piece| Reverse(piece.ns()));
        Some((cause, pieces))
    }

    /// The hops of the lap of middle length.
    pub fn typical_lap(&self) -> &[Hop] {
        let mut laps: Vec<&[Hop]> = self.hops.chunk_by(|one, other| one.lap == other.lap).collect();
        laps.sort_by_key(|hops| hops.iter().map(Hop::ns).sum::<u64>());
        laps[(laps.len() - 1) / 2]
    }
}

fn rows(hops: &[Hop]) -> Vec<Row> {
    let whole: u64 = hops.iter().map(Hop::ns).sum();
    let row = |part: Part| {
        let of = |piece: &&Piece| piece.part == part;
        let spent = |hop: &Hop| hop.pieces.iter().filter(of).map(Piece::ns).sum::<u64>();
        let spent: Vec<u64> = hops.iter().map(spent).collect();
        let share = spent.iter().sum::<u64>() as f64 / whole.max(1) as f64;
        let [p50_ns, p99_ns] = [0.5, 0.99].map(|share| quantile(spent.iter().copied(), share));
        Row { part, p50_ns, p99_ns, share }
    };
    let parts: BTreeSet<Part> = hops.iter().flat_map(|hop| &hop.pieces).map(|of| of.part).collect();
    parts.into_iter().map(row).collect()
}

/// The longest time an idle CPU takes to wake up; a longer gap has another cause.
const LONGEST_WAKING: u64 = 1_000_000;

/// The time from a thread taking a CPU to its leaving it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// The CPU.
    pub cpu: u32,
    /// The thread; 0 is an idle CPU.
    pub tid: u32,
    /// Whether it is one of the traced process.
    pub own: bool,
    /// Its start, or that of the span.
    pub from_ns: u64,
    /// Its end, or that of the span.
    pub to_ns: u64,
    /// Whether it could have gone on.
    pub preempted: bool,
}

/// The turns within a span, by start.
fn turns(switches: &[Switch], of: &RecordedSpan) -> Vec<Turn> {
    let (mut turns, mut on_cpu) = (Vec::new(), BTreeMap::<u32, Turn>::new());
    let mut ended = BTreeMap::<u32, u64>::new();
    let is_in = |switch: &&Switch| of.begun_ns <= switch.at_ns && switch.at_ns <= of.ended_ns;
    for Switch { at_ns, cpu, tid, own, way } in switches.iter().filter(is_in).copied() {
        let before = on_cpu.remove(&cpu);
        let from_ns = ended.insert(cpu, at_ns).unwrap_or(of.begun_ns);
        let turn = Turn { cpu, tid, own, from_ns, to_ns: at_ns, preempted: way == Way::Preempted };
        if way == Way::In {
            on_cpu.insert(cpu, Turn { from_ns: at_ns, to_ns: of.ended_ns, ..turn });
            turns.extend(before.map(|before| Turn { to_ns: at_ns, ..before }));
        } else {
            // Whoever left without having come was there.
            let came = before.filter(|before| before.tid == tid);
            turns.push(Turn { from_ns: came.map_or(from_ns, |came| came.from_ns), ..turn });
        }
    }
    turns.extend(on_cpu.into_values());
    turns.sort_by_key(|turn| turn.from_ns);
    turns
}

/// The longest time in which a CPU switches from one thread of the process to the next. If other
/// processes are not visible it is estimated: three times the median of short gaps.
fn direct_ns(spans: &[Span]) -> u64 {
    let pairs = spans.iter().flat_map(|span| span.on_cpu.values()).flat_map(|of| of.windows(2));
    let times = pairs.map(|pair| pair[1].from_ns.saturating_sub(pair[0].to_ns));
    // Of a CPU that sleeps between any two threads, all are long.
    3 * quantile(times.filter(|ns| *ns < 5_000), 0.5)
}

/// The turns of one span, by thread and by CPU.
struct Span<'a> {
    of: &'a RecordedSpan,
    trace: &'a Trace,
    turns: Vec<Turn>,
    of_thread: BTreeMap<u32, Vec<Turn>>,
    on_cpu: BTreeMap<u32, Vec<Turn>>,
    /// When no thread of the process had a CPU, in order.
    silences: Vec<Range<u64>>,
}

/// The turns of these that last within a range.
fn within<'t>(turns: &'t [Turn], range: &Range<u64>) -> &'t [Turn] {
    let from = turns.partition_point(|turn| turn.to_ns <= range.start);
    let until = turns.partition_point(|turn| turn.from_ns < range.end);
    &turns[from.min(until)..until]
}

/// The last turn of these that ended by then.
fn ended(turns: &[Turn], at_ns: u64) -> Option<&Turn> {
    turns[..turns.partition_point(|turn| turn.to_ns <= at_ns)].last()
}

/// The turn of these that lasts at this moment.
fn lasting(turns: &[Turn], at_ns: u64) -> Option<&Turn> {
    within(turns, &(at_ns..at_ns + 1)).last()
}

impl<'a> Span<'a> {
    fn new(trace: &'a Trace, of: &'a RecordedSpan) -> Self {
        let (mut of_thread, mut on_cpu) =
            (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        let (mut silences, mut since) = (Vec::new(), of.begun_ns);
        let turns = turns(&trace.switches, of);
        for turn in &turns {
            of_thread.entry(turn.tid).or_default().push(*turn);
            on_cpu.entry(turn.cpu).or_default().push(*turn);
            if turn.own {
                silences.extend((since < turn.from_ns).then_some(since..turn.from_ns));
                since = since.max(turn.to_ns);
            }
        }
        silences.push(since..of.ended_ns);
        Self { of, trace, turns, of_thread, on_cpu, silences }
    }

    fn of(&self, tid: u32) -> &[Turn] {
        self.of_thread.get(&tid).map_or(&[], Vec::as_slice)
    }

    fn on(&self, cpu: u32) -> &[Turn] {
        self.on_cpu.get(&cpu).map_or(&[], Vec::as_slice)
    }

    /// Whether a thread has a CPU at this moment.
    fn runs(&self, tid: u32, at_ns: u64) -> bool {
        self.of(tid).is_empty() || lasting(self.of(tid), at_ns).is_some()
    }

    /// The thread that has a CPU at this moment.
    fn has(&self, cpu: u32, at_ns: u64) -> Option<u32> {
        Some(lasting(self.on(cpu), at_ns)?.tid)
    }

    /// When a thread next takes a CPU.
    fn next_in(&self, tid: u32, at_ns: u64) -> Option<&Turn> {
        self.of(tid).get(self.of(tid).partition_point(|turn| turn.from_ns <= at_ns))
    }

    fn split(&self, lap: usize, from: Stop, to: Stop, direct: u64) -> Hop {
        let whole = from.at_ns..to.at_ns;
        let is_in = |at_ns: &u64| whole.start < *at_ns && *at_ns < whole.end;
        let ends = |turn: &Turn| [turn.from_ns, turn.to_ns].into_iter().filter(is_in);
        let [sent, taken] = [from.tid, to.tid].map(|tid| within(self.of(tid), &whole));
        let both = || sent.iter().chain(taken);
        let cpus: BTreeSet<u32> =
            both().filter(|turn| ends(turn).next().is_some()).map(|turn| turn.cpu).collect();
        let on_cpus = cpus.iter().flat_map(|cpu| within(self.on(*cpu), &whole));
        let cuts: BTreeSet<u64> = on_cpus.flat_map(ends).chain([whole.start, whole.end]).collect();
        // Before it last blocked, the receiver worked for an earlier token.
        let waits = taken.iter().rfind(|turn| is_in(&turn.to_ns) && !turn.preempted);
        let waits = waits.map_or(whole.start, |turn| turn.to_ns);
        let mut pieces = Vec::<Piece>::new();
        for (start, end) in cuts.iter().copied().zip(cuts.iter().copied().skip(1)) {
            let piece = self.piece(&from, &to, start..end, waits, direct);
            match pieces.last_mut() {
                Some(before) if before.part == piece.part && before.by == piece.by => {
                    before.to_ns = end;
                }
                _ => pieces.push(piece),
            }
        }
        let preempted = both().any(|turn| is_in(&turn.to_ns) && turn.preempted);
        Hop { lap, from, to, pieces, preempted }
    }

    fn piece(&self, from: &Stop, to: &Stop, at: Range<u64>, waits: u64, direct: u64) -> Piece {
        let [sends, takes] = [from.tid, to.tid].map(|tid| self.runs(tid, at.start));
        let of = |part, cpu, by| Piece { part, from_ns: at.start, to_ns: at.end, cpu, by };
        if sends && from.tid == to.tid {
            let part = match to.task {
                None if from.task.is_none() => Part::Sending,
                task if task == from.task => Part::Receiving,
                _ => Part::Running,
            };
            of(part, from.cpu, Some(from.tid))
        } else if takes && (at.start >= waits || !sends) {
            of(Part::Receiving, to.cpu, Some(to.tid))
        } else if sends {
            let next = self.next_in(to.tid, at.start);
            let idle = next.filter(|next| self.has(next.cpu, at.start) == Some(0));
            of(idle.map_or(Part::Sending, |_| Part::SendingToIdle), from.cpu, Some(from.tid))
        } else {
            self.gap(from, to, at, direct)
        }
    }

    /// A piece in which neither sender nor receiver had a CPU. It lasts until one of them takes
    /// one: the awaited thread.
    fn gap(&self, from: &Stop, to: &Stop, at_ns: Range<u64>, direct: u64) -> Piece {
        let next = [from.tid, to.tid].map(|tid| self.next_in(tid, at_ns.start));
        let is_sender = match next {
            [Some(sender), Some(receiver)] => sender.from_ns < receiver.from_ns,
            [sender, _] => sender.is_some(),
        };
        let awaited = if is_sender { from.tid } else { to.tid };
        let left = ended(self.of(awaited), at_ns.start).filter(|turn| turn.preempted);
        let is_ready = left.is_some();
        // A preempted thread stays queued on its CPU, unless the kernel moves it.
        let stays = left.filter(|left| self.has(left.cpu, at_ns.start).is_some_and(|tid| tid != 0));
        let cpu = stays.or(next[usize::from(!is_sender)]).map_or(to.cpu, |turn| turn.cpu);
        let by = self.has(cpu, at_ns.start);
        let (is_whole, length) = (self.trace.whole_machine, at_ns.end - at_ns.start);
        let is_short = length <= LONGEST_WAKING;
        let before = ended(self.on(cpu), at_ns.start);
        let is_off = before.is_some_and(|turn| turn.preempted);
        let is_direct = length <= direct && before.is_some_and(|turn| turn.to_ns == at_ns.start);
        let silence = self.silences.partition_point(|silence| silence.end <= at_ns.start);
        let silence = self.silences.get(silence).filter(|silence| silence.start <= at_ns.start);
        let is_stopped =
            |silence: &Range<u64>| self.trace.stops.iter().any(|stop| silence.contains(stop));
        let part = match by {
            _ if silence.is_some_and(is_stopped) => Part::Stopped,
            _ if silence.is_some_and(|silence| self.is_throttled(silence, cpu)) => Part::Throttled,
            None if is_direct || (is_whole && is_short) => Part::Switching,
            None if is_whole => Part::Unknown,
            None if is_ready || is_off => Part::Preempted,
            _ if is_sender && !is_ready && is_short => Part::Waiting,
            _ if is_sender && !is_ready => Part::Unknown,
            Some(0) if is_short && !is_ready => Part::Asleep,
            Some(0) | None => Part::Unknown,
            Some(_) if is_ready => Part::Preempted,
            Some(_) => Part::Queued,
        };
        Piece { part, from_ns: at_ns.start, to_ns: at_ns.end, cpu, by }
    }

    /// Whether quotas explain that no thread of the process ran: they throttled it for about as
    /// long, and the CPU was idle, if that is visible.
    fn is_throttled(&self, silence: &Range<u64>, cpu: u32) -> bool {
        let Some([times, ns]) = self.of.throttled else { return false };
        let length = silence.end - silence.start;
        let fits = length <= ns + ns / 10 && length * 4 * times * self.on_cpu.len() as u64 >= ns;
        let is_idle = || within(self.on(cpu), silence).iter().any(|turn| turn.tid == 0);
        let is_free = !self.trace.whole_machine || is_idle();
        times > 0 && fits && is_free
    }
}

#[cfg(test)]
mod tests {
    use harness::trace::TracedLap;
    use proptest::prelude::*;

    use super::*;

    const BEGUN: u64 = 1_000;

    fn switch(at_ns: u64, cpu: u32, tid: u32, way: Way) -> Switch {
        Switch { at_ns, cpu, tid, own: (1..50).contains(&tid), way }
    }

    fn stop(at_ns: u64, cpu: u32, tid: u32) -> Stop {
        Stop { task: Some(tid), tid, cpu, at_ns }
    }

    /// A trace of one hop between threads 1 and 2. A quota stopped it for so long.
    fn trace(hop: [Stop; 2], switches: &[Switch], whole_machine: bool, throttled: u64) -> Trace {
        let throttled = Some([u64::from(throttled > 0), throttled]);
        let span =
            RecordedSpan { begun_ns: 0, ended_ns: 10_000_000, counted: 0, cpu_ns: None, throttled };
        Trace {
            whole_machine,
            laps: vec![TracedLap { stops: hop.to_vec() }],
            spans: vec![span],
            switches: switches.to_vec(),
            ..Trace::default()
        }
    }

    fn parts(trace: &Trace) -> Vec<(Part, u64)> {
        let blame = Blame::of(trace).expect("a trace that fits together");
        blame.hops[0].pieces.iter().map(|piece| (piece.part, piece.ns())).collect()
    }

    use Part::*;
    use Way::{In, Out, Preempted as Off};

    #[test]
    fn each_gap_has_the_cause_that_was_made_up() {
        let near = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 0, 2)];
        let far = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 1, 2)];
        let left = switch(BEGUN + 30, 0, 1, Out);
        let comes = |cpu| switch(BEGUN + 90, cpu, 2, In);
        let check =
            |name: &str, hop, switches: &[Switch], sees_all, throttled, gap: &[(Part, u64)]| {
                let is_idle = switches.iter().any(|of| of.tid == 0);
                let sent = (if is_idle { SendingToIdle } else { Sending }, 30);
                let expected = [&[sent], gap, &[(Receiving, 10)]].concat();
                assert_eq!(parts(&trace(hop, switches, sees_all, throttled)), expected, "{name}");
            };
        check("direct", near, &[left, comes(0)], true, 0, &[(Switching, 60)]);
        check("direct, as a user", near, &[left, comes(0)], false, 0, &[(Switching, 60)]);
        let before = [switch(BEGUN - 9, 1, 2, Out), switch(BEGUN - 8, 1, 0, In), left];
        let wakes = [&before[..], &[switch(BEGUN + 90, 1, 0, Out), comes(1)]].concat();
        check("asleep", far, &wakes, true, 0, &[(Asleep, 60)]);
        check("asleep since before", far, &wakes[2..], true, 0, &[(Asleep, 60)]);
        check("unseen", far, &[before[0], left, comes(1)], false, 0, &[(Unknown, 60)]);
        let hog = [switch(BEGUN - 8, 1, 77, In), left, switch(BEGUN + 85, 1, 77, Off), comes(1)];
        check("a hog", far, &hog, true, 0, &[(Queued, 55), (Switching, 5)]);
        let ours = [switch(BEGUN - 8, 1, 3, In), left, switch(BEGUN + 85, 1, 3, Out), comes(1)];
        check("queued, as a user", far, &ours, false, 0, &[(Queued, 55), (Switching, 5)]);
        let off = switch(BEGUN - 9, 1, 2, Off);
        let hog =
            [off, switch(BEGUN - 8, 1, 77, In), left, switch(BEGUN + 85, 1, 77, Off), comes(1)];
        check("preempted", far, &hog, true, 0, &[(Preempted, 55), (Switching, 5)]);
        check("and a quota that took less", far, &hog, true, 9, &[(Preempted, 55), (Switching, 5)]);
        check("and the CPU was not free", far, &hog, true, 60, &[(Preempted, 55), (Switching, 5)]);
        let quota = [off, switch(BEGUN - 8, 1, 0, In), left, comes(1)];
        check("a quota", far, &quota, true, 60, &[(Throttled, 60)]);
        check("a quota that took less", far, &quota, true, 9, &[(Unknown, 60)]);
        check("a quota that took more", far, &quota, true, 600, &[(Unknown, 60)]);
        check("a quota, as a user", far, &[off, left, comes(1)], false, 60, &[(Throttled, 60)]);
        check("taken off, as a user", far, &[off, left, comes(1)], false, 0, &[(Preempted, 60)]);
    }

    /// A CPU that stays idle for long was not waking up: only a witness says more.
    #[test]
    fn long_silence_needs_a_witness() {
        let hop = [stop(BEGUN, 0, 1), stop(BEGUN + 5_000_000, 1, 2)];
        let switches = [
            switch(BEGUN - 9, 1, 2, Out),
            switch(BEGUN - 9, 1, 0, In),
            switch(BEGUN + 30, 0, 1, Out),
            switch(BEGUN + 30, 0, 0, In),
            switch(BEGUN + 4_000_030, 1, 0, Out),
            switch(BEGUN + 4_000_030, 1, 2, In),
        ];
        let of = |stops: &[u64]| {
            let trace = trace(hop, &switches, true, 0);
            parts(&Trace { stops: stops.to_vec(), ..trace })[1]
        };
        assert_eq!(of(&[]), (Unknown, 4_000_000));
        assert_eq!(of(&[BEGUN + 300_000]), (Stopped, 4_000_000));
        assert_eq!(of(&[BEGUN + 4_500_000]), (Unknown, 4_000_000), "seen when it was over");
    }

    #[test]
    fn a_sender_that_waits_is_not_the_receivers_fault() {
        let hop = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 0, 2)];
        let switches = [
            switch(BEGUN + 10, 0, 1, Out),
            switch(BEGUN + 11, 0, 0, In),
            switch(BEGUN + 61, 0, 0, Out),
            switch(BEGUN + 61, 0, 1, In),
            switch(BEGUN + 70, 0, 1, Out),
            switch(BEGUN + 71, 0, 2, In),
        ];
        let expected = [
            (Sending, 10),
            (Switching, 1),
            (Waiting, 50),
            (Sending, 9),
            (Switching, 1),
            (Receiving, 29),
        ];
        assert_eq!(parts(&trace(hop, &switches, true, 0)), expected);
    }

    #[test]
    fn a_receiver_that_is_about_to_wait_is_not_receiving_yet() {
        let hop = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 1, 2)];
        let switches = [
            switch(BEGUN + 20, 1, 2, Out),
            switch(BEGUN + 21, 1, 0, In),
            switch(BEGUN + 50, 0, 1, Out),
            switch(BEGUN + 60, 1, 0, Out),
            switch(BEGUN + 60, 1, 2, In),
        ];
        let expected = [(Sending, 21), (SendingToIdle, 29), (Asleep, 10), (Receiving, 40)];
        assert_eq!(parts(&trace(hop, &switches, true, 0)), expected);
        let one = [stop(BEGUN, 0, 1), Stop { task: None, ..stop(BEGUN + 100, 0, 1) }];
        assert_eq!(parts(&trace(one, &[], false, 0)), [(Running, 100)]);
    }

    /// Waking a sleeping CPU takes the sender long as well, and is the cause of that too.
    #[test]
    fn a_slow_send_to_a_sleeping_cpu_is_blamed_on_its_sleep() {
        let stops = |at| vec![stop(at, 0, 1), stop(at + 100, 1, 2)];
        let laps = [1_000, 2_000, 3_000].map(|at| TracedLap { stops: stops(at) }).to_vec();
        let comes = |at: u64, sent: u64| {
            [(1, 2, In, 90), (1, 2, Out, 101), (0, 1, Out, sent), (0, 1, In, 200)]
                .map(|(cpu, tid, way, after)| switch(at + after, cpu, tid, way))
        };
        let idle = [switch(2_200, 1, 0, In), switch(3_090, 1, 0, Out)];
        let cause = |idle: &[Switch]| {
            let hops = [comes(1_000, 20), comes(2_000, 20), comes(3_000, 70)];
            let mut switches = [&hops.concat(), idle].concat();
            switches.sort_by_key(|of| of.at_ns);
            let hop = [stop(0, 0, 1), stop(1, 1, 2)];
            let trace = Trace { laps: laps.clone(), ..trace(hop, &switches, true, 0) };
            let blame = Blame::of(&trace).expect("it fits");
            let (cause, pieces) = blame.cause(&blame.hops[2]).expect("a cause");
            (cause, pieces.iter().map(|piece| piece.ns()).sum::<u64>(), pieces[0].part)
        };
        assert_eq!(cause(&idle), (Asleep, 90, SendingToIdle));
        assert_eq!(cause(&[]), (Sending, 70, Sending));
    }

    /// A hop of usual length is as long as it is for the usual reason.
    #[test]
    fn the_usual_is_the_cause_unless_a_hop_is_unusual() {
        let cause = |woken: u64, taken: u64| {
            let laps = [(1_000, 90, 100), (2_000, 90, 100), (3_000, woken, taken)];
            let lap =
                |(at, _, taken)| TracedLap { stops: vec![stop(at, 0, 1), stop(at + taken, 1, 2)] };
            let switches = laps.map(|(at, woken, taken)| {
                [
                    (0, 1, In, 0),
                    (1, 0, In, 0),
                    (0, 1, Out, 20),
                    (1, 2, In, woken),
                    (1, 2, Out, taken),
                ]
                .map(|(cpu, tid, way, after)| switch(at + after, cpu, tid, way))
            });
            let hop = [stop(0, 0, 1), stop(1, 1, 2)];
            let trace = trace(hop, &switches.concat(), true, 0);
            let trace = Trace { laps: laps.map(lap).to_vec(), ..trace };
            let blame = Blame::of(&trace).expect("it fits");
            blame.cause(&blame.hops[2]).expect("a cause").0
        };
        assert_eq!(cause(90, 199), Receiving);
        assert_eq!(cause(80, 110), Asleep);
        assert_eq!(cause(110, 190), Asleep, "not yet twice as long");
        assert_eq!(cause(110, 200), Receiving);
        assert_eq!(cause(150, 200), Asleep);
    }

    /// A waker, due at the start, called 60 ns later; the thread that it woke ran after 40 more.
    #[test]
    fn a_wake_up_is_one_hop_from_its_due_time_on() {
        let waker = |at_ns| Stop { task: None, ..stop(at_ns, 0, 1) };
        let switches = [
            switch(BEGUN - 9, 0, 1, Out),
            switch(BEGUN - 9, 0, 77, In),
            switch(BEGUN + 50, 0, 77, Off),
            switch(BEGUN + 50, 0, 1, In),
            switch(BEGUN + 75, 0, 1, Out),
            switch(BEGUN + 75, 0, 2, In),
        ];
        let of = |stops: Vec<Stop>| {
            let hop = [stop(0, 0, 1), stop(1, 1, 2)];
            let laps = vec![TracedLap { stops }];
            let trace = Trace { laps, ..trace(hop, &switches, true, 0) };
            assert_eq!(Blame::of(&trace).expect("it fits").hops.len(), 1);
            parts(&trace)
        };
        let called = vec![waker(BEGUN), waker(BEGUN + 60), stop(BEGUN + 100, 0, 2)];
        assert_eq!(of(called), [(Queued, 50), (Sending, 10), (Sending, 15), (Receiving, 25)]);
        let by_timer = vec![stop(BEGUN, 0, 1), stop(BEGUN + 60, 0, 1)];
        assert_eq!(of(by_timer), [(Queued, 50), (Receiving, 10)]);
    }

    #[test]
    fn quantiles_are_of_the_nearest_rank() {
        assert_eq!(quantile([], 0.5), 0);
        assert_eq!(quantile([3, 1, 2], 0.5), 2);
        assert_eq!(quantile(1..=100, 0.99), 99);
    }

    proptest! {
        /// Whatever the records are, the pieces tile the hop.
        #[test]
        fn parts_add_up_to_the_hop(
            switches in prop::collection::vec((900..1_200_u64, 0..2_u32, 0..4_u32, 0..3_usize), 0..40),
            whole_machine: bool,
            throttled in 0..200_u64,
            stops in prop::collection::vec(900..1_200_u64, 0..2),
        ) {
            let ways = [In, Out, Off];
            let mut switches: Vec<Switch> =
                switches.into_iter().map(|(at, cpu, tid, way)| switch(at, cpu, tid, ways[way])).collect();
            switches.sort_by_key(|switch| switch.at_ns);
            let hop = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 1, 2)];
            let trace = Trace { stops, ..trace(hop, &switches, whole_machine, throttled) };
            let blame = Blame::of(&trace).expect("it fits");
            let pieces = &blame.hops[0].pieces;
            prop_assert_eq!(pieces[0].from_ns, BEGUN);
            prop_assert_eq!(pieces.last().expect("a piece").to_ns, BEGUN + 100);
            prop_assert!(pieces.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
            let shares: f64 = blame.rows.iter().map(|row| row.share).sum();
            prop_assert!((shares - 1.0).abs() < 1e-9);
        }
    }
}
