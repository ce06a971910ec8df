//! A proof as a page for people.

use super::proof::{Figure, Proof, Property, Standing};
use crate::report::paragraph::item;
use crate::report::quantity::{ABSENT, JOINT, three_digits};

/// The page: a sentence, then each property with its figures.
#[must_use]
pub fn page(proof: &Proof) -> String {
    let properties: String = proof.properties.iter().map(property).collect();
    format!("{}{properties}", verdict(proof))
}

/// What the proof comes to, in a line.
fn verdict(proof: &Proof) -> String {
    let failing: Vec<&str> = proof.failing().map(|property| property.name.as_str()).collect();
    let all = proof.properties.len();
    let unjudged =
        proof.properties.iter().filter(|property| property.standing == Standing::Unjudged).count();
    let aside = match unjudged {
        0 => String::new(),
        count => format!(", {count} cannot be told here"),
    };
    match failing.as_slice() {
        [] => format!("{} of {all} properties hold{aside} (seed {})\n", all - unjudged, proof.seed),
        failing => format!("FAILS: {}{aside} (seed {})\n", failing.join(", "), proof.seed),
    }
}

fn property(property: &Property) -> String {
    let standing = match property.standing {
        Standing::Holds => "holds",
        Standing::Fails => "FAILS",
        Standing::Unjudged => "cannot be told here",
    };
    let figures: String = property.figures.iter().map(|figure| item(&line(figure))).collect();
    format!("\n{}: {standing}\n{figures}", property.name)
}

fn line(figure: &Figure) -> String {
    let Figure { what, value, low, high, unit, must, standing } = figure;
    let show = |value| show(value, unit);
    let unit = if unit.is_empty() { String::new() } else { format!("{JOINT}{unit}") };
    let value = match value {
        Some(value) => format!("{}{unit}", show(*value)),
        None => ABSENT.to_owned(),
    };
    let interval = match (low, high) {
        (Some(low), Some(high)) => {
            format!(" [{},{JOINT}{}]", show(*low), show(*high))
        }
        _ => String::new(),
    };
    let must = match standing {
        Standing::Holds => format!(" (must be {must})"),
        Standing::Fails => format!(" FAILS: must be {must}"),
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
