//! Making tasks up to the limit, to see whether the prediction is right.
//!
//! The tasks are made by a process of its own, which counts aloud, so that
//! whatever the kernel does to it is survived here and told. Where the limit
//! is one that other processes share, it stays below: a machine without a
//! thread to spare cannot even be told to stop.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, bail};
use harness::limits::{Forecast, Kind, Line, Resource, raise_soft_file_limit};

use super::population;
use crate::exit::Exit;
use crate::judge::limits::Verified;
use crate::measure::lock::Lock;

/// How far beyond the prediction it tries, in percent.
const BEYOND_PERCENT: u64 = 2;
/// The least that is left of a limit that others share, in tasks; of a large
/// one it is a two-hundredth.
const LEAST_MARGIN: u64 = 64;
/// The word before what the kernel refused.
const REFUSED: &str = "refused ";
/// Said when all tasks are made or one was refused.
const SETTLED: &str = "settled";

/// Makes tasks of a kind up to the limit, in a process of its own, and ends
/// them.
///
/// # Errors
/// When no limit binds that could be reached safely, or the process cannot be
/// started.
pub fn verify(kind: Kind, forecast: &Forecast) -> anyhow::Result<Verified> {
    let binding = forecast.binding().with_context(|| format!("--verify: no limit binds {kind}"))?;
    if binding.limit.resource == Resource::Memory {
        bail!(
            "--verify: what binds {kind} is {}, and the kernel answers that by killing \
             processes; lower another limit below it, as with prlimit, and verify that",
            binding.limit.name
        );
    }
    let _lock = Lock::take()?;
    let predicted = binding.allows.unwrap_or_default();
    let asked = asked(predicted, forecast);
    let (reached, stopped_by) = count(kind, asked)?;
    let difference_percent = match predicted {
        0 => 100.0 * reached as f64,
        _ => (reached as f64 - predicted as f64) / predicted as f64 * 100.0,
    };
    Ok(Verified { predicted, asked, reached, difference_percent, stopped_by })
}

/// How many tasks to make: a little more than predicted, but not so many that
/// others would miss what they share with them.
fn asked(predicted: u64, forecast: &Forecast) -> u64 {
    let beyond = predicted + (predicted * BEYOND_PERCENT / 100).max(1);
    let shared = forecast.lines().iter().filter(|line| is_shared(line));
    let margin = |allows: u64| allows.saturating_sub((allows / 200).max(LEAST_MARGIN));
    shared.filter_map(|line| line.allows.map(margin)).fold(beyond, u64::min)
}

/// Whether other processes would miss what the tasks take.
fn is_shared(line: &Line) -> bool {
    match line.limit.resource {
        Resource::Threads | Resource::Memory | Resource::CommittedMemory => true,
        Resource::Files => line.limit.source.ends_with("file-max"),
        Resource::PipePages | Resource::EpollWatches | Resource::LockedMemory => false,
        Resource::Maps | Resource::AddressSpace | Resource::Rings => false,
    }
}

/// Runs the process that makes the tasks: how many there were, and what stopped
/// it.
fn count(kind: Kind, asked: u64) -> anyhow::Result<(u64, Option<String>)> {
    let brigade = std::env::current_exe().context("finding this program")?;
    let mut command = Command::new(brigade);
    command.args(["limits", "--kind", kind.name(), "--populate", &asked.to_string()]);
    follow(command)
}

fn follow(mut command: Command) -> anyhow::Result<(u64, Option<String>)> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting the process that makes the tasks")?;
    let (mut reached, mut stopped_by, mut settled) = (0, None, false);
    let lines = BufReader::new(child.stdout.take().context("its output")?).lines();
    for line in lines {
        let line = line.context("reading what the process that makes the tasks says")?;
        if let Some(refused) = line.strip_prefix(REFUSED) {
            stopped_by = Some(refused.to_owned());
        } else if line == SETTLED {
            settled = true;
            // At the end of its standard input it ends the tasks.
            drop(child.stdin.take());
        } else {
            reached = line.parse().with_context(|| format!("it said '{line}'"))?;
        }
    }
    let status = ended(child)?;
    match (settled, status.success()) {
        (true, true) => Ok((reached, stopped_by)),
        _ => Ok((reached, Some(death(status)))),
    }
}

fn ended(mut child: Child) -> anyhow::Result<ExitStatus> {
    child.wait().context("waiting for the process that makes the tasks")
}

fn death(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("the process was killed by signal {signal}"),
        None => format!("the process ended with {status}"),
    }
}

/// Makes `count` tasks of a kind, or as many as the kernel gives, says how
/// many there are on standard output, and ends them when standard input ends.
///
/// # Errors
/// When there are no such tasks to be made, or standard output is gone.
pub fn populate(kind: Kind, count: u64) -> anyhow::Result<Exit> {
    raise_soft_file_limit();
    let mut population = population::open(kind)?;
    let mut said = io::stdout().lock();
    let step = (count / 100).max(1);
    let mut reached = 0;
    let mut refused = None;
    while reached < count && refused.is_none() {
        refused = population.add().err();
        reached += u64::from(refused.is_none());
        if reached % step == 0 {
            writeln!(said, "{reached}").context("saying how many there are")?;
        }
    }
    let stopped = refused.map(|refused| format!("{REFUSED}{refused}\n")).unwrap_or_default();
    write!(said, "{reached}\n{stopped}{SETTLED}\n").context("saying how many there are")?;
    said.flush().context("saying how many there are")?;
    io::stdin().lock().read_to_end(&mut Vec::new()).context("waiting for the end")?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use harness::Amounts;
    use harness::limits::Limit;

    use super::*;

    fn forecast(threads: u64, maps: u64) -> Forecast {
        let limits = [(Resource::Threads, threads), (Resource::Maps, maps)];
        let limits = limits.map(|(what, value)| Limit::new(what, "a limit", "here", Some(value)));
        Forecast::new(Amounts::thread(1 << 20), Amounts::default(), limits.to_vec())
    }

    #[test]
    fn a_limit_of_the_process_is_passed_and_a_shared_one_is_not_reached() {
        assert_eq!(asked(10_000, &forecast(100_000, 40_000)), 10_200);
        assert_eq!(asked(10_000, &forecast(10_100, 40_000)), 10_100 - 64);
        assert_eq!(asked(100_000, &forecast(100_000, 800_000)), 99_500);
        assert_eq!(asked(10, &forecast(10, 1000)), 0);
        assert_eq!(asked(10, &forecast(1000, 40)), 11);
    }

    fn followed(script: &str) -> (u64, Option<String>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        follow(command).expect("a process")
    }

    #[test]
    fn a_process_that_dies_is_survived_and_told() {
        let killed = Some("the process was killed by signal 6".to_owned());
        assert_eq!(followed("echo 5; echo 7; kill -ABRT $$"), (7, killed));
        let ended = Some("the process ended with exit status: 3".to_owned());
        assert_eq!(followed("echo 5; exit 3"), (5, ended));
        let unsettled = Some("the process ended with exit status: 0".to_owned());
        assert_eq!(followed("echo 5"), (5, unsettled));
    }

    #[test]
    fn what_the_kernel_refused_is_told_and_the_process_is_let_go() {
        let refused = Some("creating a thread: no".to_owned());
        let script = "echo 5; echo 'refused creating a thread: no'; echo settled; cat";
        assert_eq!(followed(script), (5, refused));
        assert_eq!(followed("echo 9; echo settled; cat"), (9, None));
    }

    #[test]
    fn memory_that_binds_is_not_used_up() {
        let memory = Limit::new(Resource::Memory, "available memory", "here", Some(1 << 20));
        let forecast = Forecast::new(Amounts::goroutine(), Amounts::default(), vec![memory]);
        let error = verify(Kind::Goroutine, &forecast).expect_err("nothing safe to do");
        assert!(error.to_string().starts_with("--verify: what binds goroutine is available"));
    }
}
