//! Properties of the instrument, each judged by experiments of known outcome.

mod properties;
mod work;

use harness::record::Record;
use serde::{Deserialize, Serialize};

use crate::judge::statistics::{ByRound, Interval};
use crate::manifest::Case;
use crate::store::invocation::{Invocation, Outcome};

pub use properties::{
    MORE_WORK, accounting, clock, clock_across, crossings, differences, disturbance, empty_lap,
    in_time_order, same, switches, system_calls,
};
pub use work::{known_work, linearity, ring};

/// Version of [`Proof`]'s schema.
pub const SCHEMA_VERSION: &str = "1.0";

/// The result of `brigade prove`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Proof {
    /// Schema version of this proof.
    pub schema_version: String,
    /// Version of the runner.
    pub brigade_version: String,
    /// When it began: UTC, RFC 3339.
    pub started_at: String,
    /// Seed of the order of the invocations.
    pub seed: u64,
    /// The properties.
    pub properties: Vec<Property>,
}

/// Something that must be true of the instrument for its figures to mean anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Property {
    /// Its name.
    pub name: String,
    /// The worst of its figures: fails, not shown, holds, or unjudged.
    pub status: Status,
    /// The figures by which it is judged.
    pub figures: Vec<Figure>,
}

/// Whether a figure or a property is as it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It cannot be measured here, or is reported without being judged.
    Unjudged,
    /// It is.
    Holds,
    /// The machine was too busy to show it.
    NotShown,
    /// It is not.
    Fails,
}

impl Status {
    /// [`Status::Holds`] or [`Status::Fails`].
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// Of a ratio that must be 1: fails if its whole interval is more than `fails`
    /// away, and holds if all of it is within `holds`, both as shares.
    fn near_one(ends: Interval, fails: f64, holds: f64) -> Self {
        let band = |share: f64| (1.0 / (1.0 + share), 1.0 + share);
        let ((bottom, top), (least, most)) = (band(fails), band(holds));
        if ends.low > top || ends.high < bottom {
            Self::Fails
        } else if ends.low >= least && ends.high <= most {
            Self::Holds
        } else {
            Self::NotShown
        }
    }

    /// What a busy machine may have caused is not shown to fail.
    fn unless_busy(self, is_busy: bool) -> Self {
        if is_busy { self.min(Self::NotShown) } else { self }
    }
}

/// A figure and what it must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Figure {
    /// What it is of.
    pub what: String,
    /// The figure, in `unit`; `null` where there is none.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Its unit; empty for a ratio or a count.
    pub unit: String,
    /// What it must be, or why there is none, in words.
    pub must: String,
    /// Whether it is.
    pub status: Status,
}

impl Proof {
    /// The worst status of a property.
    pub fn status(&self) -> Status {
        let worst = self.properties.iter().map(|property| property.status).max();
        worst.unwrap_or(Status::Unjudged)
    }

    /// The names of the properties of this status.
    pub fn names_of(&self, status: Status) -> Vec<&str> {
        let such = self.properties.iter().filter(|property| property.status == status);
        such.map(|property| property.name.as_str()).collect()
    }
}

impl Property {
    /// A property judged by these figures.
    pub fn of(name: &str, figures: Vec<Figure>) -> Self {
        let worst = figures.iter().map(|figure| figure.status).max();
        Self { name: name.to_owned(), status: worst.unwrap_or(Status::Unjudged), figures }
    }
}

impl Figure {
    /// A figure without an interval, which is not judged.
    pub fn new(what: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { value: Some(value), unit: unit.to_owned(), ..Self::missing(what, "") }
    }

    /// No figure, for this reason.
    pub fn missing(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            value: None,
            interval: None,
            unit: String::new(),
            must: why.into(),
            status: Status::Unjudged,
        }
    }

    /// A figure that fails because there is none.
    pub fn failed(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::missing(what, "").judged(why, Status::Fails)
    }

    /// With an interval.
    fn between(self, interval: Interval) -> Self {
        Self { interval: Some(interval), ..self }
    }

    /// With what it must be, and its status.
    fn judged(self, must: impl Into<String>, status: Status) -> Self {
        Self { must: must.into(), status, ..self }
    }
}

/// An experiment: processes of one case in a few variants, its arms, each of which runs
/// once a round.
#[derive(Debug)]
pub struct Experiment<'a> {
    /// The case.
    pub case: &'a Case,
    /// The processes of each arm, in the order in which they ran.
    pub arms: Vec<Vec<Probe>>,
}

/// One process of an experiment.
#[derive(Debug)]
pub struct Probe {
    /// The round, counted from 1.
    pub round: u32,
    /// Mean time of an operation, in nanoseconds.
    pub time_ns: Option<f64>,
    /// The invocation, if it is one of a case.
    pub invocation: Option<Invocation>,
    /// Its hops, and the calls that read and that write, which the kernel counted.
    pub calls: Option<(u64, [u64; 2])>,
    /// Why it did not measure.
    pub trouble: Option<Figure>,
}

impl Probe {
    /// One that has not measured anything.
    pub fn nothing(round: u32) -> Self {
        Self { round, time_ns: None, invocation: None, calls: None, trouble: None }
    }

    /// One that failed, and why.
    pub fn failed(round: u32, trouble: Figure) -> Self {
        Self { trouble: Some(trouble), ..Self::nothing(round) }
    }

    /// A limit that refused is no failure of the instrument; anything else is.
    pub fn of(invocation: Invocation) -> Self {
        let reason = || invocation.error.clone().unwrap_or_default();
        let trouble = match invocation.outcome {
            Outcome::Measured => None,
            Outcome::Refused => Some(Figure::missing(&invocation.case, reason())),
            Outcome::Failed | Outcome::TimedOut => Some(Figure::failed(&invocation.case, reason())),
        };
        let time_ns = time_ns(&invocation);
        let round = invocation.round;
        Self { round, time_ns, invocation: Some(invocation), calls: None, trouble }
    }

    fn record(&self) -> Option<&Record> {
        self.invocation.as_ref()?.record.as_ref()
    }
}

/// Mean time of an operation, in nanoseconds, of an invocation that measured.
fn time_ns(invocation: &Invocation) -> Option<f64> {
    let measured = invocation.outcome == Outcome::Measured;
    Some(invocation.record.as_ref().filter(|_| measured)?.principal()?.ns_per_operation)
}

impl Experiment<'_> {
    /// The first process that did not measure.
    pub fn trouble(&self) -> Option<Figure> {
        self.probes().find_map(|probe| probe.trouble.clone())
    }

    fn probes(&self) -> impl Iterator<Item = &Probe> {
        self.arms.iter().flatten()
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        self.probes().filter_map(Probe::record)
    }

    /// Times by round, of the arm at `index`.
    fn times(&self, index: usize) -> ByRound {
        self.arms[index].iter().filter_map(|probe| Some((probe.round, probe.time_ns?))).collect()
    }

    /// What `of` makes of the processes of an arm, by round.
    fn by_round(&self, index: usize, of: impl Fn(&Record) -> Option<f64>) -> ByRound {
        let figure = |probe: &Probe| Some((probe.round, of(probe.record()?)?));
        self.arms[index].iter().filter_map(figure).collect()
    }
}
