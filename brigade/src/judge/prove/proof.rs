//! What a proof says: properties, and the figures behind each.

use serde::{Deserialize, Serialize};

use crate::store::invocation::{Invocation, Outcome};

/// Version of [`Proof`]'s schema, `major.minor`; it moves as the record's does.
pub const SCHEMA_VERSION: &str = "1.1";

/// The result of a proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Proof {
    /// Schema version of this proof, `major.minor`.
    pub schema_version: String,
    /// Version of the runner.
    pub brigade_version: String,
    /// When it began: UTC, RFC 3339.
    pub started_at: String,
    /// Seed of the order of the invocations.
    pub seed: u64,
    /// The properties, in the order of the page.
    pub properties: Vec<Property>,
}

/// What a measurement must be for its figures to mean something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Property {
    /// Its name.
    pub name: String,
    /// Whether it holds: it fails if any figure fails, and is not shown if none
    /// fails and any is not shown.
    pub standing: Standing,
    /// The figures that it is judged by.
    pub figures: Vec<Figure>,
}

/// Whether a figure or a property is as it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is.
    Holds,
    /// It is not.
    Fails,
    /// The machine was too busy to tell. Since 1.1.
    NotShown,
    /// It cannot be measured here, or is reported without being judged.
    Unjudged,
}

impl Standing {
    /// [`Standing::Holds`] or [`Standing::Fails`].
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
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
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end of its interval.
    pub high: Option<f64>,
    /// Its unit; empty for a ratio or a count.
    pub unit: String,
    /// What it must be, or why there is none, in words.
    pub must: String,
    /// Whether it is.
    pub standing: Standing,
}

impl Proof {
    /// The worst standing of a property: fails, not shown, or holds.
    pub fn standing(&self) -> Standing {
        let any = |standing| !self.names_of(standing).is_empty();
        let worst = [Standing::Fails, Standing::NotShown].into_iter().find(|bad| any(*bad));
        worst.unwrap_or(Standing::Holds)
    }

    /// The names of the properties of this standing.
    pub fn names_of(&self, standing: Standing) -> Vec<&str> {
        let such = self.properties.iter().filter(|property| property.standing == standing);
        such.map(|property| property.name.as_str()).collect()
    }
}

impl Property {
    /// A property judged by these figures.
    pub fn of(name: &str, figures: Vec<Figure>) -> Self {
        let any = |standing| figures.iter().any(|figure| figure.standing == standing);
        let decisive = [Standing::Fails, Standing::NotShown, Standing::Holds];
        let standing = decisive.into_iter().find(|standing| any(*standing));
        let standing = standing.unwrap_or(Standing::Unjudged);
        Self { name: name.to_owned(), standing, figures }
    }
}

impl Figure {
    /// A figure without an interval.
    pub fn new(what: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { value: Some(value), unit: unit.to_owned(), ..Self::missing(what, "") }
    }

    /// No figure, for this reason.
    pub fn missing(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            value: None,
            low: None,
            high: None,
            unit: String::new(),
            must: why.into(),
            standing: Standing::Unjudged,
        }
    }

    /// With an interval.
    pub fn between(mut self, low: f64, high: f64) -> Self {
        (self.low, self.high) = (Some(low), Some(high));
        self
    }

    /// With what it must be, and whether it is.
    pub fn must(self, be: impl Into<String>, holds: bool) -> Self {
        self.judged(be, Standing::of(holds))
    }

    /// With what it must be, and its standing.
    pub fn judged(mut self, must: impl Into<String>, standing: Standing) -> Self {
        (self.must, self.standing) = (must.into(), standing);
        self
    }
}

/// The figure of an invocation that did not measure: unjudged if a limit refused,
/// a failure of the instrument otherwise. `None` if it measured.
pub fn trouble(invocation: &Invocation) -> Option<Figure> {
    let reason = || invocation.error.clone().unwrap_or_default();
    match invocation.outcome {
        Outcome::Measured => None,
        Outcome::Refused => Some(Figure::missing(&invocation.case, reason())),
        Outcome::Failed | Outcome::TimedOut => {
            Some(Figure::missing(&invocation.case, "").must(reason(), false))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_fails_with_any_figure_and_holds_with_one_that_does() {
        let holds = Figure::new("a", 1.0, "").must("be 1", true);
        let fails = Figure::new("b", 2.0, "").must("be 1", false);
        let blunt = Figure::new("d", 1.0, "").judged("be 1", Standing::NotShown);
        let unjudged = Figure::missing("c", "one CPU");
        let standing = |figures: &[&Figure]| {
            Property::of("x", figures.iter().map(|figure| (*figure).clone()).collect()).standing
        };
        assert_eq!(standing(&[&holds, &unjudged]), Standing::Holds);
        assert_eq!(standing(&[&holds, &blunt, &fails]), Standing::Fails);
        assert_eq!(standing(&[&holds, &blunt]), Standing::NotShown);
        assert_eq!(standing(&[&unjudged]), Standing::Unjudged);
        assert_eq!(standing(&[]), Standing::Unjudged);
    }
}
