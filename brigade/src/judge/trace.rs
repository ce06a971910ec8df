//! Where the time of each hop went, from the switches and stops of a trace.
//!
//! Every moment of a hop belongs to one part: to the sender, to the receiver, or to a gap in
//! which neither had a CPU. So the parts of a lap add up to it exactly. An ordinary user sees
//! only the program's own switches, so whether another process ran on the CPU or it slept stays
//! unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::ensure;
use harness::trace::{Batch, Direction, Stop, Switch, Trace};

use super::statistics::{quantile, sorted};

/// The parts of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HopPart {
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
    /// The thread is ready to run, but was taken off its CPU.
    Preempted,
    /// The sender blocked before it had sent.
    Waiting,
    /// The records do not show why neither ran.
    Unknown,
    /// The receiver is on a CPU, until it has the token.
    Receiving,
    /// One thread, which runs, is both ends: of two of its tasks, or of the time that it holds a lock.
    Running,
}

impl HopPart {
    /// The part that a hop which is slow for this reason is blamed on: waking a sleeping CPU
    /// holds up the sender as well.
    fn cause(self) -> Self {
        if self == Self::SendingToIdle { Self::Asleep } else { self }
    }
}

/// A piece of a hop, spent on one part.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub part: HopPart,
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
    /// The sender.
    pub from: Stop,
    /// The receiver.
    pub to: Stop,
    /// The pieces in order and without holes.
    pub pieces: Vec<Piece>,
}

impl Hop {
    pub fn ns(&self) -> u64 {
        self.to.at_ns - self.from.at_ns
    }
}

/// The usual and the longest times of several.
#[derive(Clone, Copy, Debug)]
pub struct Quantiles {
    pub median_ns: f64,
    /// The 99th percentile.
    pub p99_ns: f64,
}

impl Quantiles {
    pub fn new(times_ns: impl IntoIterator<Item = u64>) -> Self {
        let times_ns = sorted(&times_ns.into_iter().map(|ns| ns as f64).collect::<Vec<_>>());
        let quantile = |probability| quantile(&times_ns, probability).unwrap_or(0.0);
        Self { median_ns: quantile(0.5), p99_ns: quantile(0.99) }
    }
}

/// What all hops spent on one part.
#[derive(Clone, Copy, Debug)]
pub struct PartTime {
    pub part: HopPart,
    /// The quantiles over all hops, of which some spend nothing on it.
    pub quantiles: Quantiles,
    /// The part's share of the time of all laps, 0 to 1.
    pub share: f64,
}

/// Why a hop was slow.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// The part on which the hop spent most beyond the median.
    pub part: HopPart,
    /// The time that it spent on this part.
    pub ns: u64,
    /// The longest piece of that.
    pub longest: Piece,
}

/// A trace's hops, split into parts.
#[derive(Clone, Debug)]
pub struct Blame {
    pub trace: Trace,
    /// The hops of each lap.
    pub laps: Vec<Vec<Hop>>,
    /// The parts that occur.
    pub parts: Vec<PartTime>,
    /// Who had each CPU.
    pub turns: BTreeMap<u32, Vec<Turn>>,
    /// The tasks of each thread.
    pub tasks: BTreeMap<u32, BTreeSet<Option<u32>>>,
}

impl Blame {
    /// Splits every hop of `trace`.
    ///
    /// # Errors
    /// If the trace contradicts itself, or lacks a record or a switch that the kernel counted.
    pub fn new(trace: Trace) -> anyhow::Result<Self> {
        ensure!(
            trace.lost_records == 0,
            "{} records were lost: other programs switch too often, or a lap has too many hops \
             (fewer --tasks)",
            trace.lost_records
        );
        let mut laps = Vec::new();
        let mut turns = BTreeMap::<u32, Vec<Turn>>::new();
        let mut tasks = BTreeMap::<u32, BTreeSet<_>>::new();
        for batch in &trace.batches {
            let span = Span::new(batch, trace.whole_machine)?;
            for stops in &batch.laps {
                laps.push(span.lap(stops)?);
                for stop in stops {
                    tasks.entry(stop.tid).or_default().insert(stop.task);
                }
            }
            for (cpu, its_turns) in span.on_cpu {
                turns.entry(cpu).or_default().extend(its_turns);
            }
        }
        laps.retain(|hops| !hops.is_empty());
        ensure!(!laps.is_empty(), "the trace has no hops");
        Ok(Self { parts: parts(&laps), trace, laps, turns, tasks })
    }

    pub fn hops(&self) -> impl Iterator<Item = &Hop> {
        self.laps.iter().flatten()
    }

    /// How long a hop takes on average.
    pub fn mean_ns(&self) -> f64 {
        self.hops().map(Hop::ns).sum::<u64>() as f64 / self.hops().count() as f64
    }

    /// The cause of a hop's length; `None` if the hop has no pieces.
    pub fn cause(&self, hop: &Hop) -> Option<Cause> {
        let pieces = |cause| hop.pieces.iter().filter(move |piece| piece.part.cause() == cause);
        let spent_ns = |cause| pieces(cause).map(Piece::ns).sum::<u64>();
        let usual_ns = |cause| {
            let parts = self.parts.iter().filter(|time| time.part.cause() == cause);
            parts.map(|time| time.quantiles.median_ns).sum::<f64>()
        };
        let causes = hop.pieces.iter().map(|piece| piece.part.cause());
        let part = causes.max_by_key(|cause| {
            let ns = spent_ns(*cause);
            (ns.saturating_sub(usual_ns(*cause) as u64), ns, *cause)
        })?;
        let longest = *pieces(part).max_by_key(|piece| piece.ns())?;
        Some(Cause { part, ns: spent_ns(part), longest })
    }

    /// The hops of the lap of middle length.
    pub fn typical_lap(&self) -> &[Hop] {
        let mut laps: Vec<&Vec<Hop>> = self.laps.iter().collect();
        laps.sort_by_key(|hops| hops.iter().map(Hop::ns).sum::<u64>());
        laps[(laps.len() - 1) / 2]
    }
}

fn parts(laps: &[Vec<Hop>]) -> Vec<PartTime> {
    let hops: Vec<&Hop> = laps.iter().flatten().collect();
    let mut spent = BTreeMap::<HopPart, Vec<u64>>::new();
    for (index, hop) in hops.iter().enumerate() {
        for piece in &hop.pieces {
            spent.entry(piece.part).or_insert_with(|| vec![0; hops.len()])[index] += piece.ns();
        }
    }
    let whole: u64 = hops.iter().map(|hop| hop.ns()).sum();
    let part = |(part, spent): (HopPart, Vec<u64>)| {
        let share = spent.iter().sum::<u64>() as f64 / whole.max(1) as f64;
        PartTime { part, quantiles: Quantiles::new(spent), share }
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
    /// The start of the turn, or of the batch.
    pub from_ns: u64,
    /// The end of the turn, or of the batch.
    pub to_ns: u64,
    /// Whether the thread could have gone on.
    preempted: bool,
}

/// The turns of one batch, by thread and by CPU.
struct Span<'a> {
    batch: &'a Batch,
    whole_machine: bool,
    of_thread: BTreeMap<u32, Vec<Turn>>,
    on_cpu: BTreeMap<u32, Vec<Turn>>,
    /// The longest time in which a CPU switches from one thread of the process to the next. If
    /// other processes are not visible it is estimated: three times the median of short gaps.
    direct_ns: f64,
}

/// The turns of these that last within a range.
pub fn turns_within<'t>(turns: &'t [Turn], range: &Range<u64>) -> &'t [Turn] {
    let from = turns.partition_point(|turn| turn.to_ns <= range.start);
    let until = turns.partition_point(|turn| turn.from_ns < range.end);
    &turns[from.min(until)..until]
}

/// The turns next to a moment.
#[derive(Clone, Copy)]
struct Neighbours<'t> {
    /// The last turn that ended by then.
    ended: Option<&'t Turn>,
    /// The turn that lasts then.
    lasting: Option<&'t Turn>,
    /// The first turn that begins later.
    next: Option<&'t Turn>,
}

impl<'t> Neighbours<'t> {
    fn new(turns: &'t [Turn], at_ns: u64) -> Self {
        let ended = turns.partition_point(|turn| turn.to_ns <= at_ns);
        let begun = turns.partition_point(|turn| turn.from_ns <= at_ns);
        Self {
            ended: turns[..ended].last(),
            lasting: turns[ended.min(begun)..begun].last(),
            next: turns.get(begun),
        }
    }
}

impl<'a> Span<'a> {
    /// # Errors
    /// If the batch lacks a switch that the kernel counted.
    fn new(batch: &'a Batch, whole_machine: bool) -> anyhow::Result<Self> {
        let leaves = |switch: &&Switch| switch.own && switch.way != Direction::In;
        let recorded = batch.switches.iter().filter(leaves).count() as u64;
        let counted = batch.counted;
        ensure!(
            recorded == counted,
            "{recorded} switches were recorded, but the kernel counted {counted}"
        );
        let [mut of_thread, mut on_cpu] = [const { BTreeMap::<u32, Vec<Turn>>::new() }; 2];
        for turn in turns(batch) {
            of_thread.entry(turn.tid).or_default().push(turn);
            on_cpu.entry(turn.cpu).or_default().push(turn);
        }
        let pairs = on_cpu.values().flat_map(|turns| turns.array_windows());
        let gaps = pairs.map(|[one, next]| next.from_ns.saturating_sub(one.to_ns));
        // Of a CPU that sleeps between any two threads, all are long.
        let direct_ns = 3.0 * Quantiles::new(gaps.filter(|ns| *ns < 5_000)).median_ns;
        Ok(Self { batch, whole_machine, of_thread, on_cpu, direct_ns })
    }

    fn turns_of_thread(&self, tid: u32) -> &[Turn] {
        self.of_thread.get(&tid).map_or(&[], Vec::as_slice)
    }

    fn turns_on_cpu(&self, cpu: u32) -> &[Turn] {
        self.on_cpu.get(&cpu).map_or(&[], Vec::as_slice)
    }

    /// The hops between these stops.
    ///
    /// # Errors
    /// If they are not in order, or not in the span.
    fn lap(&self, stops: &[Stop]) -> anyhow::Result<Vec<Hop>> {
        let mut hops = Vec::<Hop>::new();
        for [from, to] in stops.array_windows() {
            let Batch { begun_ns, ended_ns, .. } = *self.batch;
            ensure!(
                [begun_ns, from.at_ns, to.at_ns, ended_ns].is_sorted(),
                "a lap of the trace is not in order, or was not recorded"
            );
            let pieces = self.split(from, to);
            match hops.last_mut() {
                // Its holder releases a lock, which no task has yet.
                Some(before) if from.task.is_none() => {
                    before.to = *to;
                    before.pieces.extend(pieces);
                }
                _ => hops.push(Hop { from: *from, to: *to, pieces }),
            }
        }
        Ok(hops)
    }

    /// The pieces between two stops.
    fn split(&self, from: &Stop, to: &Stop) -> Vec<Piece> {
        let whole = from.at_ns..to.at_ns;
        let sent = turns_within(self.turns_of_thread(from.tid), &whole);
        let taken = turns_within(self.turns_of_thread(to.tid), &whole);
        let cpus = sent.iter().chain(taken).map(|turn| turn.cpu);
        let turns = cpus.flat_map(|cpu| turns_within(self.turns_on_cpu(cpu), &whole));
        let ends =
            turns.flat_map(|turn| [turn.from_ns, turn.to_ns]).chain([whole.start, whole.end]);
        let cuts: BTreeSet<u64> = ends.map(|at| at.clamp(whole.start, whole.end)).collect();
        // Before it last blocked, the receiver worked for an earlier token.
        let waits = taken.iter().rfind(|turn| turn.to_ns < whole.end && !turn.preempted);
        let waits = waits.map_or(whole.start, |turn| turn.to_ns);
        let mut pieces = Vec::<Piece>::new();
        for (from_ns, to_ns) in cuts.iter().copied().zip(cuts.iter().copied().skip(1)) {
            let piece = self.piece(from, to, from_ns..to_ns, waits);
            match pieces.last_mut() {
                Some(before) if before.part == piece.part && before.by == piece.by => {
                    before.to_ns = to_ns;
                }
                _ => pieces.push(piece),
            }
        }
        pieces
    }

    /// The piece of a hop in a range in which no thread concerned takes or leaves a CPU.
    fn piece(&self, from: &Stop, to: &Stop, at: Range<u64>, waits: u64) -> Piece {
        // A thread that never switches runs all the time.
        let runs = |tid: u32| {
            let turns = self.turns_of_thread(tid);
            turns.is_empty() || Neighbours::new(turns, at.start).lasting.is_some()
        };
        let sends = runs(from.tid);
        let takes = runs(to.tid);
        let piece = |part, stop: &Stop| Piece {
            part,
            from_ns: at.start,
            to_ns: at.end,
            cpu: stop.cpu,
            by: Some(stop.tid),
        };
        if sends && from.tid == to.tid {
            piece(HopPart::Running, from)
        } else if takes && (at.start >= waits || !sends) {
            piece(HopPart::Receiving, to)
        } else if sends {
            let next = Neighbours::new(self.turns_of_thread(to.tid), at.start).next;
            let is_idle = next.is_some_and(|next| self.running(next.cpu, at.start) == Some(0));
            piece(if is_idle { HopPart::SendingToIdle } else { HopPart::Sending }, from)
        } else {
            self.gap(from, to, at)
        }
    }

    /// The thread that has a CPU at this moment.
    fn running(&self, cpu: u32, at_ns: u64) -> Option<u32> {
        let lasting = Neighbours::new(self.turns_on_cpu(cpu), at_ns).lasting?;
        Some(lasting.tid)
    }

    /// The piece of a hop in a range in which neither sender nor receiver had a CPU. It lasts until
    /// one of them takes one: the awaited thread.
    fn gap(&self, from: &Stop, to: &Stop, at: Range<u64>) -> Piece {
        let sender = Neighbours::new(self.turns_of_thread(from.tid), at.start);
        let receiver = Neighbours::new(self.turns_of_thread(to.tid), at.start);
        let comes = |next: Option<&Turn>| next.map_or(u64::MAX, |turn| turn.from_ns);
        let is_sender = comes(sender.next) < comes(receiver.next);
        let awaited = if is_sender { sender } else { receiver };
        let left = awaited.ended.filter(|turn| turn.preempted);
        let is_ready = left.is_some();
        // A preempted thread stays queued on its CPU, unless the kernel moves it.
        let stays =
            left.filter(|left| self.running(left.cpu, at.start).is_some_and(|tid| tid != 0));
        let cpu = stays.or(awaited.next).map_or(to.cpu, |turn| turn.cpu);
        let on_cpu = Neighbours::new(self.turns_on_cpu(cpu), at.start);
        let before = on_cpu.ended;
        let by = on_cpu.lasting.map(|turn| turn.tid);
        let length = at.end - at.start;
        let is_short = length <= LONGEST_WAKING;
        let is_off = before.is_some_and(|turn| turn.preempted);
        let is_direct =
            length as f64 <= self.direct_ns && before.is_some_and(|turn| turn.to_ns == at.start);
        let part = match by {
            None if is_direct || (self.whole_machine && is_short) => HopPart::Switching,
            None if self.whole_machine => HopPart::Unknown,
            None if is_ready || is_off => HopPart::Preempted,
            _ if is_sender && !is_ready && is_short => HopPart::Waiting,
            _ if is_sender && !is_ready => HopPart::Unknown,
            Some(0) if is_short && !is_ready => HopPart::Asleep,
            Some(0) | None => HopPart::Unknown,
            Some(_) if is_ready => HopPart::Preempted,
            Some(_) => HopPart::Queued,
        };
        Piece { part, from_ns: at.start, to_ns: at.end, cpu, by }
    }
}

/// The turns within a batch, by start.
fn turns(batch: &Batch) -> Vec<Turn> {
    let mut turns = Vec::new();
    let mut on_cpu = BTreeMap::<u32, Turn>::new();
    for Switch { at_ns, cpu, tid, way, .. } in batch.switches.iter().copied() {
        let preempted = way == Direction::Preempted;
        let turn = Turn { cpu, tid, from_ns: at_ns, to_ns: batch.ended_ns, preempted };
        if way == Direction::In {
            if let Some(before) = on_cpu.insert(cpu, turn) {
                turns.push(Turn { to_ns: at_ns, ..before });
            }
        } else {
            // A thread without a recorded arrival ran when the batch began.
            let from_ns = on_cpu.remove(&cpu).map_or(batch.begun_ns, |came| came.from_ns);
            turns.push(Turn { from_ns, to_ns: at_ns, ..turn });
        }
    }
    turns.extend(on_cpu.into_values());
    turns.sort_by_key(|turn| turn.from_ns);
    turns
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::HopPart::*;
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
        let batch = Batch {
            begun_ns: 0,
            ended_ns: 10_000_000,
            counted: switches.iter().filter(leaves).count() as u64,
            laps: laps.iter().map(|stops| stops.to_vec()).collect(),
            switches: switches.to_vec(),
        };
        Trace { whole_machine, batches: vec![batch], ..Trace::default() }
    }

    fn parts(trace: &Trace) -> Vec<(HopPart, u64)> {
        let blame = Blame::new(trace.clone()).expect("a consistent trace");
        blame.laps[0][0].pieces.iter().map(|piece| (piece.part, piece.ns())).collect()
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
        let queued = [(Queued, 55), (Switching, 5)];
        let preempted = [(Preempted, 55), (Switching, 5)];
        // The stops, the switches, whether all are seen, and the gap.
        type Case<'a> = ([Stop; 2], &'a [Switch], bool, &'a [(HopPart, u64)]);
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

    /// A holder, preempted by another process, releases its lock 60 ns later; the thread that it woke
    /// has it after 40 more.
    #[test]
    fn a_hold_and_the_wait_after_it_are_one_hop() {
        let switches = [
            switch(BEGUN + 10, 0, 1, Off),
            switch(BEGUN + 10, 0, 77, In),
            switch(BEGUN + 50, 0, 77, Off),
            switch(BEGUN + 50, 0, 1, In),
            switch(BEGUN + 75, 0, 1, Out),
            switch(BEGUN + 75, 0, 2, In),
        ];
        let released = Stop { task: None, ..stop(BEGUN + 60, 0, 1) };
        let stops = [stop(BEGUN, 0, 1), released, stop(BEGUN + 100, 0, 2)];
        let held = [(Running, 10), (Preempted, 40), (Running, 10)];
        let expected = [&held[..], &[(Sending, 15), (Receiving, 25)]].concat();
        assert_eq!(parts(&trace(&[&stops], &switches, true)), expected);
    }

    #[test]
    fn a_trace_that_contradicts_itself_is_refused() {
        let hop = [stop(BEGUN, 0, 1), stop(BEGUN + 100, 0, 2)];
        let whole = trace(&[&hop], &[switch(BEGUN + 30, 0, 1, Out)], true);
        let mut missing = whole.clone();
        missing.batches[0].switches.clear();
        assert!(Blame::new(whole).is_ok());
        let late = trace(&[&[hop[0], stop(10_000_001, 0, 2)]], &[], true);
        let backwards = trace(&[&[hop[1], hop[0]]], &[], true);
        for broken in [missing, late, backwards, trace(&[], &[], true)] {
            assert!(Blame::new(broken.clone()).is_err(), "{broken:?}");
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
            let blame = Blame::new(trace).expect("it is consistent");
            let pieces = &blame.laps[0][0].pieces;
            prop_assert_eq!(pieces[0].from_ns, BEGUN);
            prop_assert_eq!(pieces.last().expect("a piece").to_ns, BEGUN + 100);
            prop_assert!(pieces.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
            let shares: f64 = blame.parts.iter().map(|time| time.share).sum();
            prop_assert!((shares - 1.0).abs() < 1e-9);
        }
    }
}
