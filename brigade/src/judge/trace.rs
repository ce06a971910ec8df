//! Where the time of each hop went, from the switches and stops of a trace.
//!
//! Every moment of a hop belongs to one part: to the sender, to the receiver, or to a gap in
//! which neither had a CPU. So the parts of a lap add up to it exactly. An ordinary user sees
//! only the program's own switches, so whether another process ran on the CPU or it slept stays
//! unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::{Context as _, ensure};
use harness::trace::{Direction, RecordedSpan, Stop, Switch, Trace};

/// The parts of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The sender is on a CPU, until it leaves it or the receiver runs.
    Sending,
    /// The sender is on a CPU, and the one that the receiver takes next is idle.
    SendingToIdle,
    /// The CPU changes from one thread to the next.
    Switching,
    /// The CPU that the receiver takes next is idle: it sleeps, and wakes up.
    Asleep,
    /// Another thread has its CPU.
    Queued,
    /// It is ready to run, but was taken off its CPU.
    Preempted,
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
    /// The part that a hop which is slow for this reason is blamed on: waking a sleeping CPU
    /// holds up the sender as well.
    fn cause(self) -> Self {
        if self == Self::SendingToIdle { Self::Asleep } else { self }
    }
}

/// A piece of a hop, spent on one part.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub part: Part,
    pub from_ns: u64,
    pub to_ns: u64,
    /// The CPU concerned.
    pub cpu: u32,
    /// The thread that had this CPU, if one is known; 0 is an idle one.
    pub by: Option<u32>,
}

impl Piece {
    pub fn ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// One hop.
#[derive(Clone, Debug)]
pub struct Hop {
    /// The lap, from 0.
    pub lap: usize,
    /// The sender.
    pub from: Stop,
    /// The receiver.
    pub to: Stop,
    /// In order and without holes.
    pub pieces: Vec<Piece>,
}

impl Hop {
    pub fn ns(&self) -> u64 {
        self.to.at_ns - self.from.at_ns
    }
}

/// What all hops spent on one part.
#[derive(Clone, Copy, Debug)]
pub struct PartTime {
    pub part: Part,
    /// Quantiles over all hops, of which some spend nothing on it.
    pub p50_ns: u64,
    pub p99_ns: u64,
    /// Of the time of all laps, 0 to 1.
    pub share: f64,
}

/// A trace's hops, split into parts.
#[derive(Clone, Debug)]
pub struct Blame {
    /// All hops, by time.
    pub hops: Vec<Hop>,
    /// The parts that occur.
    pub parts: Vec<PartTime>,
    /// How often a thread of the process left a CPU, as recorded and as counted by the kernel.
    pub switches: u64,
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
    /// If the trace contradicts itself, or lacks a switch that the kernel counted.
    pub fn of(trace: &Trace) -> anyhow::Result<Self> {
        let spans: Vec<Span> = trace.spans.iter().map(|span| Span::new(trace, span)).collect();
        for Span { record, .. } in &spans {
            let own = trace.switches.iter().filter(|switch| switch.own && record.has(switch.at_ns));
            let recorded = own.filter(|switch| switch.way != Direction::In).count();
            let counted = record.counted;
            ensure!(
                recorded as u64 == counted,
                "{recorded} switches were recorded, but the kernel counted {counted}: trace it again"
            );
        }
        let mut hops = Vec::<Hop>::new();
        for (lap, traced) in trace.laps.iter().enumerate() {
            for [from, to] in traced.stops.array_windows() {
                let has = |span: &&Span| [from, to].iter().all(|stop| span.record.has(stop.at_ns));
                let span = spans.iter().find(has).filter(|_| from.at_ns <= to.at_ns);
                let span = span.with_context(|| format!("no span of the trace has lap {lap}"))?;
                let hop = span.split(lap, from, to);
                match hops.last_mut() {
                    // The waker called: no task had it yet.
                    Some(before) if before.lap == lap && from.task.is_none() => {
                        before.to = *to;
                        before.pieces.extend(hop.pieces);
                    }
                    _ => hops.push(hop),
                }
            }
        }
        ensure!(!hops.is_empty(), "the trace has no hops");
        let turns = spans.into_iter().flat_map(|span| span.turns).collect();
        let switches = trace.spans.iter().map(|span| span.counted).sum();
        Ok(Self { parts: parts(&hops), switches, hops, turns })
    }

    /// How long a hop takes on average.
    pub fn mean_ns(&self) -> f64 {
        self.hops.iter().map(|hop| hop.ns() as f64).sum::<f64>() / self.hops.len() as f64
    }

    /// The cause on which a hop spent most beyond the median, the time spent on it, and the longest
    /// piece of that.
    pub fn cause(&self, hop: &Hop) -> Option<(Part, u64, Piece)> {
        let mut spent = BTreeMap::<Part, (u64, Piece)>::new();
        for piece in &hop.pieces {
            let (ns, longest) = spent.entry(piece.part.cause()).or_insert((0, *piece));
            *ns += piece.ns();
            *longest = [*longest, *piece].into_iter().max_by_key(Piece::ns)?;
        }
        let usual = |cause: Part| {
            let parts = self.parts.iter().filter(|time| time.part.cause() == cause);
            parts.map(|time| time.p50_ns).sum::<u64>()
        };
        let causes = spent.into_iter().map(|(cause, (ns, longest))| (cause, ns, longest));
        causes.max_by_key(|(cause, ns, _)| (ns.saturating_sub(usual(*cause)), *ns))
    }

    /// The hops of the lap of middle length.
    pub fn typical_lap(&self) -> &[Hop] {
        let mut laps: Vec<&[Hop]> = self.hops.chunk_by(|one, other| one.lap == other.lap).collect();
        laps.sort_by_key(|hops| hops.iter().map(Hop::ns).sum::<u64>());
        laps[(laps.len() - 1) / 2]
    }
}

fn parts(hops: &[Hop]) -> Vec<PartTime> {
    let mut spent = BTreeMap::<Part, Vec<u64>>::new();
    for (index, hop) in hops.iter().enumerate() {
        for piece in &hop.pieces {
            spent.entry(piece.part).or_insert_with(|| vec![0; hops.len()])[index] += piece.ns();
        }
    }
    let whole: u64 = hops.iter().map(Hop::ns).sum();
    let part = |(part, spent): (Part, Vec<u64>)| {
        let share = spent.iter().sum::<u64>() as f64 / whole.max(1) as f64;
        let [p50_ns, p99_ns] = [0.5, 0.99].map(|share| quantile(spent.iter().copied(), share));
        PartTime { part, p50_ns, p99_ns, share }
    };
    spent.into_iter().map(part).collect()
}

/// The longest time an idle CPU takes to wake up; a longer gap has another cause.
const LONGEST_WAKING: u64 = 1_000_000;

/// The time from a thread taking a CPU to its leaving it.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub cpu: u32,
    /// The thread; 0 is an idle CPU.
    pub tid: u32,
    /// Its start, or that of the span.
    pub from_ns: u64,
    /// Its end, or that of the span.
    pub to_ns: u64,
    /// Whether it could have gone on.
    preempted: bool,
}

/// The turns within a span, by start.
fn turns(switches: &[Switch], span: &RecordedSpan) -> Vec<Turn> {
    let (mut turns, mut on_cpu) = (Vec::new(), BTreeMap::<u32, Turn>::new());
    let mut ended = BTreeMap::<u32, u64>::new();
    let within = switches.iter().filter(|switch| span.has(switch.at_ns));
    for Switch { at_ns, cpu, tid, way, .. } in within.copied() {
        let before = on_cpu.remove(&cpu);
        let from_ns = ended.insert(cpu, at_ns).unwrap_or(span.begun_ns);
        let turn = Turn { cpu, tid, from_ns, to_ns: at_ns, preempted: way == Direction::Preempted };
        if way == Direction::In {
            on_cpu.insert(cpu, Turn { from_ns: at_ns, to_ns: span.ended_ns, ..turn });
            turns.extend(before.map(|before| Turn { to_ns: at_ns, ..before }));
        } else {
            // No arrival was recorded: this thread ran when the span began.
            let came = before.filter(|before| before.tid == tid);
            turns.push(Turn { from_ns: came.map_or(from_ns, |came| came.from_ns), ..turn });
        }
    }
    turns.extend(on_cpu.into_values());
    turns.sort_by_key(|turn| turn.from_ns);
    turns
}

/// The turns of one span, by thread and by CPU.
struct Span<'a> {
    record: &'a RecordedSpan,
    trace: &'a Trace,
    turns: Vec<Turn>,
    of_thread: BTreeMap<u32, Vec<Turn>>,
    on_cpu: BTreeMap<u32, Vec<Turn>>,
    /// The longest time in which a CPU switches from one thread of the process to the next. If
    /// other processes are not visible it is estimated: three times the median of short gaps.
    direct_ns: u64,
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
    fn new(trace: &'a Trace, record: &'a RecordedSpan) -> Self {
        let [mut of_thread, mut on_cpu] = [const { BTreeMap::<u32, Vec<Turn>>::new() }; 2];
        let turns = turns(&trace.switches, record);
        for turn in &turns {
            of_thread.entry(turn.tid).or_default().push(*turn);
            on_cpu.entry(turn.cpu).or_default().push(*turn);
        }
        let pairs = on_cpu.values().flat_map(|turns| turns.array_windows());
        let gaps = pairs.map(|[one, next]| next.from_ns.saturating_sub(one.to_ns));
        // Of a CPU that sleeps between any two threads, all are long.
        let direct_ns = 3 * quantile(gaps.filter(|ns| *ns < 5_000), 0.5);
        Self { record, trace, turns, of_thread, on_cpu, direct_ns }
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

    fn split(&self, lap: usize, from: &Stop, to: &Stop) -> Hop {
        let whole = from.at_ns..to.at_ns;
        let is_in = |at_ns: &u64| whole.start < *at_ns && *at_ns < whole.end;
        let ends = |turn: &Turn| [turn.from_ns, turn.to_ns].into_iter().filter(is_in);
        let [sent, taken] = [from.tid, to.tid].map(|tid| within(self.of(tid), &whole));
        let moved = sent.iter().chain(taken).filter(|turn| ends(turn).next().is_some());
        let cpus: BTreeSet<u32> = moved.map(|turn| turn.cpu).collect();
        let on_cpus = cpus.iter().flat_map(|cpu| within(self.on(*cpu), &whole));
        let cuts: BTreeSet<u64> = on_cpus.flat_map(ends).chain([whole.start, whole.end]).collect();
        // Before it last blocked, the receiver worked for an earlier token.
        let waits = taken.iter().rfind(|turn| is_in(&turn.to_ns) && !turn.preempted);
        let waits = waits.map_or(whole.start, |turn| turn.to_ns);
        let mut pieces = Vec::<Piece>::new();
        for (start, end) in cuts.iter().copied().zip(cuts.iter().copied().skip(1)) {
            let piece = self.piece(from, to, start..end, waits);
            match pieces.last_mut() {
                Some(before) if before.part == piece.part && before.by == piece.by => {
                    before.to_ns = end;
                }
                _ => pieces.push(piece),
            }
        }
        Hop { lap, from: *from, to: *to, pieces }
    }

    fn piece(&self, from: &Stop, to: &Stop, at: Range<u64>, waits: u64) -> Piece {
        let [sends, takes] = [from.tid, to.tid].map(|tid| self.runs(tid, at.start));
        let piece = |part, cpu, by| Piece { part, from_ns: at.start, to_ns: at.end, cpu, by };
        if sends && from.tid == to.tid {
            let part = match to.task {
                None if from.task.is_none() => Part::Sending,
                task if task == from.task => Part::Receiving,
                _ => Part::Running,
            };
            piece(part, from.cpu, Some(from.tid))
        } else if takes && (at.start >= waits || !sends) {
            piece(Part::Receiving, to.cpu, Some(to.tid))
        } else if sends {
            let next = self.next_in(to.tid, at.start);
            let idle = next.filter(|next| self.has(next.cpu, at.start) == Some(0));
            piece(idle.map_or(Part::Sending, |_| Part::SendingToIdle), from.cpu, Some(from.tid))
        } else {
            self.gap(from, to, at)
        }
    }

    /// A piece in which neither sender nor receiver had a CPU. It lasts until one of them takes
    /// one: the awaited thread.
    fn gap(&self, from: &Stop, to: &Stop, at_ns: Range<u64>) -> Piece {
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
        let is_direct =
            length <= self.direct_ns && before.is_some_and(|turn| turn.to_ns == at_ns.start);
        let part = match by {
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
}

#[cfg(test)]
mod tests {
    use harness::trace::TracedLap;
    use proptest::prelude::*;

    use super::Part::*;
    use super::*;
    use Direction::{In, Out, Preempted as Off};

    const BEGUN: u64 = 1_000;

    fn switch(at_ns: u64, cpu: u32, tid: u32, way: Direction) -> Switch {
        Switch { at_ns, cpu, tid, own: (1..50).contains(&tid), way }
    }

    fn stop(at_ns: u64, cpu: u32, tid: u32) -> Stop {
        Stop { task: Some(tid), tid, cpu, at_ns }
    }

    /// A trace of these laps.
    fn trace(laps: &[&[Stop]], switches: &[Switch], whole_machine: bool) -> Trace {
        let leaves = |switch: &&Switch| switch.own && switch.way != In;
        let span = RecordedSpan {
            begun_ns: 0,
            ended_ns: 10_000_000,
            counted: switches.iter().filter(leaves).count() as u64,
        };
        let lap = |stops: &&[Stop]| TracedLap { stops: stops.to_vec() };
        Trace {
            whole_machine,
            laps: laps.iter().map(lap).collect(),
            spans: vec![span],
            switches: switches.to_vec(),
            ..Trace::default()
        }
    }

    fn parts(trace: &Trace) -> Vec<(Part, u64)> {
        let blame = Blame::of(trace).expect("a consistent trace");
        blame.hops[0].pieces.iter().map(|piece| (piece.part, piece.ns())).collect()
    }

    #[test]
    fn each_gap_has_its_cause() {
        let near = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 0, 2)];
        let far = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 1, 2)];
        let left = switch(BEGUN + 30, 0, 1, Out);
        let comes = |cpu| switch(BEGUN + 90, cpu, 2, In);
        let [waits, idle] = [switch(BEGUN - 9, 1, 2, Out), switch(BEGUN - 8, 1, 0, In)];
        let [off, hog] = [switch(BEGUN - 9, 1, 2, Off), switch(BEGUN - 8, 1, 77, In)];
        let hog_off = switch(BEGUN + 85, 1, 77, Off);
        let wakes = [left, switch(BEGUN + 90, 1, 0, Out), comes(1)];
        let ours = [switch(BEGUN - 8, 1, 3, In), left, switch(BEGUN + 85, 1, 3, Out), comes(1)];
        let busy = [off, hog, left, hog_off, comes(1)];
        let free = [off, idle, left, comes(1)];
        let (queued, preempted) =
            ([(Queued, 55), (Switching, 5)], [(Preempted, 55), (Switching, 5)]);
        // The stops, the switches, whether all are seen, and the gap.
        type Case<'a> = ([Stop; 2], &'a [Switch], bool, &'a [(Part, u64)]);
        let cases: [Case; 10] = [
            (near, &[left, comes(0)], true, &[(Switching, 60)]),
            (near, &[left, comes(0)], false, &[(Switching, 60)]),
            (far, &[&[waits, idle][..], &wakes].concat(), true, &[(Asleep, 60)]),
            (far, &wakes, true, &[(Asleep, 60)]),
            (far, &[waits, left, comes(1)], false, &[(Unknown, 60)]),
            (far, &busy[1..], true, &queued),
            (far, &ours, false, &queued),
            (far, &busy, true, &preempted),
            (far, &free, true, &[(Unknown, 60)]),
            (far, &[off, left, comes(1)], false, &[(Preempted, 60)]),
        ];
        for (hop, switches, sees_all, gap) in cases {
            let is_idle = switches.iter().any(|switch| switch.tid == 0);
            let sent = (if is_idle { SendingToIdle } else { Sending }, 30);
            let expected = [&[sent], gap, &[(Receiving, 10)]].concat();
            assert_eq!(parts(&trace(&[&hop], switches, sees_all)), expected);
        }
    }

    #[test]
    fn a_cpu_that_stays_idle_for_long_is_not_waking_up() {
        let hop = [stop(BEGUN, 0, 1), stop(BEGUN + 5_000_000, 1, 2)];
        let switches = [
            switch(BEGUN - 9, 1, 2, Out),
            switch(BEGUN - 9, 1, 0, In),
            switch(BEGUN + 30, 0, 1, Out),
            switch(BEGUN + 30, 0, 0, In),
            switch(BEGUN + 4_000_030, 1, 0, Out),
            switch(BEGUN + 4_000_030, 1, 2, In),
        ];
        assert_eq!(parts(&trace(&[&hop], &switches, true))[1], (Unknown, 4_000_000));
    }

    #[test]
    fn a_hop_belongs_to_its_sender_until_the_receiver_runs_for_this_token() {
        let hop = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 0, 2)];
        let sender_waits = [
            switch(BEGUN + 10, 0, 1, Out),
            switch(BEGUN + 11, 0, 0, In),
            switch(BEGUN + 61, 0, 0, Out),
            switch(BEGUN + 61, 0, 1, In),
            switch(BEGUN + 70, 0, 1, Out),
            switch(BEGUN + 71, 0, 2, In),
        ];
        let expected = [(Sending, 10), (Switching, 1), (Waiting, 50), (Sending, 9)];
        let expected = [&expected[..], &[(Switching, 1), (Receiving, 29)]].concat();
        assert_eq!(parts(&trace(&[&hop], &sender_waits, true)), expected);
        let far = [hop[0], stop(BEGUN + 100, 1, 2)];
        let receiver_was_busy = [
            switch(BEGUN + 20, 1, 2, Out),
            switch(BEGUN + 21, 1, 0, In),
            switch(BEGUN + 50, 0, 1, Out),
            switch(BEGUN + 60, 1, 0, Out),
            switch(BEGUN + 60, 1, 2, In),
        ];
        let expected = [(Sending, 21), (SendingToIdle, 29), (Asleep, 10), (Receiving, 40)];
        assert_eq!(parts(&trace(&[&far], &receiver_was_busy, true)), expected);
        let one = [hop[0], Stop { task: None, ..stop(BEGUN + 100, 0, 1) }];
        assert_eq!(parts(&trace(&[&one], &[], false)), [(Running, 100)]);
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
        let split = |stops: &[Stop]| parts(&trace(&[stops], &switches, true));
        let called = [waker(BEGUN), waker(BEGUN + 60), stop(BEGUN + 100, 0, 2)];
        assert_eq!(split(&called), [(Queued, 50), (Sending, 10), (Sending, 15), (Receiving, 25)]);
        let by_timer = [stop(BEGUN, 0, 1), stop(BEGUN + 60, 0, 1)];
        assert_eq!(split(&by_timer), [(Queued, 50), (Receiving, 10)]);
    }

    #[test]
    fn a_trace_that_contradicts_itself_is_refused() {
        let hop = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 0, 2)];
        let whole = trace(&[&hop], &[switch(BEGUN + 30, 0, 1, Out)], true);
        assert!(Blame::of(&whole).is_ok());
        let missing = Trace { switches: Vec::new(), ..whole.clone() };
        let backwards = trace(&[&[hop[1], hop[0]]], &[], true);
        for broken in [missing, backwards, trace(&[], &[], true)] {
            assert!(Blame::of(&broken).is_err(), "{broken:?}");
        }
    }

    proptest! {
        /// The pieces of any records tile the hop.
        #[test]
        fn parts_add_up_to_the_hop(
            switches in prop::collection::vec((900..1_200_u64, 0..2_u32, 0..4_u32, 0..3_usize), 0..40),
            whole_machine: bool,
        ) {
            let switch = |(at, cpu, tid, way)| switch(at, cpu, tid, [In, Out, Off][way]);
            let mut switches: Vec<Switch> = switches.into_iter().map(switch).collect();
            switches.sort_by_key(|switch| switch.at_ns);
            let hop = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 1, 2)];
            let trace = trace(&[&hop], &switches, whole_machine);
            let blame = Blame::of(&trace).expect("it is consistent");
            let pieces = &blame.hops[0].pieces;
            prop_assert_eq!(pieces[0].from_ns, BEGUN);
            prop_assert_eq!(pieces.last().expect("a piece").to_ns, BEGUN + 100);
            prop_assert!(pieces.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
            let shares: f64 = blame.parts.iter().map(|time| time.share).sum();
            prop_assert!((shares - 1.0).abs() < 1e-9);
        }
    }
}
