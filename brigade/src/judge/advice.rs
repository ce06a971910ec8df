//! In what a machine is slow among recorded ones, and its settings that may be the reason.

use serde::Serialize;

use super::rank::Rank;
use super::row::Row;
use super::statistics::median;
pub use crate::manifest::CostKind;

/// A setting of this machine, another value of which may lower costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// The file that has it; `null` for a fact.
    pub file: Option<String>,
    /// The fact's name in `environment.json`; `null` for a file.
    pub fact: Option<String>,
    /// Its value here; `null` if it cannot be read.
    pub now: Option<String>,
    /// The value that may lower the costs.
    pub advised: String,
    /// How to change it, if writing the file is not enough.
    pub change: Option<String>,
    /// What it does.
    pub does: String,
    /// Where that is documented.
    pub source: String,
    /// The command that measures its effect. If `restore` is `null`, it does not change the setting:
    /// run it before and after the change.
    pub test: String,
    /// The command that restores it; `null` if the test does not change it.
    pub restore: Option<String>,
    /// What it changes.
    #[serde(skip)]
    pub cost: CostKind,
}

/// What a machine is slow in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slow<'a> {
    /// Most figures that show this cost.
    Cost(CostKind),
    /// One figure, and what it has in common with others.
    Figure(&'a Row, &'a str),
}

/// What a machine is slow in, each with its factor to the median of recorded machines; the largest
/// factor first.
pub fn slow<'a>(ranks: &[Rank<'a>]) -> Vec<(Slow<'a>, f64)> {
    let mut found = Vec::new();
    let mut single: Vec<&Rank> = ranks.iter().filter(|rank| rank.is_slow()).collect();
    for kind in [CostKind::Waking, CostKind::Switching, CostKind::Creation] {
        if let Some(ratio) = ratio_of(ranks, kind) {
            found.push((Slow::Cost(kind), ratio));
            single.retain(|rank| rank.cost != Some(kind));
        }
    }
    found.extend(single.iter().map(|rank| (Slow::Figure(rank.row, rank.block), rank.ratio)));
    found.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    found
}

/// The median factor of the figures that show this cost, if most of them are slow.
fn ratio_of(ranks: &[Rank], kind: CostKind) -> Option<f64> {
    let of_kind: Vec<&Rank> = ranks.iter().filter(|rank| rank.cost == Some(kind)).collect();
    let slow = of_kind.iter().filter(|rank| rank.is_slow()).count();
    if 2 * slow <= of_kind.len() {
        return None;
    }
    median(&of_kind.iter().map(|rank| rank.ratio).collect::<Vec<_>>())
}

/// Puts first the settings that affect what this machine is slowest in; the order of others stays.
pub fn sort_by_worth(settings: &mut [Setting], slow: &[(Slow, f64)]) {
    let place = |setting: &Setting| {
        let is_of = |(what, _): &(Slow, f64)| *what == Slow::Cost(setting.cost);
        slow.iter().position(is_of).unwrap_or(slow.len())
    };
    settings.sort_by_key(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, cost: CostKind) -> Setting {
        let text = || name.to_owned();
        Setting {
            name: text(),
            file: None,
            fact: None,
            now: None,
            advised: text(),
            change: None,
            does: text(),
            source: text(),
            test: text(),
            restore: None,
            cost,
        }
    }

    #[test]
    fn a_machine_is_slow_in_a_cost_if_most_of_its_figures_are() {
        let row = Row::default();
        let rank = |cost, ratio: f64| {
            let better = if ratio > 1.1 { 4 } else { 0 };
            Rank { row: &row, block: "", cost, ratio, better, known: 4 }
        };
        let [waking, creation] = [CostKind::Waking, CostKind::Creation].map(Some);
        let ranks = [
            rank(waking, 2.0),
            rank(waking, 3.0),
            rank(waking, 1.0),
            rank(creation, 1.5),
            rank(creation, 1.0),
            rank(None, 4.0),
            rank(None, 1.0),
        ];
        let found = slow(&ranks);
        let single = Slow::Figure(&row, "");
        assert_eq!(found, [(single, 4.0), (Slow::Cost(CostKind::Waking), 2.0), (single, 1.5)]);
        let kinds =
            [("a", CostKind::Switching), ("b", CostKind::Waking), ("c", CostKind::Switching)];
        let mut settings = kinds.map(|(name, kind)| setting(name, kind));
        sort_by_worth(&mut settings, &found);
        assert_eq!(settings.map(|setting| setting.name), ["b", "a", "c"]);
        assert_eq!(slow(&[]), []);
    }
}
