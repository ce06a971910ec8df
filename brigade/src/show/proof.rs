//! A proof as a page for people.

use harness::terminal;

use super::markdown::indented;
use super::page::{NO_BREAK_SPACE, item};
use super::quantity::{ABSENT, three_digits};
use crate::judge::prove::proof::{Figure, Proof, Property, Standing};

/// The page: a sentence, then each property with its figures.
pub fn page(proof: &Proof) -> String {
    let properties: String = proof.properties.iter().map(property).collect();
    format!("{}{properties}", verdict(proof))
}

/// The page in Markdown.
pub fn markdown(proof: &Proof) -> String {
    let body: String = terminal::text(&page(proof)).lines().map(indented).collect();
    format!("# The instrument\n\nA proof of {}:\n\n{body}", proof.started_at)
}

/// The outcome in a line.
fn verdict(proof: &Proof) -> String {
    let named = |standing, what| match proof.names_of(standing).as_slice() {
        [] => None,
        names => Some(format!("{what}: {}", names.join(", "))),
    };
    let troubles: Vec<String> =
        [named(Standing::Fails, "FAILS"), named(Standing::NotShown, "NOT SHOWN")]
            .into_iter()
            .flatten()
            .collect();
    let (holding, all) = (proof.names_of(Standing::Holds).len(), proof.properties.len());
    let outcome = match troubles.as_slice() {
        [] => format!("{holding} of {all} properties hold"),
        troubles => troubles.join("; "),
    };
    let aside = match proof.names_of(Standing::Unjudged).len() {
        0 => String::new(),
        count => format!(", {count} cannot be measured here"),
    };
    format!("{outcome}{aside} (seed {})\n", proof.seed)
}

fn property(property: &Property) -> String {
    let standing = match property.standing {
        Standing::Holds => "holds",
        Standing::Fails => "FAILS",
        Standing::NotShown => "NOT SHOWN, the machine is too busy",
        Standing::Unjudged => "cannot be measured here",
    };
    let figures: String = property.figures.iter().map(|figure| item(&line(figure))).collect();
    format!("\n{}: {standing}\n{figures}", property.name)
}

fn line(figure: &Figure) -> String {
    let Figure { what, value, low, high, unit, must, standing } = figure;
    let show = |value| show(value, unit);
    let unit = if unit.is_empty() { String::new() } else { format!("{NO_BREAK_SPACE}{unit}") };
    let value = match value {
        Some(value) => format!("{}{unit}", show(*value)),
        None => ABSENT.to_owned(),
    };
    let interval = match (low, high) {
        (Some(low), Some(high)) => {
            format!(" [{},{NO_BREAK_SPACE}{}]", show(*low), show(*high))
        }
        _ => String::new(),
    };
    let must = match standing {
        Standing::Holds => format!(" (must be {must})"),
        Standing::Fails => format!(" FAILS: must be {must}"),
        Standing::NotShown => format!(" NOT SHOWN: must be {must}"),
        Standing::Unjudged if must.is_empty() => String::new(),
        Standing::Unjudged => format!(" ({must})"),
    };
    format!("{what}: {value}{interval}{must}")
}

/// A figure in its unit: three digits, but counts in full and ratios, which lie
/// near 1, to a thousandth.
fn show(value: f64, unit: &str) -> String {
    match unit {
        "" if value.fract() == 0.0 => format!("{value:.0}"),
        "" => format!("{value:.3}"),
        _ => three_digits(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof() -> Proof {
        let slope = Figure::new("x: slope over known work", 1.0034, "").between(0.99, 1.0125);
        let share = Figure::new("run side by side, false verdicts of 12", 25.0, "%");
        Proof {
            schema_version: "1.0".to_owned(),
            brigade_version: "0.1.0".to_owned(),
            started_at: "2026-01-01T00:00:00.000Z".to_owned(),
            seed: 7,
            properties: vec![
                Property::of(
                    "A/A",
                    vec![share.between(5.49, 57.2).must("compatible with 5 %", false)],
                ),
                Property::of("known work", vec![slope.must("1, known to 5 %", true)]),
                Property::of("known crossing", vec![Figure::missing("across CPUs", "one CPU")]),
            ],
        }
    }

    #[test]
    fn a_page_leads_with_what_fails() {
        insta::assert_snapshot!(page(&proof()), @r"
        FAILS: A/A, 1 cannot be measured here (seed 7)

        A/A: FAILS
        - run side by side, false verdicts of 12: 25.0 % [5.49, 57.2] FAILS: must be
          compatible with 5 %

        known work: holds
        - x: slope over known work: 1.003 [0.990, 1.012] (must be 1, known to 5 %)

        known crossing: cannot be measured here
        - across CPUs: – (one CPU)
        ");
    }

    #[test]
    fn a_page_without_failures_counts_what_holds() {
        let mut proof = proof();
        proof.properties.remove(0);
        let first = page(&proof).lines().next().map(str::to_owned);
        let expected = "1 of 2 properties hold, 1 cannot be measured here (seed 7)";
        assert_eq!(first.as_deref(), Some(expected));
    }

    #[test]
    fn not_shown_neither_holds_nor_fails() {
        let mut proof = proof();
        let slope = Figure::new("x: slope over known work", 1.01, "").between(0.99, 1.4);
        let blunt = slope.judged("1, known to 5 %", Standing::NotShown);
        proof.properties[1] = Property::of("known work", vec![blunt]);
        let first = |proof: &Proof| page(proof).lines().next().map(str::to_owned).unwrap();
        let both = "FAILS: A/A; NOT SHOWN: known work, 1 cannot be measured here (seed 7)";
        assert_eq!(first(&proof), both);
        proof.properties.remove(0);
        assert_eq!(first(&proof), "NOT SHOWN: known work, 1 cannot be measured here (seed 7)");
        assert_eq!(proof.standing(), Standing::NotShown);
        let expected = "known work: NOT SHOWN, the machine is too busy\n\
                    - x: slope over known work: 1.010 [0.990, 1.400] NOT SHOWN: must be 1, known to";
        assert!(page(&proof).contains(expected), "{}", page(&proof));
    }
}
