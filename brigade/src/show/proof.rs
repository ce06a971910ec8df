//! A proof as a page for people.

use super::page::{NO_BREAK_SPACE, item};
use super::quantity::{ABSENT, three_digits};
use crate::judge::prove::{Figure, Proof, Property, Status};

/// The page: the outcome in a line, then each property with its figures.
pub fn page(proof: &Proof) -> String {
    let named = |status, what: &str| match proof.names_of(status).as_slice() {
        [] => None,
        names => Some(format!("{what}: {}", names.join(", "))),
    };
    let troubles = [named(Status::Fails, "FAILS"), named(Status::NotShown, "NOT SHOWN")];
    let troubles: Vec<String> = troubles.into_iter().flatten().collect();
    let outcome = if troubles.is_empty() {
        let holding = proof.names_of(Status::Holds).len();
        format!("{holding} of {} properties hold", proof.properties.len())
    } else {
        troubles.join("; ")
    };
    let aside = match proof.names_of(Status::Unjudged).len() {
        0 => String::new(),
        count => format!(", {count} cannot be measured here"),
    };
    let properties: String = proof.properties.iter().map(property).collect();
    format!("{outcome}{aside} (seed {})\n{properties}", proof.seed)
}

fn property(Property { name, status, figures }: &Property) -> String {
    let status = match status {
        Status::Holds => "holds",
        Status::Fails => "FAILS",
        Status::NotShown => "NOT SHOWN, the machine is too busy",
        Status::Unjudged => "cannot be measured here",
    };
    let figures: String = figures.iter().map(|figure| item(&line(figure))).collect();
    format!("\n{name}: {status}\n{figures}")
}

fn line(Figure { what, value, interval, unit, must, status }: &Figure) -> String {
    let show = |value| show(value, unit);
    let space = if unit.is_empty() { String::new() } else { NO_BREAK_SPACE.to_string() };
    let value = value.map_or(ABSENT.to_owned(), |value| format!("{}{space}{unit}", show(value)));
    let interval = interval.map_or(String::new(), |ends| {
        format!(" [{},{NO_BREAK_SPACE}{}]", show(ends.low), show(ends.high))
    });
    let must = match status {
        Status::Holds => format!(" (must be {must})"),
        Status::Fails => format!(" FAILS: must be {must}"),
        Status::NotShown => format!(" NOT SHOWN: must be {must}"),
        Status::Unjudged if must.is_empty() => String::new(),
        Status::Unjudged => format!(" ({must})"),
    };
    format!("{what}: {value}{interval}{must}")
}

/// A figure in its unit: three digits, but counts in full, and ratios, which are near 1, to
/// a thousandth.
fn show(value: f64, unit: &str) -> String {
    match unit {
        "" if value.fract() == 0.0 => format!("{value:.0}"),
        "" => format!("{value:.3}"),
        _ => three_digits(value),
    }
}
