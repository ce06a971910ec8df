//! The rounds of a run, and what they record.

use std::sync::Arc;

use anyhow::Context as _;
use harness::crew::Crew;
use harness::flags::name;
use harness::record::{ChannelLoad, ScheduleKept};
use harness::rounds::{Purpose, Round};
use harness::samples::Samples;
use harness::{Bench, Fact, Measured};

use crate::tasks::{Shared, Tally, verify};

/// Runs the tasks and their rounds.
pub struct Driver {
    /// Has the rounds.
    pub bench: Bench,
    /// What the tasks share.
    pub shared: Arc<Shared>,
    /// How many messages fit into a channel.
    pub fits: Option<u64>,
}

impl Driver {
    /// Runs all rounds.
    ///
    /// # Errors
    /// If a task fails, or messages are not received as they were sent.
    pub async fn drive(&self, crew: &mut Crew<Tally>) -> anyhow::Result<()> {
        let Self { bench, shared, .. } = self;
        let flags = &shared.flags;
        for round in bench.rounds(flags.rate).announced_to(bench.tasks()) {
            shared.begin();
            let tallies = crew.run(&round).await?.into_iter();
            let (sent, received): (Vec<Tally>, Vec<Tally>) =
                tallies.partition(|tally| tally.producer.is_some());
            let of_channel = || format!("--channel {}", name(&flags.channel));
            verify(&sent, &received).with_context(of_channel)?;
            self.report(&round, &sent, &received)?;
        }
        Ok(())
    }

    /// Stores what the tasks measured in a round.
    fn report(&self, round: &Round, sent: &[Tally], received: &[Tally]) -> anyhow::Result<()> {
        let Self { bench, shared, fits } = self;
        if round.purpose == Purpose::Warmup && round.rate.is_some() {
            return round.finish(Vec::new(), None);
        }
        let messages = sent.iter().map(|one| one.messages).sum();
        let mut load = ChannelLoad { capacity: *fits, messages, mean_length: None };
        let mut kept = None;
        let mut samples;
        if shared.flags.rate.is_some() {
            let missed = sent.iter().map(|one| one.missed).sum();
            kept = Some(ScheduleKept { missed, called_late: None });
            let late_ns = sent.iter().map(|one| one.late_ns).sum();
            let (late, mean_length) = lateness(round, received, late_ns);
            load.mean_length = mean_length;
            samples = vec![late];
        } else {
            samples = shared.samples(sent, received);
        }
        let has_iterations = samples.first().is_some_and(|principal| principal.count() > 0);
        if round.purpose == Purpose::Measured && has_iterations {
            bench.report(Fact::Operations(messages));
            bench.report(Fact::Channel(load));
            samples.extend(self.cpu(messages));
        }
        round.finish(samples, kept)
    }

    /// The CPU time of a message, unless tasks waited by yielding.
    fn cpu(&self, messages: u64) -> Option<Samples> {
        let flags = &self.shared.flags;
        if flags.rate.is_some() && !flags.runtime.are_threads() {
            self.bench.report(Fact::UnknownCpu);
            return None;
        }
        let used = self.bench.used()?;
        let measured = Measured { operations: messages, ..Measured::single("cpu", "message") };
        let mut cpu = Samples::new(measured);
        cpu.add(used.cpu_ns());
        Some(cpu)
    }
}

/// The times of all messages of an open loop, and the mean number of messages under way. `late_ns` is
/// the sum of how late they were sent.
fn lateness(round: &Round, received: &[Tally], late_ns: u64) -> (Samples, Option<f64>) {
    let mut all = Samples::new(Measured::single("message", "message"));
    let ended_ns = received.iter().map(|one| one.last_ns).max().unwrap_or(0);
    for late in received.iter().filter_map(|one| one.late.as_deref()) {
        all.merge(late);
    }
    let time_ns = ended_ns.saturating_sub(round.begin_ns) as f64;
    let mean_length = match all.measurement(1) {
        Some(found) if time_ns > 0.0 => {
            let under_way_ns = found.mean_ns * found.count as f64 - late_ns as f64;
            Some(under_way_ns.max(0.0) / time_ns)
        }
        _ => None,
    };
    (all, mean_length)
}
