//! Where in the manifest's text something stands, and what may have been
//! meant by a name that is not known.

use toml::Spanned;
use toml::de::DeTable;

/// How alike two names must be for one to be a slip for the other, by Jaro and
/// Winkler's measure, from 0 to 1; clap uses a similar one.
const ALIKE: f64 = 0.8;

/// The most names that an error lists: a few lines of a terminal.
const MOST_NAMED: usize = 16;

/// What is wrong with a manifest that parses, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    pub(super) table: Table,
    /// The key that is wrong.
    pub(super) key: &'static str,
    pub(super) reason: String,
}

/// A table of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// The profile of this name.
    Profile(String),
    /// The group at this index.
    Group(usize),
    /// Of the group at an index, the entry at an index.
    Case(usize, usize),
    /// The row of the headline at this index.
    Headline(usize),
    /// The kind at this index.
    Kind(usize),
    /// What a proof runs.
    Prove,
    /// What advice is tried with.
    Advice,
    /// What tells the cost of a switch.
    Impact,
}

impl Complaint {
    /// The line that `text` has the complaint's value on, counted from 1; 1
    /// where the value was left out.
    pub(super) fn line(&self, text: &str) -> usize {
        line_of(text, self.offset(text).unwrap_or(0))
    }

    /// Where in `text` the complaint's value begins, in bytes.
    fn offset(&self, text: &str) -> Option<usize> {
        let root = DeTable::parse(text).ok()?;
        let table = |name: &str| root.get_ref().get(name).map(Spanned::get_ref);
        let value = match &self.table {
            Table::Profile(name) => table("profiles")?.get(name.as_str())?.get_ref(),
            Table::Group(index) => table("group")?.get(index)?.get_ref(),
            Table::Case(group, index) => {
                let entries = table("group")?.get(group)?.get_ref().get("case")?;
                entries.get_ref().get(index)?.get_ref()
            }
            Table::Kind(index) => table("kind")?.get(index)?.get_ref(),
            Table::Headline(index) => table("headline")?.get(index)?.get_ref(),
            Table::Prove => table("prove")?,
            Table::Advice => table("advice")?,
            Table::Impact => table("impact")?,
        };
        Some(value.get(self.key)?.span().start)
    }
}

/// The line, counted from 1, that the byte at `offset` is on.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Names what is not known, what is, unless that would fill the screen, and what
/// may have been meant.
pub(super) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a String>,
) -> String {
    let known: Vec<&str> = known.map(String::as_str).collect();
    let all = match known.len() {
        ..=MOST_NAMED => format!("known: {}", known.join(", ")),
        more => format!("brigade list shows the {more} that there are"),
    };
    format!("unknown {what} '{name}'; {all}{}", meant(name, &known))
}

/// Words that ask whether the most similar of the `known` names was meant, or
/// nothing if none is similar.
pub(super) fn meant(name: &str, known: &[&str]) -> String {
    let likeness = |known: &&&str| strsim::jaro_winkler(name, known);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest.filter(|nearest| likeness(nearest) > ALIKE) {
        Some(nearest) => format!("; did you mean '{nearest}'?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_similar_name_is_proposed() {
        assert_eq!(meant("runds", &["flags", "rounds"]), "; did you mean 'rounds'?");
        assert_eq!(meant("x", &["flags", "rounds"]), "");
        assert_eq!(meant("x", &[]), "");
    }

    #[test]
    fn what_is_known_is_named_if_it_is_not_too_much() {
        let names: Vec<_> = (0..=MOST_NAMED).map(|number| format!("case-{number}")).collect();
        let few = unknown("case", "x", names[..2].iter());
        assert_eq!(few, "unknown case 'x'; known: case-0, case-1");
        let many = unknown("case", "case-", names.iter());
        let shown = "unknown case 'case-'; brigade list shows the 17 that there are; did you mean";
        assert!(many.starts_with(shown), "{many}");
    }

    #[test]
    fn the_line_is_that_of_the_value() {
        let text =
            "[[group]]\nname = 'g'\n[[group.case]]\n[[group.case]]\nname = 'b'\nflags = [\n]\n";
        let line = |table, key| Complaint { table, key, reason: String::new() }.line(text);
        let of_case = |key| line(Table::Case(0, 1), key);
        assert_eq!((of_case("name"), of_case("flags"), of_case("absent")), (5, 6, 1));
        assert_eq!((line(Table::Group(0), "name"), line(Table::Group(1), "name")), (2, 1));
    }
}
