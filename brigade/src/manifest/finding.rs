//! The sentences of a report, as `[[finding]]` describes them: what is set
//! against what, and in which words.

use serde::Deserialize;

/// A finding, as `[[finding]]` of `suite.toml` describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// Which of two takes longer, and how many times as long.
    Comparison(Comparison),
    /// What remains of an operation after a baseline is taken off.
    Remainder(Remainder),
    /// Where the time of an operation goes, case by case.
    Attribution(Breakdown),
    /// From which number on an operation takes longer.
    Knee(Knee),
    /// What each more of a number adds to an operation.
    Slope(Slope),
    /// What switching adds to an operation that touches memory.
    Aftermath(Aftermath),
}

/// From which number on an operation takes longer: where two lines meet that fit the
/// logarithms of a series.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knee {
    /// A case of the series, whose other cases differ from it in `parameter` alone.
    pub case: String,
    /// The parameter, by the name that records use.
    pub parameter: String,
    /// One of what the parameter counts, such as "thread".
    pub unit: String,
    /// The operation, in lower case.
    pub text: String,
}

/// What each more of a number adds to an operation: the slope of a series.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slope {
    /// A case of the series, whose other cases differ from it in `parameter` alone.
    pub case: String,
    /// The parameter, by the name that records use.
    pub parameter: String,
    /// One of what the parameter counts, such as "frame".
    pub unit: String,
    /// The operation, in lower case.
    pub text: String,
}

/// What switching adds to an operation that touches memory, in two parts: what it adds
/// without memory, and what comes after.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aftermath {
    /// The operation.
    pub of: Subject,
    /// The same touching without a switch.
    pub alone: Subject,
    /// The operation without touching memory.
    pub bare: Subject,
    /// That without a switch.
    pub bare_alone: Subject,
}

/// Which of two takes longer, and how many times as long: the median of the
/// ratios by round.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// One of the two.
    pub first: Subject,
    /// The other.
    pub second: Subject,
}

/// What remains of an operation after a baseline is taken off: the median of
/// the differences by round.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remainder {
    /// The operation.
    pub of: Subject,
    /// What is taken off.
    pub baseline: Subject,
    /// What the remainder is for, as in "… remain for the switch".
    pub remains: String,
}

/// Where the time of an operation goes, case by case: user, kernel, waiting.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breakdown {
    /// The operation, as in "where the time of a hop between threads goes".
    pub of: String,
    /// The cases, in the order in which they are shown.
    pub cases: Vec<Condition>,
}

/// One measurement of one case, and the words for it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The case's name.
    pub case: String,
    /// The measurement's name; the principal one by default.
    pub measurement: Option<String>,
    /// The subject of "… takes 1.79 µs", in lower case.
    pub text: String,
    /// The short subject of "… takes 2.00 times as long".
    pub name: String,
}

/// A case and the words for its conditions.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The case's name.
    pub case: String,
    /// As in "on one CPU: 0.31 µs in user space, …".
    pub text: String,
}

impl Finding {
    /// The cases that it names, each with the key of the table that names it.
    pub fn cases(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::Comparison(Comparison { first, second }) => {
                vec![("first", &first.case), ("second", &second.case)]
            }
            Self::Remainder(Remainder { of, baseline, .. }) => {
                vec![("of", &of.case), ("baseline", &baseline.case)]
            }
            Self::Attribution(Breakdown { cases, .. }) => {
                cases.iter().map(|condition| ("cases", condition.case.as_str())).collect()
            }
            Self::Knee(Knee { case, .. }) | Self::Slope(Slope { case, .. }) => {
                vec![("case", case)]
            }
            Self::Aftermath(Aftermath { of, alone, bare, bare_alone }) => {
                let subjects =
                    [("of", of), ("alone", alone), ("bare", bare), ("bare_alone", bare_alone)];
                subjects.map(|(key, subject)| (key, subject.case.as_str())).into()
            }
        }
    }
}
