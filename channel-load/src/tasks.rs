//! Producers, consumers, and what they share.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use anyhow::ensure;
use harness::async_tasks::caught;
use harness::crew::Member;
use harness::rounds::{Purpose, Round};
use harness::samples::Samples;
use harness::work::spend;
use harness::{Apart, Blocks, Measured, clock};
use tokio::sync::Semaphore;

use crate::Flags;
use crate::message::{Message, closed};

/// Messages in an iteration of a closed loop.
const BLOCK: u64 = 16_384;

/// Messages for which a producer takes credit at a time.
pub const CREDIT: u64 = 1024;

/// What the tasks share.
///
/// Producers leave with `AcqRel`: otherwise the last one's end marks could overtake another producer's
/// last messages in a channel that keeps no order between producers, and consumers would miss these.
#[derive(Debug)]
pub struct Shared {
    /// The program's flags.
    pub flags: Flags,
    /// The iterations of a closed loop.
    blocks: Blocks,
    /// Producers that have not left this round.
    sending: Apart<AtomicUsize>,
    /// Credit for messages under way, if it bounds them.
    credit: Option<Semaphore>,
}

impl Shared {
    /// What the tasks of a run share.
    pub fn new(flags: &Flags) -> Self {
        let lots = u64::from(flags.producers + flags.consumers);
        Self {
            flags: flags.clone(),
            blocks: Blocks::new(BLOCK, "message"),
            sending: Apart::default(),
            // Consumers return theirs in whole lots, so each may keep almost one until its round ends.
            credit: flags.has_credit().then(|| Semaphore::new((lots * CREDIT) as usize)),
        }
    }

    /// Prepares it for a round.
    pub fn begin(&self) {
        self.blocks.clear();
        self.sending.0.store(self.flags.producers as usize, Relaxed);
    }

    /// The iterations of a closed loop, and the mean time from one message to the next of each
    /// producer and of each consumer.
    pub fn samples(&self, sent: &[Tally], received: &[Tally]) -> Vec<Samples> {
        let turns = |name, tallies: &[Tally]| {
            self.blocks.turns(name, tallies.iter().map(|tally| tally.messages))
        };
        vec![self.blocks.samples(), turns("producer", sent), turns("consumer", received)]
    }

    /// Takes credit for so many messages.
    async fn take_credit(&self, messages: u64) -> io::Result<()> {
        if let Some(credit) = &self.credit {
            credit.acquire_many(messages as u32).await.map_err(|_| closed())?.forget();
        }
        Ok(())
    }

    fn return_credit(&self, messages: u64) {
        if let Some(credit) = &self.credit {
            credit.add_permits(messages as usize);
        }
    }

    /// Counts what a consumer has received, and returns credit for it: called after each lot of either kind.
    #[inline(never)]
    fn end_lot(&self, round: &Round, received: u64, credited: &mut u64) {
        if received.is_multiple_of(CREDIT) {
            self.return_credit(received - *credited);
            *credited = received;
        }
        let lot = self.flags.lot;
        if round.rate.is_none() && received.is_multiple_of(lot) {
            self.blocks.count(round, lot);
        }
    }
}

/// What a task did in a round.
#[derive(Debug, Default)]
pub struct Tally {
    /// Its number among producers; `None` of a consumer.
    pub producer: Option<usize>,
    /// Messages that it sent or received.
    pub messages: u64,
    /// Of a producer: messages that were due before it waited for their times.
    pub missed: u64,
    /// Of a producer: the time from when messages were due until it began to send them, summed, in
    /// nanoseconds.
    pub late_ns: u64,
    /// Of a consumer in an open loop: the times from when messages were due until it received them.
    pub late: Option<Box<Samples>>,
    /// Of a consumer in an open loop: when it received the last one.
    pub last_ns: u64,
    /// Of a consumer: the messages of each producer.
    seen: Vec<Seen>,
    /// Of a consumer: whether one overtook another of its producer.
    is_mixed_up: bool,
}

impl Tally {
    /// Notes how late a consumer received the message with this number in all.
    #[inline(never)]
    fn note_late(&mut self, round: &Round, message: u64) {
        self.last_ns = clock::now();
        if let Some(late) = &mut self.late {
            late.add(self.last_ns.saturating_sub(round.due_ns(message)));
        }
    }
}

/// The messages of one producer that a consumer has seen, within a cache line of any CPU.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Seen {
    last: u64,
    count: u64,
    sum: u64,
}

/// Checks that every message was received once, and those of a producer by each consumer in order.
///
/// # Errors
/// If not.
pub fn verify(sent: &[Tally], received: &[Tally]) -> anyhow::Result<()> {
    for Tally { producer, messages, .. } in sent {
        let producer = producer.unwrap_or_default();
        let seen = || received.iter().map(|consumer| consumer.seen[producer]);
        let count: u64 = seen().map(|seen| seen.count).sum();
        let sum = seen().fold(0, |sum: u64, seen| sum.wrapping_add(seen.sum));
        ensure!(
            count == *messages,
            "producer {producer} sent {messages} messages, but {count} were received"
        );
        let expected = u128::from(*messages) * u128::from(messages + 1) / 2;
        ensure!(
            sum == expected as u64,
            "producer {producer} sent {messages} messages; as many were received, but some twice and \
             others not at all"
        );
    }
    let is_mixed_up = received.iter().any(|consumer| consumer.is_mixed_up);
    ensure!(!is_mixed_up, "a consumer received the messages of one producer out of order");
    Ok(())
}

/// A task that sends.
pub struct Producer {
    /// Its number among producers.
    pub number: usize,
    /// Where it sends.
    pub outlet: Box<dyn Sends>,
    /// What all tasks share.
    pub shared: Arc<Shared>,
}

impl Producer {
    /// The producer's main function, until the run is over.
    ///
    /// # Errors
    /// If sending fails.
    pub async fn live(mut self, mut member: Member<Tally>) -> io::Result<()> {
        while let Some(round) = member.next().await {
            let sent = caught(self.send(&round)).await;
            // Whatever happened: consumers wait for their end marks.
            let is_last = self.shared.sending.0.fetch_sub(1, AcqRel) == 1;
            let ended = if is_last { self.end().await } else { Ok(()) };
            let sent = sent?;
            ended?;
            member.finish(sent);
        }
        Ok(())
    }

    async fn send(&mut self, round: &Round) -> io::Result<Tally> {
        if round.rate.is_some() { self.keep_pace(round).await } else { self.compete(round).await }
    }

    /// A closed loop.
    async fn compete(&mut self, round: &Round) -> io::Result<Tally> {
        let Self { number: producer, outlet, shared } = self;
        shared.blocks.begin(round, shared.flags.runtime.runtime).await?;
        let mut sent = 0;
        while !round.is_over() {
            shared.take_credit(CREDIT).await?;
            let until = if shared.credit.is_some() { sent + CREDIT } else { u64::MAX };
            let batch = Batch { producer: Some(*producer), sent, until, round: Some(round) };
            sent = outlet.send(batch).await?;
            shared.return_credit(until - sent);
        }
        Ok(Tally { producer: Some(*producer), messages: sent, ..Tally::default() })
    }

    /// An open loop: message k is due at k / rate, and belongs to producer k modulo their number.
    async fn keep_pace(&mut self, round: &Round) -> io::Result<Tally> {
        let Self { number: producer, outlet, shared } = self;
        let Flags { producers, runtime, .. } = shared.flags;
        let mut tally = Tally { producer: Some(*producer), ..Tally::default() };
        let mut credit = 0;
        for message in (*producer as u64..round.most()).step_by(producers as usize) {
            let due_ns = round.due_ns(message);
            let Some(ran) = round.wait_in(runtime.runtime, due_ns).await? else { break };
            if credit == 0 {
                shared.take_credit(CREDIT).await?;
                credit = CREDIT;
            }
            credit -= 1;
            let sent = tally.messages;
            let batch = Batch { producer: Some(*producer), sent, until: sent + 1, round: None };
            tally.messages = outlet.send(batch).await?;
            tally.missed += u64::from(!ran.waited);
            tally.late_ns += ran.at_ns - due_ns;
        }
        shared.return_credit(credit);
        Ok(tally)
    }

    /// Ends a round: sends an end mark for each consumer, behind all messages.
    async fn end(&mut self) -> io::Result<()> {
        let until = self.shared.flags.consumers.into();
        self.outlet.send(Batch { producer: None, sent: 0, until, round: None }).await?;
        Ok(())
    }
}

/// Messages being sent or received; the result is the number of the last one. It is boxed once a round,
/// a lot of credit, or in an open loop a message.
pub type Transfer<'a> = Pin<Box<dyn Future<Output = io::Result<u64>> + Send + 'a>>;

/// What a producer does with its end.
pub trait Sends: Send {
    /// Sends messages of the first producer until there is no room, and returns how many.
    fn fill(&mut self) -> u64;

    /// Sends messages, and returns the number of the last one.
    fn send<'a>(&'a mut self, batch: Batch<'a>) -> Transfer<'a>;
}

/// What a consumer does with its end.
pub trait Receives: Send {
    /// Receives until an end mark, and returns the number of messages before it, with the head start.
    fn receive<'a>(&'a mut self, receipt: &'a mut Receipt<'_>) -> Transfer<'a>;
}

/// Messages that are sent one after the other.
pub struct Batch<'a> {
    /// Their producer; `None` of end marks.
    pub producer: Option<usize>,
    /// The number of the last message before them.
    pub sent: u64,
    /// The number of the last one.
    pub until: u64,
    /// The round that ends them early.
    pub round: Option<&'a Round>,
}

impl Batch<'_> {
    /// The message with this number, unless they have ended.
    #[inline]
    pub fn message<const W: usize>(&self, number: u64) -> Option<Message<W>> {
        let have_ended = number > self.until || self.round.is_some_and(Round::is_over);
        (!have_ended).then(|| Message::new(self.producer, number))
    }
}

/// A task that receives.
pub struct Consumer {
    inlet: Box<dyn Receives>,
    shared: Arc<Shared>,
    /// How much of its first lot it has when a round begins.
    head_start: u64,
    /// Memory for the times of an open loop, allocated before the first round.
    late: Option<Box<Samples>>,
}

impl Consumer {
    /// The consumer with this number among consumers, and where it receives.
    pub fn new(number: usize, inlet: Box<dyn Receives>, shared: &Arc<Shared>) -> Self {
        let Flags { consumers, lot, rate, .. } = shared.flags;
        let late = rate.map(|_| Box::new(Samples::new(Measured::single("message", "message"))));
        let head_start = Blocks::head_start(number, consumers as usize, lot);
        Self { inlet, shared: Arc::clone(shared), head_start, late }
    }

    /// The consumer's main function, until the run is over.
    ///
    /// # Errors
    /// If receiving fails.
    pub async fn live(mut self, mut member: Member<Tally>) -> io::Result<()> {
        while let Some(round) = member.next().await {
            let received = caught(self.receive(&round)).await;
            if received.is_err()
                && let Some(credit) = &self.shared.credit
            {
                // Producers would wait for what this task does not return.
                credit.close();
            }
            let mut tally = received?;
            if round.purpose == Purpose::Warmup {
                self.late = tally.late.take();
                if let Some(late) = &mut self.late {
                    late.clear();
                }
            }
            member.finish(tally);
        }
        Ok(())
    }

    /// Receives until the round's end mark.
    async fn receive(&mut self, round: &Round) -> io::Result<Tally> {
        let late = self.late.take();
        let mut receipt = Receipt::new(&self.shared, round, self.head_start, late);
        let received = self.inlet.receive(&mut receipt).await?;
        self.shared.return_credit(received - receipt.credited);
        Ok(Tally { messages: received - self.head_start, ..receipt.tally })
    }
}

/// What a consumer receives in a round.
pub struct Receipt<'a> {
    shared: &'a Shared,
    round: &'a Round,
    /// Units of work for each message.
    work: u64,
    /// The number of messages with which it begins.
    pub before: u64,
    /// The number of messages for which it has returned credit.
    credited: u64,
    /// A lot of one kind or the other ends where these bits of the number of messages are 0.
    lot_bits: u64,
    /// What it received.
    pub tally: Tally,
}

impl<'a> Receipt<'a> {
    /// Nothing so far, but for a head start. `late` is memory for the times of an open loop.
    pub fn new(
        shared: &'a Shared,
        round: &'a Round,
        before: u64,
        late: Option<Box<Samples>>,
    ) -> Self {
        let tally = Tally {
            seen: vec![Seen::default(); shared.flags.producers as usize],
            late,
            last_ns: round.begin_ns,
            ..Tally::default()
        };
        let Flags { work, lot, .. } = shared.flags;
        // Both are powers of two.
        Self { shared, round, work, before, credited: before, lot_bits: lot.min(CREDIT) - 1, tally }
    }

    /// Counts a message, and spends its work. Returns `false` of an end mark.
    #[inline]
    pub fn take<const W: usize>(&mut self, received: u64, message: Message<W>) -> bool {
        let Some((producer, number)) = message.content() else { return false };
        let Self { shared, round, work, lot_bits, tally, credited, .. } = self;
        let seen = &mut tally.seen[producer];
        if number <= seen.last {
            tally.is_mixed_up = true;
        }
        seen.last = number;
        seen.count += 1;
        seen.sum = seen.sum.wrapping_add(number);
        if tally.late.is_some() {
            tally.note_late(
                round,
                (number - 1) * u64::from(shared.flags.producers) + producer as u64,
            );
        }
        if *work > 0 {
            spend(*work);
        }
        if received & *lot_bits == 0 {
            shared.end_lot(round, received, credited);
        }
        true
    }
}
