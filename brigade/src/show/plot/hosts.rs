//! Every host in each case: a mark for each, the hosts in one order in all strips, so
//! that one that is slow everywhere stands out everywhere.

use super::super::quantity::{duration, three_digits};
use super::super::scale::Scale;
use super::super::svg::{Picture, cloud, dot, group as element, line};
use super::strip::{GAP, LABEL, across, band, frame};
use crate::judge::hosts::model::{HostEstimate, HostsReport, Standing};

const STRIP: f64 = 44.0;
/// The most hosts whose marks say all what they are of: of more, those that differ do.
const MOST_TITLES: usize = 100;

/// The classes of standings, and what they stand for.
pub const SIGNS: [(&str, &str); 3] =
    [("v-slower", "slower"), ("v-faster", "faster"), ("v-same", "alike or not judged")];

/// The picture; `None` without a host.
pub fn picture(report: &HostsReport) -> Option<Picture> {
    let mut body = String::new();
    let mut y = 0.0;
    let together = report.hosts.iter().enumerate().map(|(place, host)| Mark {
        place,
        host,
        ratio: host.ratio,
        standing: host.standing,
        time: String::new(),
    });
    body += &strip(report, "all cases together", &together.collect::<Vec<_>>(), &mut y)?;
    for case in &report.cases {
        let marks = report.hosts.iter().enumerate().filter_map(|(place, host)| {
            let found = host.case(&case.case)?;
            let time = duration(found.ns.value);
            Some(Mark { place, host, ratio: found.ratio, standing: found.standing, time })
        });
        body += &strip(report, &case.case, &marks.collect::<Vec<_>>(), &mut y).unwrap_or_default();
    }
    Some(Picture {
        title: "Every host in each case".to_owned(),
        description: "A strip for each case, and one for all together: a mark for each host, the \
                      slowest of all left, its height how many times as long it takes as the \
                      middle host; a band for differences that do not matter."
            .to_owned(),
        height: y,
        body,
    })
}

/// A host in a strip.
struct Mark<'a> {
    place: usize,
    host: &'a HostEstimate,
    ratio: f64,
    standing: Standing,
    time: String,
}

fn strip(report: &HostsReport, name: &str, marks: &[Mark], y: &mut f64) -> Option<String> {
    let most = 1.0 + report.margin;
    let ratios = || marks.iter().map(|mark| mark.ratio);
    let scale = Scale::of(ratios().chain([1.0 / most, most]))?;
    let down = |ratio: f64| 3.0 + (1.0 - scale.share(ratio)) * (STRIP - 6.0);
    let top = *y + LABEL;
    let [least, greatest] = [f64::min, f64::max].map(|of| ratios().reduce(of));
    let span = format!("{} to {} times", three_digits(least?), three_digits(greatest?));
    let mut elements = frame(name, &span, top, STRIP);
    elements += &band(top + down(most), top + down(1.0 / most));
    elements += &line((0.0, top + down(1.0)), (1.0, top + down(1.0)), "middle");
    for (class, standings) in [
        ("v-same", &[Standing::Alike, Standing::SetAside][..]),
        ("v-faster", &[Standing::Faster]),
        ("v-slower", &[Standing::Slower]),
    ] {
        let of_class = marks.iter().filter(|mark| standings.contains(&mark.standing));
        let dots: String = of_class
            .map(|mark| {
                let x = across(mark.place, report.hosts.len());
                dot((x, down(mark.ratio)), &title(mark, report.hosts.len()))
            })
            .collect();
        elements += &cloud(class, [top, STRIP], &dots);
    }
    *y += LABEL + STRIP + GAP;
    Some(element(name, "row", &elements))
}

fn title(mark: &Mark, hosts: usize) -> String {
    if hosts > MOST_TITLES && !mark.standing.differs() {
        return String::new();
    }
    let Mark { host, ratio, time, .. } = mark;
    format!("{}: {} times {time}", host.host, three_digits(*ratio)).trim_end().to_owned()
}
