//! `brigade impact`: estimates whether switches matter to a program, from their number and their
//! cost on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use harness::counters::Counters;
use harness::cpus;
use harness::process_stat::ProcessStat;
use harness::system_files::{SystemFiles, field};
use harness::usage::{Span, Start, children_of};

use crate::commands::flags::ImpactFlags;
use crate::commands::{output, report};
use crate::exit::{Exit, UsageError};
use crate::judge::impact::{Costs, Impact, SwitchCost, Used};
use crate::manifest::{ImpactPlan, Manifest};
use crate::measure::signals::Signals;
use crate::show;
use crate::show::verdict::{Verdict, verdict};
use crate::store::environment::Environment;
use crate::store::saved_run::SavedRun;

/// Runs `brigade impact`.
///
/// # Errors
/// If the flags are wrong, there is no run of this machine, or the program cannot be started or
/// watched.
pub fn impact(flags: &ImpactFlags) -> anyhow::Result<Exit> {
    let manifest = Manifest::load(flags.manifest.as_deref())?;
    if flags.pid.is_none() && flags.command.is_empty() {
        let which = "impact: name a process, --pid PID, or a command, -- COMMAND";
        return Err(UsageError(which.to_owned()).into());
    }
    let Some(plan) = &manifest.impact else {
        return Err(UsageError("impact: suite.toml has no [impact]".to_owned()).into());
    };
    if let Some(pid) = flags.pid {
        let exists = Path::new(&format!("/proc/{pid}")).exists();
        ensure!(exists, "--pid {pid}: there is no such process");
    }
    let prices = prices(flags, &manifest, plan)?;
    let mut signals = Signals::register().context("setting up signal handlers")?;
    signals.defer_stops();
    let (used, failed) = match flags.pid {
        Some(pid) => (watch(pid, Duration::from_secs_f64(flags.time), &mut signals)?, None),
        None => run_command(&flags.command)?,
    };
    let impact = Impact::of(used, prices.run, prices.costs, prices.disturbed);
    let json = || anyhow::Ok(serde_json::to_string(&impact)? + "\n");
    output::print(&if flags.json { json()? } else { show::text::impact(&impact) })?;
    if let Some(status) = failed {
        output::warn(&format!("{}: {status}", flags.command.join(" ")));
    }
    // Ctrl-C also ends the command.
    Ok(match failed {
        _ if signals.stops() > 0 => Exit::Interrupted,
        Some(_) => Exit::Failed,
        None => Exit::Done,
    })
}

/// Counts what a process uses for this long, or until a signal.
fn watch(pid: u32, seconds: Duration, signals: &mut Signals) -> anyhow::Result<Used> {
    let folder = format!("/proc/{pid}");
    let cpus = cpus::allowed().context("reading the CPUs that this process may use")?;
    let threads = || fs::read_dir(format!("{folder}/task")).map_or(0, Iterator::count);
    let began = Instant::now();
    let start = Start::of_process(pid, &cpus);
    let (threads, seen) = watching(pid, || {
        signals.sleep_until(began + seconds);
        threads()
    });
    let wall = began.elapsed();
    let Some(span) = start.end() else {
        bail!(
            "--pid {pid}: the process ended while it was watched; start it with brigade impact -- \
             COMMAND"
        );
    };
    Ok(used(&span, wall, threads.min(cpus.len()), &seen))
}

/// Runs a command and counts what it uses. Returns its status if that is not 0.
fn run_command(command: &[String]) -> anyhow::Result<(Used, Option<ExitStatus>)> {
    let (program, arguments) = command.split_first().context("a command has a program")?;
    let at_once = cpus::allowed().context("reading the CPUs that this process may use")?.len();
    let before = Counters::of_children();
    let began = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .spawn()
        .with_context(|| format!("starting {program}"))?;
    let ended = watching(child.id(), || child.wait().map(|status| (status, began.elapsed())));
    let (ended, seen) = ended;
    let (status, wall) = ended.with_context(|| format!("waiting for {program}"))?;
    let span = Span { used: Counters::of_children().since(before), ..Span::default() };
    Ok((used(&span, wall, at_once, &seen), (!status.success()).then_some(status)))
}

/// How often to look at the threads of a process and its children.
const EVERY: Duration = Duration::from_millis(20);

/// Switches, by the CPU that their threads were seen on.
#[derive(Debug, Default)]
struct Seen {
    /// For each thread: all its switches so far, and its CPU.
    threads: BTreeMap<u32, (u64, u32)>,
    by_cpu: BTreeMap<u32, u64>,
    /// Switches of threads that moved to another CPU meanwhile.
    moved: u64,
}

impl Seen {
    fn look(&mut self, pid: u32) {
        let files = SystemFiles::live();
        for thread in files.names(&format!("proc/{pid}/task")) {
            let folder = format!("proc/{pid}/task/{thread}");
            let status = files.text(&format!("{folder}/status")).unwrap_or_default();
            let counts = ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"]
                .map(|name| field(&status, name).and_then(|count| count.parse().ok()).unwrap_or(0));
            if let (Some(stat), Ok(thread)) = (ProcessStat::read(&files, &folder), thread.parse()) {
                self.count(thread, counts.iter().sum(), stat.cpu);
            }
        }
        children_of(pid).into_iter().for_each(|child| self.look(child));
    }

    fn count(&mut self, thread: u32, switches: u64, cpu: u32) {
        let (before, last) = self.threads.insert(thread, (switches, cpu)).unwrap_or((0, cpu));
        let more = switches.saturating_sub(before);
        if last == cpu {
            *self.by_cpu.entry(cpu).or_default() += more;
        } else {
            self.moved += more;
        }
    }

    /// Upper bound on the share of `switches` that crossed CPUs: each one off the busiest CPU may
    /// have come from there and gone back. `None` if most switches were not seen.
    fn crossing(&self, switches: u64) -> Option<f64> {
        let most = self.by_cpu.values().copied().max().unwrap_or(0);
        let seen = self.by_cpu.values().sum::<u64>() + self.moved;
        let unseen = switches.saturating_sub(seen);
        let elsewhere = 2 * (seen - self.moved - most) + self.moved + unseen;
        (unseen * 2 <= switches).then(|| (elsewhere as f64 / switches.max(1) as f64).min(1.0))
    }
}

/// Runs `body` and watches the threads of a process meanwhile.
fn watching<T>(pid: u32, body: impl FnOnce() -> T) -> (T, Seen) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut seen = Seen::default();
            // Switches from before do not count.
            seen.look(pid);
            (seen.by_cpu, seen.moved) = (BTreeMap::new(), 0);
            while !over.load(Relaxed) {
                thread::sleep(EVERY);
                seen.look(pid);
            }
            seen
        });
        let done = body();
        over.store(true, Relaxed);
        (done, looking.join().expect("no panic"))
    })
}

fn used(span: &Span, wall: Duration, at_once: usize, seen: &Seen) -> Used {
    Used {
        wall_ns: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        cpu_ns: span.used.user_ns + span.used.system_ns,
        voluntary: span.used.voluntary,
        involuntary: span.used.involuntary,
        migrations: span.migrations,
        run_delay_ns: span.waited.run_delay_ns,
        at_once: at_once as u64,
        crossing: seen.crossing(span.used.voluntary + span.used.involuntary),
    }
}

/// The cost of switches in one run.
struct Prices {
    run: String,
    costs: Costs,
    /// What disturbed that run.
    disturbed: Option<String>,
}

/// The named run, or else this machine's latest, undisturbed if possible.
fn prices(flags: &ImpactFlags, manifest: &Manifest, plan: &ImpactPlan) -> anyhow::Result<Prices> {
    let cases: Vec<&str> = plan.cases().map(|(_, case)| case.as_str()).collect();
    let needed = format!("brigade run '{}'", cases.join("' '"));
    let of_run = |folder: PathBuf| {
        let report = report::report_of(manifest, &folder)?;
        let run = &report.run;
        let cost = |(key, case): (_, &String)| Some((key, SwitchCost::of(&report, case)?));
        let costs: Costs = plan.cases().filter_map(cost).collect();
        let Verdict { is_good, text, .. } = verdict(run);
        let disturbed = (!is_good).then_some(text);
        let is_enough = costs.contains_key("lowest") && costs.contains_key("highest");
        anyhow::Ok(is_enough.then(|| Prices { run: run.name.clone(), costs, disturbed }))
    };
    let label = Environment::capture(manifest)?.label();
    if let Some(folder) = &flags.run {
        let name = folder.display();
        let found = of_run(folder.clone())?.with_context(|| {
            format!("--run {name}: it has not measured all cases needed: {needed}")
        })?;
        let its = SavedRun::read(folder)?.environment.label();
        if its != label {
            output::warn(&format!("--run {name}: it is of another machine, {its}, not {label}"));
        }
        return Ok(found);
    }
    let parent = manifest.results();
    let mut latest = None;
    for folder in SavedRun::latest_first(&parent, Some(&label)) {
        match of_run(folder)? {
            Some(prices) if prices.disturbed.is_none() => return Ok(prices),
            found => latest = latest.or(found),
        }
    }
    let parent = parent.display();
    latest.with_context(|| {
        format!(
            "{parent} contains no run of this machine, {label}, with the cases needed: {needed}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_count_for_the_cpu_that_their_thread_stays_on() {
        let mut seen = Seen::default();
        seen.count(1, 100, 0);
        seen.count(2, 300, 1);
        assert_eq!(seen.crossing(400), Some(0.5));
        // The other direction: thread 1 moves to the CPU of thread 2.
        seen.count(1, 150, 1);
        seen.count(2, 350, 1);
        assert_eq!(seen.crossing(500), Some(250.0 / 500.0));
        assert_eq!((seen.crossing(10_000), Seen::default().crossing(0)), (None, Some(0.0)));
    }

    #[test]
    fn threads_of_a_process_are_seen() {
        let (_, seen) = watching(std::process::id(), || {
            (0..50).for_each(|_| thread::sleep(Duration::from_millis(2)));
        });
        let all = seen.by_cpu.values().sum::<u64>() + seen.moved;
        assert!(all >= 40, "{seen:?}");
    }
}
