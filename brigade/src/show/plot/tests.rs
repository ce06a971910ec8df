//! Every plot of a small report, element by element.

use super::super::fixture::report_of;
use super::super::svg::Picture;
use super::*;
use crate::judge::report::model::{Case, Fate, Group};
use crate::manifest::TaskKind;

/// A report of two placements of one case.
fn small() -> Report {
    let mut report = report_of(&[1.0]);
    report.groups.truncate(1);
    report.groups[0].cases.truncate(2);
    for case in &mut report.groups[0].cases {
        case.kind = Some(TaskKind::Thread);
    }
    report
}

/// An element a line.
fn lines(picture: Option<Picture>) -> String {
    let element = picture.expect("there is something to show").element("p");
    element.replace("><", ">\n<").replace('\u{a0}', " ")
}

/// Cases of so many tasks, which take ten times as long as that.
fn growing(of: &Case, tasks: &[u64]) -> Group {
    let case = |tasks: &u64| {
        let mut case = of.clone();
        case.key.parameters.insert("tasks".to_owned(), (*tasks).into());
        case.name = format!("ring, {tasks}/same-cpu");
        let time = &mut case.estimates[0].as_mut().unwrap().measurements[0].time_ns;
        time.value = 10.0 * *tasks as f64;
        let interval = time.interval.as_mut().unwrap();
        (interval.low, interval.high) = (9.0 * *tasks as f64, 11.0 * *tasks as f64);
        case
    };
    Group {
        name: "tasks".to_owned(),
        question: "How?".to_owned(),
        tails: false,
        cases: tasks.iter().map(case).collect(),
    }
}

#[test]
fn the_ladder() {
    insta::assert_snapshot!(lines(ladder::picture(&small())), @r#"
    <svg class="plot" role="img" aria-labelledby="p-t p-d" width="100%" height="116">
    <title id="p-t">Time of one operation of every case, on a logarithmic axis</title>
    <desc id="p-d">2 cases: the cheapest is threads/same-cpu (1.79 µs per hop), the dearest threads/spread (22.1 µs per hop).</desc>
    <line class="grid" x1="9.8%" y1="24" x2="9.8%" y2="98"/>
    <text class="axis" x="9.8%" y="16" text-anchor="middle">2 µs</text>
    <text class="axis" x="9.8%" y="112" text-anchor="middle">2 µs</text>
    <line class="grid" x1="42%" y1="24" x2="42%" y2="98"/>
    <text class="axis" x="42%" y="16" text-anchor="middle">5 µs</text>
    <text class="axis" x="42%" y="112" text-anchor="middle">5 µs</text>
    <line class="grid" x1="66.4%" y1="24" x2="66.4%" y2="98"/>
    <text class="axis" x="66.4%" y="16" text-anchor="middle">10 µs</text>
    <text class="axis" x="66.4%" y="112" text-anchor="middle">10 µs</text>
    <line class="grid" x1="90.7%" y1="24" x2="90.7%" y2="98"/>
    <text class="axis" x="90.7%" y="16" text-anchor="middle">20 µs</text>
    <text class="axis" x="90.7%" y="112" text-anchor="middle">20 µs</text>
    <g class="row k-thread" data-case="threads/same-cpu">
    <text y="38">
    <tspan class="name">threads/same-cpu</tspan>
    <tspan class="more">  hop · thread</tspan>
    </text>
    <text x="100%" y="38" text-anchor="end">
    <tspan class="figure">1.79 µs</tspan>
    <tspan class="more">  [1.76, 1.82]</tspan>
    </text>
    <line class="track" y1="47" x2="100%" y2="47"/>
    <line class="lead" y1="47" x2="6%" y2="47"/>
    <line class="ends" x1="5.4%" y1="47" x2="6.5%" y2="47"/>
    <circle class="mark" cx="6%" cy="47" r="4.5">
    <title>1.79 µs [1.76, 1.82]</title>
    </circle>
    </g>
    <g class="row k-thread" data-case="threads/spread">
    <text y="75">
    <tspan class="name">threads/spread</tspan>
    <tspan class="more">  hop · thread</tspan>
    </text>
    <text x="100%" y="75" text-anchor="end">
    <tspan class="figure">22.1 µs</tspan>
    <tspan class="more">  [21.6, 22.4]</tspan>
    </text>
    <line class="track" y1="84" x2="100%" y2="84"/>
    <line class="lead" y1="84" x2="94.2%" y2="84"/>
    <line class="ends" x1="93.5%" y1="84" x2="94.6%" y2="84"/>
    <circle class="mark" cx="94.2%" cy="84" r="4.5">
    <title>22.1 µs [21.6, 22.4]</title>
    </circle>
    </g>
    </svg>
    "#);
}

#[test]
fn the_forest_of_a_group() {
    let report = small();
    insta::assert_snapshot!(lines(forest::picture(&report, &report.groups[0])), @r#"
    <svg class="plot" role="img" aria-labelledby="p-t p-d" width="100%" height="116">
    <title id="p-t">What does a hop cost? Times with their intervals</title>
    <desc id="p-d">2 rows on a logarithmic axis; the figures are in the table.</desc>
    <line class="grid" x1="9.8%" y1="24" x2="9.8%" y2="98"/>
    <text class="axis" x="9.8%" y="16" text-anchor="middle">2 µs</text>
    <text class="axis" x="9.8%" y="112" text-anchor="middle">2 µs</text>
    <line class="grid" x1="42%" y1="24" x2="42%" y2="98"/>
    <text class="axis" x="42%" y="16" text-anchor="middle">5 µs</text>
    <text class="axis" x="42%" y="112" text-anchor="middle">5 µs</text>
    <line class="grid" x1="66.4%" y1="24" x2="66.4%" y2="98"/>
    <text class="axis" x="66.4%" y="16" text-anchor="middle">10 µs</text>
    <text class="axis" x="66.4%" y="112" text-anchor="middle">10 µs</text>
    <line class="grid" x1="90.7%" y1="24" x2="90.7%" y2="98"/>
    <text class="axis" x="90.7%" y="16" text-anchor="middle">20 µs</text>
    <text class="axis" x="90.7%" y="112" text-anchor="middle">20 µs</text>
    <g class="row k-thread" data-case="threads/same-cpu">
    <text y="38">
    <tspan class="name">threads/same-cpu</tspan>
    <tspan class="more">  hop · thread</tspan>
    </text>
    <text x="100%" y="38" text-anchor="end">
    <tspan class="figure">1.79 µs</tspan>
    <tspan class="more">  [1.76, 1.82]</tspan>
    </text>
    <line class="track" y1="47" x2="100%" y2="47"/>
    <line class="ends" x1="5.4%" y1="47" x2="6.5%" y2="47"/>
    <svg class="over" x="6%" y="47">
    <path class="mark" d="M-4.5 -4.5H4.5V4.5H-4.5Z">
    <title>same-cpu 1.79 µs [1.76, 1.82]</title>
    </path>
    </svg>
    </g>
    <g class="row k-thread" data-case="threads/spread">
    <text y="75">
    <tspan class="name">threads/spread</tspan>
    <tspan class="more">  hop · thread</tspan>
    </text>
    <text x="100%" y="75" text-anchor="end">
    <tspan class="figure">22.1 µs</tspan>
    <tspan class="more">  [21.6, 22.4]</tspan>
    </text>
    <line class="track" y1="84" x2="100%" y2="84"/>
    <line class="ends" x1="93.5%" y1="84" x2="94.6%" y2="84"/>
    <svg class="over" x="94.2%" y="84">
    <path class="mark" d="M0 -5.9L5.9 0L0 5.9L-5.9 0Z">
    <title>spread 22.1 µs [21.6, 22.4]</title>
    </path>
    </svg>
    </g>
    </svg>
    "#);
}

#[test]
fn the_strip_of_every_process() {
    let mut report = small();
    let group = &mut report.groups[0];
    group.cases.truncate(1);
    let estimate = group.cases[0].estimates[0].as_mut().unwrap();
    estimate.invocations[1].fate = Fate::Disturbed;
    (estimate.invocations[2].fate, estimate.invocations[2].is_used) = (Fate::Unusable, false);
    (estimate.invocations[3].fate, estimate.invocations[3].is_used) = (Fate::Failed, false);
    estimate.measurements[0].values_ns[3] = None;
    insta::assert_snapshot!(lines(strip::picture(&report, &report.groups[0])), @r#"
    <svg class="plot" role="img" aria-labelledby="p-t p-d" width="100%" height="61">
    <title id="p-t">Every process in order</title>
    <desc id="p-d">A strip for each case: a mark for each process in the order in which they ended, its height the time on an axis of the strip&#39;s own; a line at the estimate and a band for its interval.</desc>
    <g class="row" data-case="threads/same-cpu">
    <text class="name" y="13">threads/same-cpu</text>
    <text class="figure" x="100%" y="13" text-anchor="end">1.75 µs to 1.81 µs</text>
    <rect class="strip" y="17" width="100%" height="34"/>
    <rect class="band" y="25.4" width="100%" height="15.5"/>
    <line class="middle" y1="31.9" x2="100%" y2="31.9"/>
    <svg class="dots k-thread" y="17" height="34" viewBox="0 0 1000 34" preserveAspectRatio="none">
    <path d="M12 16h0">
    <title>1: 1.79 µs</title>
    </path>
    <path d="M793 26h0">
    <title>5: 1.75 µs</title>
    </path>
    <path d="M988 14h0">
    <title>6: 1.80 µs</title>
    </path>
    </svg>
    <svg class="dots rings k-thread" y="17" height="34" viewBox="0 0 1000 34" preserveAspectRatio="none">
    <path class="outline" d="M207 21h0"/>
    <path d="M207 21h0">
    <title>2: 1.77 µs</title>
    </path>
    </svg>
    <svg class="dots rings squares k-thread" y="17" height="34" viewBox="0 0 1000 34" preserveAspectRatio="none">
    <path class="outline" d="M402 11h0M598 29h0"/>
    <path d="M402 11h0">
    <title>3: 1.81 µs, unusable</title>
    </path>
    <path d="M598 29h0">
    <title>4: failed</title>
    </path>
    </svg>
    </g>
    </svg>
    "#);
}

#[test]
fn percentiles_as_curves() {
    let report = small();
    insta::assert_snapshot!(lines(percentiles::picture(&report.groups[0])), @r#"
    <svg class="plot" role="img" aria-labelledby="p-t p-d" width="100%" height="234">
    <title id="p-t">Percentiles of the laps of a process</title>
    <desc id="p-d">A curve for each case: the time that 50, 90, 99 and 99.9 % of its laps do not exceed, as medians over processes, on a logarithmic axis.</desc>
    <svg class="area" width="52%" height="234">
    <line class="grid" y1="212" x2="92%" y2="212"/>
    <text class="axis" y="209">1 µs</text>
    <line class="grid" y1="112" x2="92%" y2="112"/>
    <text class="axis" y="109">10 µs</text>
    <line class="grid" y1="12" x2="92%" y2="12"/>
    <text class="axis" y="9">100 µs</text>
    <line class="grid" x1="12%" y1="12" x2="12%" y2="212"/>
    <text class="axis" x="12%" y="227" text-anchor="middle">50 %</text>
    <line class="grid" x1="32.7%" y1="12" x2="32.7%" y2="212"/>
    <text class="axis" x="32.7%" y="227" text-anchor="middle">90 %</text>
    <line class="grid" x1="62.4%" y1="12" x2="62.4%" y2="212"/>
    <text class="axis" x="62.4%" y="227" text-anchor="middle">99 %</text>
    <line class="grid" x1="92%" y1="12" x2="92%" y2="212"/>
    <text class="axis" x="92%" y="227" text-anchor="middle">99.9 %</text>
    <g class="curves" data-case="threads/same-cpu">
    <svg viewBox="0 0 100 212" preserveAspectRatio="none" width="100%" height="212">
    <path class="curve k-thread" d="M12 191.2L32.7 169L62.4 156.5L92 138.9"/>
    </svg>
    <line class="leader k-thread" x1="92%" y1="138.9" x2="100%" y2="138.9"/>
    <svg class="dots k-thread" height="212" viewBox="0 0 1000 212" preserveAspectRatio="none">
    <path d="M120 191h0">
    <title>threads/same-cpu: 50 % within 1.61 µs</title>
    </path>
    <path d="M327 169h0">
    <title>threads/same-cpu: 90 % within 2.69 µs</title>
    </path>
    <path d="M624 157h0">
    <title>threads/same-cpu: 99 % within 3.59 µs</title>
    </path>
    <path d="M920 139h0">
    <title>threads/same-cpu: 99.9 % within 5.38 µs</title>
    </path>
    </svg>
    </g>
    <g class="curves" data-case="threads/spread">
    <svg viewBox="0 0 100 212" preserveAspectRatio="none" width="100%" height="212">
    <path class="curve k-thread" d="M12 82.2L32.7 60L62.4 47.5L92 29.9"/>
    </svg>
    <line class="leader k-thread" x1="92%" y1="29.9" x2="100%" y2="29.9"/>
    <svg class="dots k-thread" height="212" viewBox="0 0 1000 212" preserveAspectRatio="none">
    <path d="M120 82h0">
    <title>threads/spread: 50 % within 19.8 µs</title>
    </path>
    <path d="M327 60h0">
    <title>threads/spread: 90 % within 33.1 µs</title>
    </path>
    <path d="M624 48h0">
    <title>threads/spread: 99 % within 44.1 µs</title>
    </path>
    <path d="M920 30h0">
    <title>threads/spread: 99.9 % within 66.2 µs</title>
    </path>
    </svg>
    </g>
    </svg>
    <svg class="names" x="53%" height="234">
    <g class="curves" data-case="threads/same-cpu">
    <text class="label k-thread" y="142.9">threads/same-cpu</text>
    </g>
    <g class="curves" data-case="threads/spread">
    <text class="label k-thread" y="33.9">threads/spread</text>
    </g>
    </svg>
    </svg>
    "#);
}

#[test]
fn where_the_time_goes() {
    let report = report_of(&[1.0]);
    let mut group = report.groups[1].clone();
    group.cases.push(report.groups[0].cases[0].clone());
    insta::assert_snapshot!(lines(parts::picture(&report, &group)), @r#"
    <svg class="plot" role="img" aria-labelledby="p-t p-d" width="100%" height="78">
    <title id="p-t">Where the time goes</title>
    <desc id="p-d">A bar for each case: the shares of CPU time in user space, CPU time in the kernel, and waiting by what it was for. A line marks the elapsed time where threads ran at the same time.</desc>
    <g class="row" data-case="create">
    <text class="name" y="13">create</text>
    <text x="100%" y="13" text-anchor="end">
    <tspan class="more">user space 64 %, kernel 36 %  </tspan>
    <tspan class="figure">9.12 µs</tspan>
    </text>
    <rect class="p-user" y="17" width="63.7%" height="13">
    <title>user space: 8.00 µs, 64 %</title>
    </rect>
    <rect class="p-kernel" x="63.7%" y="17" width="36.3%" height="13">
    <title>kernel: 4.55 µs, 36 %</title>
    </rect>
    <line class="elapsed" x1="72.7%" y1="14" x2="72.7%" y2="33"/>
    </g>
    <g class="row" data-case="threads/same-cpu">
    <text class="name" y="52">threads/same-cpu</text>
    <text x="100%" y="52" text-anchor="end">
    <tspan class="more">user space 17 %, kernel 78 %, other waiting 5 %  </tspan>
    <tspan class="figure">1.79 µs</tspan>
    </text>
    <rect class="p-user" y="56" width="17.3%" height="13">
    <title>user space: 310 ns, 17 %</title>
    </rect>
    <rect class="p-kernel" x="17.3%" y="56" width="78%" height="13">
    <title>kernel: 1.40 µs, 78 %</title>
    </rect>
    <rect class="p-waiting" x="95.3%" y="56" width="4.7%" height="13">
    <title>other waiting: 84.5 ns, 5 %</title>
    </rect>
    </g>
    </svg>
    "#);
}

#[test]
fn growth_with_a_band() {
    let report = small();
    let group = growing(&report.groups[0].cases[0], &[500, 5, 50]);
    let [(parameter, picture)] = <[_; 1]>::try_from(growth::pictures(&group)).unwrap();
    assert_eq!(parameter, "tasks");
    insta::assert_snapshot!(lines(Some(picture)), @r#"
    <svg class="plot" role="img" aria-labelledby="p-t p-d" width="100%" height="254">
    <title id="p-t">Time by tasks</title>
    <desc id="p-d">1 lines on two logarithmic axes, with bands for the intervals.</desc>
    <svg class="area" width="52%" height="254">
    <line class="grid" y1="232" x2="92%" y2="232"/>
    <text class="axis" y="229">10 ns</text>
    <line class="grid" y1="158.7" x2="92%" y2="158.7"/>
    <text class="axis" y="155.7">100 ns</text>
    <line class="grid" y1="85.3" x2="92%" y2="85.3"/>
    <text class="axis" y="82.3">1 µs</text>
    <line class="grid" y1="12" x2="92%" y2="12"/>
    <text class="axis" y="9">10 µs</text>
    <line class="grid" x1="12%" y1="12" x2="12%" y2="232"/>
    <text class="axis" x="12%" y="247" text-anchor="middle">1</text>
    <line class="grid" x1="38.7%" y1="12" x2="38.7%" y2="232"/>
    <text class="axis" x="38.7%" y="247" text-anchor="middle">10</text>
    <line class="grid" x1="65.3%" y1="12" x2="65.3%" y2="232"/>
    <text class="axis" x="65.3%" y="247" text-anchor="middle">100</text>
    <line class="grid" x1="92%" y1="12" x2="92%" y2="232"/>
    <text class="axis" x="92%" y="247" text-anchor="middle">1000</text>
    <g class="curves" data-case="ring … same-cpu">
    <svg viewBox="0 0 100 232" preserveAspectRatio="none" width="100%" height="232">
    <path class="cover k-thread" d="M30.6 177.7L57.3 104.4L84 31L84 37.4L57.3 110.8L30.6 184.1Z"/>
    </svg>
    <svg viewBox="0 0 100 232" preserveAspectRatio="none" width="100%" height="232">
    <path class="curve k-thread" d="M30.6 180.7L57.3 107.4L84 34.1"/>
    </svg>
    <line class="leader k-thread" x1="84%" y1="34.1" x2="100%" y2="34.1"/>
    <svg class="dots k-thread" height="232" viewBox="0 0 1000 232" preserveAspectRatio="none">
    <path d="M306 181h0">
    <title>ring … same-cpu: 50.0 ns at 5 tasks</title>
    </path>
    <path d="M573 107h0">
    <title>ring … same-cpu: 500 ns at 50 tasks</title>
    </path>
    <path d="M840 34h0">
    <title>ring … same-cpu: 5.00 µs at 500 tasks</title>
    </path>
    </svg>
    </g>
    </svg>
    <svg class="names" x="53%" height="254">
    <g class="curves" data-case="ring … same-cpu">
    <text class="label k-thread" y="38.1">ring … same-cpu</text>
    </g>
    </svg>
    </svg>
    "#);
}

#[test]
fn two_cases_or_none_grow_in_no_line() {
    let report = small();
    assert!(growth::pictures(&growing(&report.groups[0].cases[0], &[5, 50])).is_empty());
    assert!(growth::pictures(&report.groups[0]).is_empty());
}

#[test]
fn several_runs_have_a_mark_and_a_colour_each() {
    let report = report_of(&[1.0, 1.3]);
    let text = lines(ladder::picture(&report));
    let rows = text.matches("class=\"row\"").count();
    assert_eq!(rows, 5);
    for class in ["mark r0", "mark r1"] {
        assert_eq!(text.matches(class).count(), rows, "{class}: {text}");
    }
    assert!(text.contains("● 907 ns   ■ 1.18 µs"), "{text}");
}

#[test]
fn figures_of_any_size_are_drawn() {
    let mut report = small();
    for (case, ns) in report.groups[0].cases.iter_mut().zip([0.0, f64::MAX]) {
        let estimate = case.estimates[0].as_mut().unwrap();
        let of = &mut estimate.measurements[0];
        of.time_ns.value = ns;
        of.values_ns.fill(Some(ns));
        let parts = estimate.attribution.as_mut().unwrap();
        (parts.user_ns.value, parts.kernel_ns.value) = (ns, ns);
    }
    let group = &report.groups[0];
    let pictures = [
        ladder::picture(&report),
        forest::picture(&report, group),
        strip::picture(&report, group),
        percentiles::picture(group),
        parts::picture(&report, group),
    ];
    for picture in pictures.into_iter().flatten() {
        let text = picture.element("p");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

/// What a map of pairs looks like, its signs first.
fn heat(report: &Report) -> String {
    let (picture, signs) = heat::picture(report, &report.pairs[0]).expect("there are pairs");
    let signs: Vec<String> = signs.into_iter().map(|(_, words)| words).collect();
    format!("{}\n{}", signs.join(", "), lines(Some(picture))).replace('\u{a0}', " ")
}

#[test]
fn the_heat_map_of_two_cpus() {
    insta::assert_snapshot!(heat(&super::super::fixture::of_pairs(&[("spin", 100.0)])), @r#"
    to 100 ns
    <svg class="plot" role="img" aria-labelledby="p-t p-d" width="100%" height="88">
    <title id="p-t">spin: every pair of CPUs</title>
    <desc id="p-d">2 CPUs along both sides, and a cell for each pair that was measured, once; its colour is the time. The figures are in the table.</desc>
    <svg class="cells" x="10%" width="32%" height="68" viewBox="0 0 2 2" preserveAspectRatio="none">
    <path class="strip" d="M0 0V2H2Z"/>
    <rect class="h0" y="1">
    <title>CPUs 0 and 1, a shared cache: 100 ns [98.4, 102]</title>
    </rect>
    </svg>
    <text class="figure" x="18%" y="55" text-anchor="middle">100 ns</text>
    <text class="axis" x="9%" y="21" text-anchor="end">CPU 0</text>
    <text class="axis" x="18%" y="82" text-anchor="middle">0</text>
    <text class="axis" x="9%" y="55" text-anchor="end">1</text>
    <text class="axis" x="34%" y="82" text-anchor="middle">1</text>
    </svg>
    "#);
}

#[test]
fn the_heat_map_of_64_cpus_has_a_cell_for_each_pair_and_parts_caches_and_nodes() {
    let report = super::super::fixture::sixty_four();
    let heat = heat(&report);
    let count = |part: &str| heat.matches(part).count();
    assert_eq!(count("<title>CPUs "), report.pairs[0].pairs.len());
    assert_eq!((count("class=\"middle\""), count("class=\"middle node\"")), (2 * 2, 2));
    let frame = |line: &&str| !line.starts_with("<title>CPUs") && !line.starts_with("</rect>");
    let cells = |line: &&str| !line.starts_with("<rect class=\"h");
    let rest: Vec<&str> = heat.lines().filter(frame).filter(cells).collect();
    insta::assert_snapshot!(rest.join("\n"), @r#"
    to 32.4 ns, to 41.9 ns, to 54.2 ns, to 70.2 ns, to 90.8 ns, to 118 ns, to 152 ns, to 197 ns
    <svg class="plot" role="img" aria-labelledby="p-t p-d" width="100%" height="500">
    <title id="p-t">spin: every pair of CPUs</title>
    <desc id="p-d">64 CPUs along both sides, and a cell for each pair that was measured, once; its colour is the time. The figures are in the table.</desc>
    <svg class="cells" x="10%" width="90%" height="480" viewBox="0 0 64 64" preserveAspectRatio="none">
    <path class="strip" d="M0 0V64H64Z"/>
    </svg>
    <line class="middle" x1="10%" y1="120" x2="32.5%" y2="120"/>
    <line class="middle" x1="32.5%" y1="120" x2="32.5%" y2="480"/>
    <line class="middle node" x1="10%" y1="240" x2="55%" y2="240"/>
    <line class="middle node" x1="55%" y1="240" x2="55%" y2="480"/>
    <line class="middle" x1="10%" y1="360" x2="77.5%" y2="360"/>
    <line class="middle" x1="77.5%" y1="360" x2="77.5%" y2="480"/>
    <text class="axis" x="9%" y="10" text-anchor="end">CPU 0</text>
    <text class="axis" x="10.7%" y="494" text-anchor="middle">0</text>
    <text class="axis" x="9%" y="37.8" text-anchor="end">2</text>
    <text class="axis" x="16.3%" y="494" text-anchor="middle">2</text>
    <text class="axis" x="9%" y="67.8" text-anchor="end">4</text>
    <text class="axis" x="22%" y="494" text-anchor="middle">4</text>
    <text class="axis" x="9%" y="97.8" text-anchor="end">6</text>
    <text class="axis" x="27.6%" y="494" text-anchor="middle">6</text>
    <text class="axis" x="9%" y="127.8" text-anchor="end">8</text>
    <text class="axis" x="33.2%" y="494" text-anchor="middle">8</text>
    <text class="axis" x="9%" y="157.8" text-anchor="end">10</text>
    <text class="axis" x="38.8%" y="494" text-anchor="middle">10</text>
    <text class="axis" x="9%" y="187.8" text-anchor="end">12</text>
    <text class="axis" x="44.5%" y="494" text-anchor="middle">12</text>
    <text class="axis" x="9%" y="217.8" text-anchor="end">14</text>
    <text class="axis" x="50.1%" y="494" text-anchor="middle">14</text>
    <text class="axis" x="9%" y="247.8" text-anchor="end">16</text>
    <text class="axis" x="55.7%" y="494" text-anchor="middle">16</text>
    <text class="axis" x="9%" y="277.8" text-anchor="end">18</text>
    <text class="axis" x="61.3%" y="494" text-anchor="middle">18</text>
    <text class="axis" x="9%" y="307.8" text-anchor="end">20</text>
    <text class="axis" x="67%" y="494" text-anchor="middle">20</text>
    <text class="axis" x="9%" y="337.8" text-anchor="end">22</text>
    <text class="axis" x="72.6%" y="494" text-anchor="middle">22</text>
    <text class="axis" x="9%" y="367.8" text-anchor="end">24</text>
    <text class="axis" x="78.2%" y="494" text-anchor="middle">24</text>
    <text class="axis" x="9%" y="397.8" text-anchor="end">26</text>
    <text class="axis" x="83.8%" y="494" text-anchor="middle">26</text>
    <text class="axis" x="9%" y="427.8" text-anchor="end">28</text>
    <text class="axis" x="89.5%" y="494" text-anchor="middle">28</text>
    <text class="axis" x="9%" y="457.8" text-anchor="end">30</text>
    <text class="axis" x="95.1%" y="494" text-anchor="middle">30</text>
    </svg>
    "#);
}
