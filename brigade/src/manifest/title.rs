//! Titles of cases for readers who do not know them, composed from the case's
//! flags.

use std::collections::BTreeMap;

use super::program::parse_flags;
use super::{Case, Manifest};

/// For each flag, by its name without dashes, words for its values. `*` matches any other value,
/// which replaces `{}`. Empty words omit the flag.
pub type Words = BTreeMap<String, BTreeMap<String, String>>;

/// The name of a subcommand among the flags.
const SUBCOMMAND: &str = "subcommand";

impl Manifest {
    /// The title of a case: its program's title with every `{flag}` replaced, then the other flags,
    /// except those named as `{-flag}`. Without a pattern it is the case's name.
    pub fn title(&self, case: &Case) -> String {
        let Some(program) = self.programs.get(&case.program) else { return case.name.clone() };
        let given = parse_flags(&case.flags);
        let of_rule = || program.with.iter().find(|of| of.title.is_some() && of.applies(&given));
        let pattern = case.title.as_ref().or_else(|| of_rule()?.title.as_ref());
        let Some(pattern) = pattern.or(program.title.as_ref()) else { return case.name.clone() };
        let mut flags = vec![("placement", case.placement.as_str())];
        flags.extend(
            given
                .into_iter()
                .map(|(flag, value)| (flag.unwrap_or(SUBCOMMAND), value.unwrap_or("true"))),
        );
        let left_out = program.defaults.iter().map(|(flag, value)| (flag.as_str(), value.as_str()));
        let left_out = left_out.filter(|(flag, _)| {
            pattern.contains(&format!("{{{flag}}}")) && flags.iter().all(|(of, _)| of != flag)
        });
        let mut title = pattern.clone();
        let mut more = Vec::new();
        for (flag, value) in flags.iter().copied().chain(left_out) {
            let (place, hidden) = (format!("{{{flag}}}"), format!("{{-{flag}}}"));
            if title.contains(&hidden) {
                title = title.replace(&hidden, "");
                continue;
            }
            let words = self.words_for(flag, value);
            let (words, rest) = words.split_once('|').unwrap_or((&words, ""));
            if pattern.contains(&place) {
                title = title.replace(&place, words);
            } else if (flag, value) != ("placement", "free") {
                more.push(words.to_owned());
            }
            more.push(rest.to_owned());
        }
        more.retain(|words| !words.is_empty());
        [vec![title], more].concat().join(", ")
    }

    /// The title of the case with this name; the name if the manifest lacks it.
    pub fn title_of(&self, name: &str) -> String {
        let case = self.cases.iter().find(|case| case.name == name);
        case.map_or_else(|| name.to_owned(), |case| self.title(case))
    }

    fn words_for(&self, flag: &str, value: &str) -> String {
        let known = self.words.get(flag);
        let words = known.and_then(|of| of.get(value).or_else(|| of.get("*")));
        match words {
            Some(words) => words.replace("{}", value),
            None if flag == SUBCOMMAND => value.to_owned(),
            None if value == "true" => flag.replace('-', " "),
            None => value.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn suite() -> Manifest {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suite.toml");
        Manifest::load(Some(&path), None).unwrap()
    }

    #[test]
    fn a_title_names_the_flags_and_the_defaults_of_the_rest() {
        let manifest = suite();
        for (name, title) in [
            ("async-brigade-ct", "tokio tasks over pipes, one worker"),
            ("thread-brigade/same-cpu", "threads over pipes, all on one CPU"),
            ("thread-awake/spread", "threads over pipes, always to another CPU, CPUs kept awake"),
            ("python-creation-thread", "create Python threads, 1000 tasks"),
        ] {
            assert_eq!(manifest.title_of(name), title, "{name}");
        }
    }

    #[test]
    fn every_case_has_a_distinct_title_in_words() {
        let manifest = suite();
        let titles: Vec<String> = manifest.cases.iter().map(|case| manifest.title(case)).collect();
        for (case, title) in manifest.cases.iter().zip(&titles) {
            let is_words = !title.contains(['{', '}', '/']) && title.contains(' ');
            assert!(is_words && title.chars().count() <= 90, "{}: {title}", case.name);
        }
        let mut seen = BTreeSet::new();
        let twice: Vec<&String> = titles.iter().filter(|title| !seen.insert(*title)).collect();
        assert!(twice.is_empty(), "{twice:#?}");
    }

    /// A reader sees a row without the one above: another profile may leave that out.
    #[test]
    fn no_label_refers_to_another_row() {
        let manifest = suite();
        let titles = manifest.cases.iter().map(|case| manifest.title(case));
        let figures = manifest.headline.iter().filter_map(|figure| figure.text.clone());
        let kinds = manifest.kinds.iter().map(|kind| kind.text.clone());
        let blocks = manifest.screen.iter().flat_map(|part| &part.blocks);
        let rows = blocks.flat_map(|block| &block.rows).filter_map(|row| row.text.clone());
        let labels: Vec<String> = titles.chain(figures).chain(kinds).chain(rows).collect();
        assert!(labels.len() > manifest.cases.len());
        for label in labels {
            // One thread, as opposed to two, refers to no row.
            let label = label.replace("on the same thread", "");
            assert!(!label.contains("the same") && !label.contains("ditto"), "{label}");
        }
    }
}
