//! A report of many hosts as a page: the hosts in strips, a strip for each case.

use super::super::hosts::{hosts as table_of, sections, summary};
use super::super::plot::hosts::{SIGNS, picture};
use super::element::{Sign, blocks, figure, table};
use super::figures::within;
use super::{Page, Piece, Section};
use crate::judge::hosts::model::{HostEstimate, HostsReport};

/// The page of a report of hosts.
///
/// # Errors
/// Never: the template is a constant.
pub fn hosts(report: &HostsReport) -> anyhow::Result<String> {
    let mut parts =
        vec![Section::new("short", "In short", vec![Piece::open(blocks(&summary(report)))])];
    let caption = "How many times as long each host takes as the middle one. Hosts stand in the \
                   same order in every strip, the slowest of all left; the band is what does not \
                   matter; each strip has an axis of its own.";
    let signs =
        SIGNS.map(|(class, words)| Sign { class: class.to_owned(), words: words.to_owned() });
    let drawn = picture(report).map_or(String::new(), |of| figure("hosts", caption, &signs, &of));
    let all: Vec<&HostEstimate> = report.hosts.iter().collect();
    let every = Piece::folded("The figures of every host", table(&table_of(&all)));
    parts.push(Section::new("hosts", "Every host", vec![Piece::open(drawn), every]));
    for (index, (heading, content)) in sections(report, None).into_iter().enumerate() {
        let id = format!("part-{index}");
        parts.push(Section::new(&id, heading, vec![Piece::open(blocks(&content))]));
    }
    let page = Page {
        title: format!("{} hosts", report.hosts.len()),
        made: Vec::new(),
        sections: parts,
        figures: within(&report.cases),
    };
    page.render()
}

#[cfg(test)]
mod tests {
    use super::super::super::hosts::tests::fleet;
    use super::*;

    #[test]
    fn every_host_has_a_mark_in_each_strip_and_names_are_text() {
        let mut report = fleet();
        report.hosts[0].host = "<script>".to_owned();
        let page = hosts(&report).unwrap();
        assert_eq!(page.matches("<g class=\"row\"").count(), 3);
        assert_eq!(page.matches("times</title>").count(), 8, "all cases together");
        assert!(page.contains("&lt;script&gt;") && !page.contains("><script>"), "{page}");
        assert!(page.contains("processor.governor"));
    }
}
