//! A ring in C, compiled on the spot, interleaved with a case.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::time::Duration;

use crate::judge::statistics::ByRound;
use harness::cpus;
use indicatif::ProgressBar;

use super::rounds::Experiment;
use super::runs::Runs;
use crate::judge::compare::verdict::Pair;
use crate::judge::prove::a_a::time_ns;
use crate::judge::prove::proof::{Figure, trouble};
use crate::judge::prove::ring::figure;
use crate::manifest::Case;
use crate::measure::process::run;

/// The ring.
const SOURCE: &str = include_str!("ring.c");

/// Tasks of either ring.
const TASKS: &str = "20";

/// Pairs of a round: two processes of a pair share what the machine does that second,
/// and differ by much more than the tolerance where it is noisy.
const PAIRS: u32 = 3;

/// How long a run of the C ring may take.
const TIME_OUT: Duration = Duration::from_secs(60);

/// The experiment: the ring in C and the plan's case, in pairs.
struct RingInC<'a> {
    ring: Ring,
    case: &'a Case,
    hops: Pair<ByRound>,
    trouble: Option<Figure>,
}

/// The experiment of the plan, if it has one.
pub fn of_plan<'a>(runs: &Runs<'a>) -> Option<Box<dyn Experiment + 'a>> {
    let name = runs.plan.ring.as_ref()?;
    let Some(case) = runs.named(Some(name)) else {
        return Some(Box::new(Figure::missing(name, "it cannot run here")));
    };
    Some(match Ring::compiled() {
        Ok(ring) => Box::new(RingInC { ring, case, hops: <_>::default(), trouble: None }),
        Err(reason) => Box::new(Figure::missing("a ring in C", reason)),
    })
}

impl Experiment for RingInC<'_> {
    fn invocations(&self) -> usize {
        2 * PAIRS as usize
    }

    /// Pairs follow one another as first, second, second, first.
    fn run(&mut self, round: u32, runs: &mut Runs, bar: &ProgressBar) -> Option<()> {
        let seconds = runs.seconds.to_string();
        let flags =
            ["--tasks", TASKS, "--max-time", &seconds, "--warmups", "10"].map(str::to_owned);
        for pair in (round - 1) * PAIRS..round * PAIRS {
            for turn in 0..2 {
                let side = (turn + pair) as usize % 2;
                let (time, trouble) = match side {
                    0 => {
                        bar.inc(1);
                        let ended = self.ring.hop_ns(&seconds, runs);
                        let trouble =
                            |reason| Figure::missing("a ring in C", "").must(reason, false);
                        (ended.as_ref().ok().copied(), ended.err().map(trouble))
                    }
                    _ => {
                        let invocation = runs.invoke(self.case, round, &flags, bar)?;
                        (time_ns(&invocation), trouble(&invocation))
                    }
                };
                if runs.signals.stops() > 0 {
                    return None;
                }
                self.hops[side].extend(time.map(|time| (pair, time)));
                self.trouble = self.trouble.take().or(trouble);
            }
        }
        Some(())
    }

    fn figures(&self, confidence: f64) -> Vec<Figure> {
        let ratio = figure(&self.case.name, &self.hops, confidence);
        self.trouble.clone().into_iter().chain([ratio]).collect()
    }
}

/// A folder with the compiled ring, removed at the end.
struct Ring(PathBuf);

impl Ring {
    /// Compiles the ring.
    ///
    /// # Errors
    /// Why it cannot be compiled here.
    fn compiled() -> Result<Self, String> {
        let folder = env::temp_dir().join(format!("brigade-ring-{}", process::id()));
        let trouble = |error| format!("{}: {error}", folder.display());
        // Fails if it is there: in a shared folder, it could be another user's.
        fs::create_dir(&folder).map_err(trouble)?;
        let ring = Self(folder);
        let (source, binary) = (ring.0.join("ring.c"), ring.binary());
        fs::write(&source, SOURCE).map_err(|error| format!("writing the ring: {error}"))?;
        let mut cc = Command::new("cc");
        let compiled = cc.args(["-O2", "-pthread", "-o"]).arg(binary).arg(source).output();
        match compiled {
            Ok(output) if output.status.success() => Ok(ring),
            Ok(_) => Err("cc cannot compile the ring".to_owned()),
            Err(_) => Err("there is no C compiler, cc".to_owned()),
        }
    }

    fn binary(&self) -> PathBuf {
        Path::new(&self.0).join("ring")
    }

    /// The mean time of a hop in a new process, in nanoseconds.
    fn hop_ns(&self, seconds: &str, runs: &mut Runs) -> Result<f64, String> {
        let first = cpus::allowed().into_iter().flatten().next().unwrap_or_default();
        let mut ring = Command::new(self.binary());
        ring.args([TASKS, &first.to_string(), seconds]);
        let ended = run(&mut ring, Some(TIME_OUT), runs.signals);
        let ended = ended.map_err(|error| format!("running the ring in C: {error}"))?;
        let text = String::from_utf8_lossy(&ended.stdout);
        text.trim().parse().map_err(|_| format!("the ring in C ended with {}", ended.status))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // A folder that stays in the way is no reason to fail.
        let _ = fs::remove_dir_all(&self.0);
    }
}
