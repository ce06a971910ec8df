//! A ring in C, compiled on the spot, interleaved with a case.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::time::Duration;

use crate::judge::statistics::ByRound;
use harness::cpus;

use super::runs::{Runs, bar};
use crate::judge::compare::verdict::Pair;
use crate::judge::prove::a_a::time_ns;
use crate::manifest::Case;
use crate::measure::process::run;

/// The ring.
const SOURCE: &str = include_str!("ring.c");

/// Tasks of either ring.
const TASKS: &str = "20";

/// Rounds, of each ring once.
const ROUNDS: u32 = 20;

/// How long a run of the C ring may take.
const TIME_OUT: Duration = Duration::from_secs(60);

/// The mean time of a hop in C and in `case`, in nanoseconds, or why there is none.
/// `None` if interrupted.
pub fn hops(runs: &mut Runs, case: &Case) -> Option<Result<Pair<ByRound>, String>> {
    let ring = match Ring::compiled() {
        Ok(ring) => ring,
        Err(reason) => return Some(Err(reason)),
    };
    let seconds = runs.seconds.to_string();
    let flags = ["--tasks", TASKS, "--max-time", &seconds, "--warmups", "10"].map(str::to_owned);
    let bar = bar(ROUNDS as usize, "the same ring in C");
    let mut hops = Pair::<ByRound>::default();
    for round in 1..=ROUNDS {
        for turn in 0..2 {
            let side = (turn + round as usize) % 2;
            let time = if side == 0 {
                match ring.hop_ns(&seconds, runs) {
                    Ok(time) => Some(time),
                    Err(reason) => return Some(Err(reason)),
                }
            } else {
                time_ns(&runs.invoke(case, round, &flags, &bar)?)
            };
            hops[side].extend(time.map(|time| (round, time)));
        }
        if runs.signals.stops() > 0 {
            return None;
        }
    }
    Some(Ok(hops))
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
