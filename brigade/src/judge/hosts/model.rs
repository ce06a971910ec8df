//! What a report of many hosts holds, as `--format json` prints it.
//!
//! The committed schema, `brigade/hosts.schema.json`, is generated from these types and a
//! test compares the two. A figure that is not known is `null`.

use serde::{Deserialize, Serialize};

use crate::judge::statistics::Estimate;

/// Version of [`HostsReport`]'s schema, `major.minor`: the minor number rises when a
/// field is added, the major one when an old reader would misunderstand.
pub const SCHEMA_VERSION: &str = "1.0";

/// Many hosts of one type, case by case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostsReport {
    /// Schema version of this object, `major.minor`.
    pub schema_version: String,
    /// The type of machine that is compared: CPU and number of CPUs.
    pub machine: String,
    /// The difference that does not matter, as a share: 0.03 for ratios of 1/1.03 to
    /// 1.03.
    pub margin: f64,
    /// The share of what is found slower or faster that is neither, on average, 0 to 1.
    pub false_discoveries: f64,
    /// Folders that the hosts are made of, a count.
    pub folders: usize,
    /// The standard deviation of most hosts' logarithmic ratios: 0.01 for about 1 %;
    /// `null` for fewer than two hosts.
    pub spread: Option<f64>,
    /// The hosts, the slowest first.
    pub hosts: Vec<HostEstimate>,
    /// The cases that several hosts have, by name.
    pub cases: Vec<CaseOverHosts>,
    /// What hosts that differ share and others do not, the best first.
    pub shared: Vec<SharedFact>,
    /// What was left out.
    pub left_out: Vec<LeftOut>,
}

/// One case over the hosts that have it: the median time of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseOverHosts {
    /// What tells it from others: program, parameters, measurement and operation.
    pub key: String,
    /// Its name.
    pub case: String,
    /// What an operation is, such as `hop`.
    pub operation: String,
    /// Hosts that have it, a count.
    pub hosts: usize,
    /// Processes that their medians are made of, a count.
    pub processes: usize,
    /// The median over hosts with its interval, in nanoseconds.
    pub ns: Estimate,
    /// The lower and the upper quartile over hosts, in nanoseconds.
    pub quartiles_ns: [f64; 2],
    /// The standard deviation of most hosts' logarithms; `null` for fewer than two hosts.
    pub spread: Option<f64>,
}

/// How a host, or one case on it, stands beside the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It takes longer than the others, beyond the margin and beyond chance.
    Slower,
    /// It takes less time, likewise.
    Faster,
    /// Nothing tells it from the others.
    Alike,
    /// It is too noisy, or too little was measured, to be judged.
    SetAside,
}

impl Standing {
    /// The standing in a word or two.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Alike => "alike",
            Self::SetAside => "set aside",
        }
    }

    /// Whether it is slower or faster.
    pub fn differs(self) -> bool {
        matches!(self, Self::Slower | Self::Faster)
    }
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostEstimate {
    /// Its name: that of its folders without date and number.
    pub host: String,
    /// Its folders.
    pub runs: Vec<String>,
    /// How many times as long its operations take as those of the middle host: the
    /// geometric mean over cases.
    pub ratio: f64,
    /// The standard error of the logarithm of `ratio` by the host's own processes;
    /// `null` where no case has five.
    pub standard_error: Option<f64>,
    /// How likely chance alone sets it as far apart, 0 to 1; `null` where it is not
    /// judged.
    pub probability: Option<f64>,
    /// All cases together.
    pub standing: Standing,
    /// Why it is set aside, without a full stop.
    pub reason: Option<String>,
    /// Processes that were started, those that were interrupted aside, a count.
    pub processes: usize,
    /// Those of them that were disturbed or failed, a count.
    pub disturbed: usize,
    /// Its cases, by name.
    pub cases: Vec<HostCase>,
}

impl HostEstimate {
    /// The case of this name.
    pub fn case(&self, name: &str) -> Option<&HostCase> {
        let place = self.cases.binary_search_by(|case| case.case.as_str().cmp(name));
        self.cases.get(place.ok()?)
    }

    /// The same, to be changed.
    pub fn case_mut(&mut self, name: &str) -> Option<&mut HostCase> {
        let place = self.cases.binary_search_by(|case| case.case.as_str().cmp(name));
        self.cases.get_mut(place.ok()?)
    }

    /// The cases that are slower or faster.
    pub fn differing(&self) -> impl Iterator<Item = &HostCase> {
        self.cases.iter().filter(|case| case.standing.differs())
    }
}

/// One case on one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostCase {
    /// The case's name.
    pub case: String,
    /// The median over the host's processes with its interval, in nanoseconds.
    pub ns: Estimate,
    /// That median over the one of the middle host.
    pub ratio: f64,
    /// As [`HostEstimate::probability`].
    pub probability: Option<f64>,
    /// This case alone.
    pub standing: Standing,
}

/// A fact of the environment that hosts which differ share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SharedFact {
    /// Which hosts share it: the slower or the faster ones.
    pub of: Standing,
    /// Its name in `environment.json`, such as `kernel.release`.
    pub fact: String,
    /// Its content.
    pub content: String,
    /// How many of them have it, and how many there are.
    pub having: [u64; 2],
    /// How many of the other hosts have it, and how many there are.
    pub others: [u64; 2],
    /// The first share minus the second, 1 where the fact parts them wholly.
    pub parting: f64,
    /// How likely chance alone gives it to as many of them, 0 to 1 (Fisher's exact test).
    pub probability: f64,
}

/// Folders that do not count, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Their names.
    pub folders: Vec<String>,
    /// Why, without a full stop.
    pub reason: String,
}
