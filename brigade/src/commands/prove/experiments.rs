//! Experiments, and how to run the processes of each arm.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use fastrand::Rng;
use harness::cpus;
use harness::failure::Unavailable;
use indicatif::{ProgressBar, ProgressStyle};
use tempfile::TempDir;

use crate::commands::trace::traced;
use crate::exit::Interrupted;
use crate::judge::prove::{Experiment, Figure, Probe, Status, Traced};
use crate::manifest::{Case, Manifest, Opponent, Placement, ProvePlan};
use crate::measure::availability::Capabilities;
use crate::measure::executables::Executables;
use crate::measure::invoke::{Job, invoke};
use crate::measure::process::run;
use crate::measure::signals::Signals;
use crate::store::invocation::Invocation;

use super::outside;

/// How often to repeat experiments whose property is not shown.
const FURTHER_PASSES: u32 = 3;

/// How to run a process of an arm.
#[derive(Clone, Copy, Debug)]
pub enum How<'a> {
    /// As in a run, timed by the second clock.
    Invoked,
    /// Next to a thread that uses a tenth of its CPU.
    Disturbed,
    /// With a trace of further laps.
    Traced,
    /// Likewise, next to that thread.
    TracedDisturbed,
    /// While perf counts its context switches.
    Watched,
    /// Behind a filter that slows its system calls.
    Filtered,
    /// The opponent instead of the case.
    Beside(&'a Opponent),
}

/// One variant of an experiment's case.
pub struct Arm<'a> {
    pub how: How<'a>,
    /// Flags in addition to the case's.
    pub flags: Vec<String>,
}

/// Computes figures from experiments.
type Judge<'a> = Box<dyn Fn(&[Experiment]) -> Vec<Figure> + 'a>;

/// The experiments of one property.
pub struct Set<'a> {
    pub name: &'static str,
    judge: Judge<'a>,
    rounds: u32,
    /// Whether each experiment is judged alone and gets more rounds if they do not show the
    /// property.
    repeats: bool,
    arms: Vec<Vec<Arm<'a>>>,
    /// Experiments that cannot run here.
    missing: Vec<Figure>,
    /// Experiments run so far.
    pub experiments: Vec<Experiment<'a>>,
}

impl<'a> Set<'a> {
    /// One experiment for each of these cases.
    pub fn of(
        name: &'static str,
        judge: impl Fn(&[Experiment]) -> Vec<Figure> + 'a,
        rounds: u32,
        cases: impl IntoIterator<Item = Result<&'a Case, Figure>>,
        arms_of: impl Fn(&Case) -> Vec<Arm<'a>>,
    ) -> Self {
        let judge: Judge = Box::new(judge);
        let (arms, missing, experiments) = (Vec::new(), Vec::new(), Vec::new());
        let mut set = Self { name, judge, rounds, repeats: false, arms, missing, experiments };
        for case in cases {
            match case {
                Ok(case) => {
                    let arms = arms_of(case);
                    let none = arms.iter().map(|_| Vec::new()).collect();
                    set.experiments.push(Experiment { case, arms: none });
                    set.arms.push(arms);
                }
                Err(figure) => set.missing.push(figure),
            }
        }
        set
    }

    /// Repeats experiments that did not show the property.
    pub fn repeating(self) -> Self {
        Self { repeats: true, ..self }
    }

    /// Indices of the experiments that more rounds could decide.
    fn open(&self) -> Vec<usize> {
        let is_open = |of: &Experiment| {
            let figures = (self.judge)(slice::from_ref(of));
            figures.iter().map(|figure| figure.status).max() == Some(Status::NotShown)
        };
        let indices = (0..self.experiments.len()).filter(|_| self.repeats);
        indices.filter(|index| is_open(&self.experiments[*index])).collect()
    }

    /// Whether the plan contains any experiment for it.
    pub fn is_planned(&self) -> bool {
        !self.experiments.is_empty() || !self.missing.is_empty()
    }

    pub fn figures(&self) -> Vec<Figure> {
        let troubles = self.experiments.iter().filter_map(Experiment::trouble);
        let troubles = self.missing.iter().cloned().chain(troubles);
        troubles.chain((self.judge)(&self.experiments)).collect()
    }

    /// Its invocations, in the order in which they ran.
    pub fn invocations(&self) -> Vec<&Invocation> {
        let probes = self.experiments.iter().flat_map(|of| of.arms.iter().flatten());
        let mut all: Vec<_> = probes.filter_map(|probe| probe.invocation.as_ref()).collect();
        all.sort_by_key(|invocation| &invocation.started_at);
        all
    }
}

/// Runs the processes of a proof.
pub struct Runs<'a> {
    pub manifest: &'a Manifest,
    pub plan: &'a ProvePlan,
    pub capabilities: &'a Capabilities,
    pub binaries: &'a Executables,
    /// Duration of an invocation, in seconds.
    pub seconds: f64,
    /// Seed for the order of the experiments.
    pub seed: u64,
    pub signals: &'a mut Signals,
    /// The opponents in C, if needed and if they compile.
    pub compiled: Option<Compiled>,
}

impl<'a> Runs<'a> {
    /// Those cases that can run here.
    pub fn possible<'c>(&self, cases: impl Iterator<Item = &'c Case>) -> Vec<&'c Case> {
        let built = cases.filter(|case| self.binaries.contains_key(&case.program));
        self.capabilities.divide(built.collect()).0
    }

    /// The case with this name, if it can run here.
    pub fn named(&self, name: &String) -> Result<&'a Case, Figure> {
        let cases = self.manifest.cases.iter().filter(|case| case.name == *name);
        self.possible(cases).pop().ok_or_else(|| Figure::missing(name, "it cannot run here"))
    }

    /// The cases with these names, if they can run here.
    pub fn all(&self, names: &[String]) -> Vec<Result<&'a Case, Figure>> {
        names.iter().map(|name| self.named(name)).collect()
    }

    /// Runs all experiments, then repeats those that did not show their property, at most
    /// [`FURTHER_PASSES`] times.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn run(&mut self, sets: &mut [Set]) -> Result<(), Interrupted> {
        for passes in 0..=FURTHER_PASSES {
            let chosen = sets.iter().enumerate().flat_map(|(at, set)| {
                let all = || (0..set.arms.len()).collect();
                let chosen = if passes == 0 { all() } else { set.open() };
                chosen.into_iter().map(move |index| (at, index))
            });
            let chosen: Vec<_> = chosen.collect();
            self.pass(sets, &chosen, passes)?;
        }
        Ok(())
    }

    /// Runs these experiments, each given by the index of its set and its own, in mixed order, so
    /// that a disturbance of one second hits only a few rounds of each. The arms of a round run
    /// back to back, in alternating order, so that drift affects all alike. `passes` ran before.
    fn pass(
        &mut self,
        sets: &mut [Set],
        chosen: &[(usize, usize)],
        passes: u32,
    ) -> Result<(), Interrupted> {
        let mut rng = Rng::with_seed(self.seed);
        let mut turns = Vec::new();
        let mut processes = 0;
        for (at, index) in chosen.iter().copied() {
            let set = &sets[at];
            processes += set.arms[index].len() as u64 * u64::from(set.rounds);
            let when = |round: u32, part: f64| (f64::from(round) - part) / f64::from(set.rounds);
            turns.extend(
                (1..=set.rounds)
                    .map(|round| (when(round, rng.f64()), at, index, passes * set.rounds + round)),
            );
        }
        turns.sort_by(|first, second| first.0.total_cmp(&second.0));
        // Drawn between processes, never while one runs.
        let style = ProgressStyle::with_template("{pos}/{len} {bar:30} {eta} left");
        let bar = ProgressBar::new(processes).with_style(style.expect("a well-formed template"));
        for (_, at, index, round) in turns {
            let set = &mut sets[at];
            let count = set.arms[index].len();
            for turn in 0..count {
                let which = if round % 2 == 1 { turn } else { count - 1 - turn };
                bar.tick();
                let Experiment { case, arms } = &mut set.experiments[index];
                let probe = self.probe(case, &set.arms[index][which], round);
                bar.inc(1);
                if self.signals.stops() > 0 {
                    return Err(Interrupted);
                }
                arms[which].push(probe);
            }
        }
        Ok(())
    }

    fn probe(&mut self, case: &Case, arm: &Arm, round: u32) -> Probe {
        let with = |outside: Option<f64>, invocation| Probe { outside, ..Probe::of(invocation) };
        match arm.how {
            How::Invoked => {
                let begun = outside::clock_ns();
                let invocation = self.invoke(case, arm, round);
                with(Some((outside::clock_ns() - begun) as f64), invocation)
            }
            How::Disturbed => Probe::of(beside_spinner(|| self.invoke(case, arm, round))),
            How::Traced => self.traced(case, arm, round),
            How::TracedDisturbed => beside_spinner(|| self.traced(case, arm, round)),
            How::Watched => {
                let (switches, invocation) = outside::switches(|| self.invoke(case, arm, round));
                with(switches, invocation)
            }
            How::Filtered => {
                let (call_ns, invocation) = outside::filtered(|| self.invoke(case, arm, round));
                with(call_ns, invocation)
            }
            How::Beside(opponent) => match self.opponent_ns(case, opponent) {
                Ok(ns) => Probe { time_ns: Some(ns), ..Probe::nothing(round) },
                Err(error) => {
                    let what = format!("{} / {}", case.name, opponent.name());
                    Probe::failed(round, Figure::failed(what, format!("{error:#}")))
                }
            },
        }
    }

    fn invoke(&mut self, case: &Case, arm: &Arm, round: u32) -> Invocation {
        let (binary, flags) = (&self.binaries[&case.program], &arm.flags);
        let job = Job { case, round, attempt: 1, binary, flags, under: &[], shared_cpu: None };
        invoke(&job, self.signals)
    }

    fn traced(&mut self, case: &Case, arm: &Arm, round: u32) -> Probe {
        let trace = traced(case, &self.binaries[&case.program], &arm.flags, self.signals);
        match trace.and_then(|trace| Traced::of(&trace).map_err(anyhow::Error::msg)) {
            Ok(traced) => Probe { traced: Some(traced), ..Probe::nothing(round) },
            Err(error) => {
                let figure = match error.downcast::<Unavailable>() {
                    Ok(Unavailable(reason)) => Figure::missing(&case.name, reason),
                    Err(error) => Figure::failed(&case.name, format!("{error:#}")),
                };
                Probe::failed(round, figure)
            }
        }
    }

    /// The path of an opponent's binary.
    pub fn opponent_file(&self, case: &Case, opponent: &Opponent) -> Option<PathBuf> {
        match &opponent.binary {
            Some(name) => Some(self.binaries[&case.program].path().with_file_name(name)),
            None => self.compiled.as_ref().map(Compiled::binary),
        }
    }

    /// The mean time of an opponent's operation, in nanoseconds.
    fn opponent_ns(&mut self, case: &Case, opponent: &Opponent) -> anyhow::Result<f64> {
        let file = self.opponent_file(case, opponent).context("it was not compiled")?;
        let mut command = Command::new(&file);
        command.args(opponent.words.split_whitespace()).arg(self.seconds.to_string());
        let signals = &mut *self.signals;
        // The process inherits the CPU of the thread that starts it.
        let ended = thread::scope(|scope| {
            let run = || {
                if case.placement == Placement::SameCpu {
                    cpus::confine(&cpus::allowed()?[..1])?;
                }
                let ended = run(&mut command, Some(Duration::from_secs(60)), signals);
                ended.with_context(|| format!("starting {}", file.display()))
            };
            scope.spawn(run).join().expect("no panic")
        })?;
        let text = String::from_utf8_lossy(&ended.stdout);
        text.trim().parse().with_context(|| format!("it ended with {}", ended.status))
    }
}

/// Runs `body` next to a thread that spins a tenth of the time on the first CPU. If the thread
/// cannot be placed there, nothing is disturbed, and the property fails.
fn beside_spinner<T>(body: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let first: Vec<_> = cpus::allowed().into_iter().flatten().take(1).collect();
            let is_placed = cpus::confine(&first).is_ok();
            while is_placed && !over.load(Relaxed) {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(1) {}
                thread::sleep(Duration::from_millis(9));
            }
        });
        let done = body();
        over.store(true, Relaxed);
        done
    })
}

/// A temporary folder with the compiled C opponents.
pub struct Compiled(TempDir);

impl Compiled {
    /// Compiles them.
    ///
    /// # Errors
    /// The reason why they do not compile here.
    pub fn now() -> Result<Self, String> {
        let write = || {
            let folder = TempDir::with_prefix("brigade-opponents-")?;
            let source = folder.path().join("opponents.c");
            fs::write(&source, include_str!("opponents.c"))?;
            io::Result::Ok((Self(folder), source))
        };
        let (compiled, source) =
            write().map_err(|error| format!("writing the opponents: {error}"))?;
        let mut cc = Command::new("cc");
        match cc.args(["-O2", "-pthread", "-o"]).arg(compiled.binary()).arg(source).output() {
            Ok(output) if output.status.success() => Ok(compiled),
            Ok(_) => Err("cc cannot compile it".to_owned()),
            Err(_) => Err("there is no C compiler, cc".to_owned()),
        }
    }

    fn binary(&self) -> PathBuf {
        self.0.path().join("opponents")
    }
}
