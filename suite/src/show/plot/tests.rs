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
        cases: tasks.iter().map(case).collect(),
    }
}

#[test]
fn the_ladder() {
    insta::assert_snapshot!(lines(ladder::picture(&small())), @r#"
    <svg class="plot" role="img" aria-labelledby="p-t p-d" width="100%" height="116">
    <title id="p-t">Time of one operation of every case, on a logarithmic axis</title>
    <desc id="p-d">2 cases: the cheapest is threads/same-cpu (1.79 µs per hop), the dearest threads/spread (22.1 µs per hop).</desc>
    <line class="grid" x1="9.84%" y1="24" x2="9.84%" y2="98"/>
    <text x="9.84%" y="16" text-anchor="middle">
    <tspan class="axis">2 µs</tspan>
    </text>
    <text x="9.84%" y="112" text-anchor="middle">
    <tspan class="axis">2 µs</tspan>
    </text>
    <line class="grid" x1="42.02%" y1="24" x2="42.02%" y2="98"/>
    <text x="42.02%" y="16" text-anchor="middle">
    <tspan class="axis">5 µs</tspan>
    </text>
    <text x="42.02%" y="112" text-anchor="middle">
    <tspan class="axis">5 µs</tspan>
    </text>
    <line class="grid" x1="66.37%" y1="24" x2="66.37%" y2="98"/>
    <text x="66.37%" y="16" text-anchor="middle">
    <tspan class="axis">10 µs</tspan>
    </text>
    <text x="66.37%" y="112" text-anchor="middle">
    <tspan class="axis">10 µs</tspan>
    </text>
    <line class="grid" x1="90.72%" y1="24" x2="90.72%" y2="98"/>
    <text x="90.72%" y="16" text-anchor="middle">
    <tspan class="axis">20 µs</tspan>
    </text>
    <text x="90.72%" y="112" text-anchor="middle">
    <tspan class="axis">20 µs</tspan>
    </text>
    <g class="row" data-case="threads/same-cpu">
    <text x="0%" y="38">
    <tspan class="name">threads/same-cpu</tspan>
    <tspan class="more" dx="6">hop · thread</tspan>
    </text>
    <text x="100%" y="38" text-anchor="end">
    <tspan class="figure">1.79 µs</tspan>
    <tspan class="more" dx="6">[1.76, 1.82]</tspan>
    </text>
    <line class="track" x1="0%" y1="47" x2="100%" y2="47"/>
    <line class="lead k-thread" x1="0%" y1="47" x2="6.03%" y2="47"/>
    <line class="ends k-thread" x1="5.36%" y1="47" x2="6.51%" y2="47"/>
    <circle class="mark k-thread" cx="6.03%" cy="47" r="4.5">
    <title>threads/same-cpu: 1.79 µs [1.76, 1.82]</title>
    </circle>
    </g>
    <g class="row" data-case="threads/spread">
    <text x="0%" y="75">
    <tspan class="name">threads/spread</tspan>
    <tspan class="more" dx="6">hop · thread</tspan>
    </text>
    <text x="100%" y="75" text-anchor="end">
    <tspan class="figure">22.1 µs</tspan>
    <tspan class="more" dx="6">[21.6, 22.4]</tspan>
    </text>
    <line class="track" x1="0%" y1="84" x2="100%" y2="84"/>
    <line class="lead k-thread" x1="0%" y1="84" x2="94.16%" y2="84"/>
    <line class="ends k-thread" x1="93.49%" y1="84" x2="94.64%" y2="84"/>
    <circle class="mark k-thread" cx="94.16%" cy="84" r="4.5">
    <title>threads/spread: 22.1 µs [21.6, 22.4]</title>
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
    <line class="grid" x1="9.84%" y1="24" x2="9.84%" y2="98"/>
    <text x="9.84%" y="16" text-anchor="middle">
    <tspan class="axis">2 µs</tspan>
    </text>
    <text x="9.84%" y="112" text-anchor="middle">
    <tspan class="axis">2 µs</tspan>
    </text>
    <line class="grid" x1="42.02%" y1="24" x2="42.02%" y2="98"/>
    <text x="42.02%" y="16" text-anchor="middle">
    <tspan class="axis">5 µs</tspan>
    </text>
    <text x="42.02%" y="112" text-anchor="middle">
    <tspan class="axis">5 µs</tspan>
    </text>
    <line class="grid" x1="66.37%" y1="24" x2="66.37%" y2="98"/>
    <text x="66.37%" y="16" text-anchor="middle">
    <tspan class="axis">10 µs</tspan>
    </text>
    <text x="66.37%" y="112" text-anchor="middle">
    <tspan class="axis">10 µs</tspan>
    </text>
    <line class="grid" x1="90.72%" y1="24" x2="90.72%" y2="98"/>
    <text x="90.72%" y="16" text-anchor="middle">
    <tspan class="axis">20 µs</tspan>
    </text>
    <text x="90.72%" y="112" text-anchor="middle">
    <tspan class="axis">20 µs</tspan>
    </text>
    <g class="row" data-case="threads/same-cpu">
    <text x="0%" y="38">
    <tspan class="name">threads/same-cpu</tspan>
    <tspan class="more" dx="6">hop · thread</tspan>
    </text>
    <text x="100%" y="38" text-anchor="end">
    <tspan class="figure">1.79 µs</tspan>
    <tspan class="more" dx="6">[1.76, 1.82]</tspan>
    </text>
    <line class="track" x1="0%" y1="47" x2="100%" y2="47"/>
    <line class="ends k-thread" x1="5.36%" y1="47" x2="6.51%" y2="47"/>
    <svg class="over" x="6.03%" y="47">
    <path class="mark k-thread" d="M-4.5 -4.5H4.5V4.5H-4.5Z">
    <title>threads/same-cpu same-cpu: 1.79 µs [1.76, 1.82]</title>
    </path>
    </svg>
    </g>
    <g class="row" data-case="threads/spread">
    <text x="0%" y="75">
    <tspan class="name">threads/spread</tspan>
    <tspan class="more" dx="6">hop · thread</tspan>
    </text>
    <text x="100%" y="75" text-anchor="end">
    <tspan class="figure">22.1 µs</tspan>
    <tspan class="more" dx="6">[21.6, 22.4]</tspan>
    </text>
    <line class="track" x1="0%" y1="84" x2="100%" y2="84"/>
    <line class="ends k-thread" x1="93.49%" y1="84" x2="94.64%" y2="84"/>
    <svg class="over" x="94.16%" y="84">
    <path class="mark k-thread" d="M0 -5.85L5.85 0L0 5.85L-5.85 0Z">
    <title>threads/spread spread: 22.1 µs [21.6, 22.4]</title>
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
    <text x="0%" y="13">
    <tspan class="name">threads/same-cpu</tspan>
    </text>
    <text x="100%" y="13" text-anchor="end">
    <tspan class="figure">1.75 µs to 1.81 µs</tspan>
    </text>
    <rect class="strip" x="0%" y="17" width="100%" height="34">
    </rect>
    <rect class="band" x="0%" y="25.42" width="100%" height="15.46">
    </rect>
    <line class="middle" x1="0%" y1="31.91" x2="100%" y2="31.91"/>
    <g class="dots k-thread">
    <circle cx="1.2%" cy="33.1">
    <title>1: 1.79 µs</title>
    </circle>
    <circle cx="79.3%" cy="42.6">
    <title>5: 1.75 µs</title>
    </circle>
    <circle cx="98.8%" cy="30.7">
    <title>6: 1.80 µs</title>
    </circle>
    </g>
    <circle class="hollow k-thread" cx="20.72%" cy="37.81" r="2.5">
    <title>2: 1.77 µs, disturbed</title>
    </circle>
    <svg class="over" x="40.24%" y="28.4">
    <path class="cross k-thread" d="M-2.5 -2.5L2.5 2.5M2.5 -2.5L-2.5 2.5">
    <title>3: 1.81 µs, unusable</title>
    </path>
    </svg>
    <svg class="over" x="59.76%" y="46">
    <path class="cross k-thread" d="M-2.5 -2.5L2.5 2.5M2.5 -2.5L-2.5 2.5">
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
    <line class="grid" x1="0%" y1="212" x2="92%" y2="212"/>
    <text x="0%" y="209">
    <tspan class="axis">1 µs</tspan>
    </text>
    <line class="grid" x1="0%" y1="112" x2="92%" y2="112"/>
    <text x="0%" y="109">
    <tspan class="axis">10 µs</tspan>
    </text>
    <line class="grid" x1="0%" y1="12" x2="92%" y2="12"/>
    <text x="0%" y="9">
    <tspan class="axis">100 µs</tspan>
    </text>
    <line class="grid" x1="12%" y1="12" x2="12%" y2="212"/>
    <text x="12%" y="227" text-anchor="middle">
    <tspan class="axis">50 %</tspan>
    </text>
    <line class="grid" x1="32.72%" y1="12" x2="32.72%" y2="212"/>
    <text x="32.72%" y="227" text-anchor="middle">
    <tspan class="axis">90 %</tspan>
    </text>
    <line class="grid" x1="62.36%" y1="12" x2="62.36%" y2="212"/>
    <text x="62.36%" y="227" text-anchor="middle">
    <tspan class="axis">99 %</tspan>
    </text>
    <line class="grid" x1="92%" y1="12" x2="92%" y2="212"/>
    <text x="92%" y="227" text-anchor="middle">
    <tspan class="axis">99.9 %</tspan>
    </text>
    <g class="curves" data-case="threads/same-cpu">
    <svg viewBox="0 0 100 212" preserveAspectRatio="none" width="100%" height="212">
    <path class="curve k-thread" d="M12 191.18L32.72 169L62.36 156.5L92 138.89"/>
    </svg>
    <line class="leader k-thread" x1="92%" y1="138.89" x2="100%" y2="138.89"/>
    <circle class="mark k-thread" cx="12%" cy="191.18" r="3">
    <title>threads/same-cpu: 50 % within 1.61 µs</title>
    </circle>
    <circle class="mark k-thread" cx="32.72%" cy="169" r="3">
    <title>threads/same-cpu: 90 % within 2.69 µs</title>
    </circle>
    <circle class="mark k-thread" cx="62.36%" cy="156.5" r="3">
    <title>threads/same-cpu: 99 % within 3.59 µs</title>
    </circle>
    <circle class="mark k-thread" cx="92%" cy="138.89" r="3">
    <title>threads/same-cpu: 99.9 % within 5.38 µs</title>
    </circle>
    </g>
    <g class="curves" data-case="threads/spread">
    <svg viewBox="0 0 100 212" preserveAspectRatio="none" width="100%" height="212">
    <path class="curve k-thread" d="M12 82.23L32.72 60.04L62.36 47.55L92 29.94"/>
    </svg>
    <line class="leader k-thread" x1="92%" y1="29.94" x2="100%" y2="29.94"/>
    <circle class="mark k-thread" cx="12%" cy="82.23" r="3">
    <title>threads/spread: 50 % within 19.8 µs</title>
    </circle>
    <circle class="mark k-thread" cx="32.72%" cy="60.04" r="3">
    <title>threads/spread: 90 % within 33.1 µs</title>
    </circle>
    <circle class="mark k-thread" cx="62.36%" cy="47.55" r="3">
    <title>threads/spread: 99 % within 44.1 µs</title>
    </circle>
    <circle class="mark k-thread" cx="92%" cy="29.94" r="3">
    <title>threads/spread: 99.9 % within 66.2 µs</title>
    </circle>
    </g>
    </svg>
    <svg class="names" x="53%" height="234">
    <g class="curves" data-case="threads/same-cpu">
    <text x="0%" y="142.89">
    <tspan class="label k-thread">threads/same-cpu</tspan>
    </text>
    </g>
    <g class="curves" data-case="threads/spread">
    <text x="0%" y="33.94">
    <tspan class="label k-thread">threads/spread</tspan>
    </text>
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
    <text x="0%" y="13">
    <tspan class="name">create</tspan>
    </text>
    <text x="100%" y="13" text-anchor="end">
    <tspan class="more">user space 64 %, kernel 36 %</tspan>
    <tspan class="figure" dx="6">9.12 µs</tspan>
    </text>
    <rect class="p-user" x="0%" y="17" width="63.75%" height="13">
    <title>create: 8.00 µs user space, 64 %</title>
    </rect>
    <rect class="p-kernel" x="63.75%" y="17" width="36.25%" height="13">
    <title>create: 4.55 µs kernel, 36 %</title>
    </rect>
    <line class="elapsed" x1="72.69%" y1="14" x2="72.69%" y2="33"/>
    </g>
    <g class="row" data-case="threads/same-cpu">
    <text x="0%" y="52">
    <tspan class="name">threads/same-cpu</tspan>
    </text>
    <text x="100%" y="52" text-anchor="end">
    <tspan class="more">user space 17 %, kernel 78 %, other waiting 5 %</tspan>
    <tspan class="figure" dx="6">1.79 µs</tspan>
    </text>
    <rect class="p-user" x="0%" y="56" width="17.28%" height="13">
    <title>threads/same-cpu: 310 ns user space, 17 %</title>
    </rect>
    <rect class="p-kernel" x="17.28%" y="56" width="78.02%" height="13">
    <title>threads/same-cpu: 1.40 µs kernel, 78 %</title>
    </rect>
    <rect class="p-waiting" x="95.29%" y="56" width="4.71%" height="13">
    <title>threads/same-cpu: 84.5 ns other waiting, 5 %</title>
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
    <line class="grid" x1="0%" y1="232" x2="92%" y2="232"/>
    <text x="0%" y="229">
    <tspan class="axis">10 ns</tspan>
    </text>
    <line class="grid" x1="0%" y1="158.67" x2="92%" y2="158.67"/>
    <text x="0%" y="155.67">
    <tspan class="axis">100 ns</tspan>
    </text>
    <line class="grid" x1="0%" y1="85.33" x2="92%" y2="85.33"/>
    <text x="0%" y="82.33">
    <tspan class="axis">1 µs</tspan>
    </text>
    <line class="grid" x1="0%" y1="12" x2="92%" y2="12"/>
    <text x="0%" y="9">
    <tspan class="axis">10 µs</tspan>
    </text>
    <line class="grid" x1="12%" y1="12" x2="12%" y2="232"/>
    <text x="12%" y="247" text-anchor="middle">
    <tspan class="axis">1</tspan>
    </text>
    <line class="grid" x1="38.67%" y1="12" x2="38.67%" y2="232"/>
    <text x="38.67%" y="247" text-anchor="middle">
    <tspan class="axis">10</tspan>
    </text>
    <line class="grid" x1="65.33%" y1="12" x2="65.33%" y2="232"/>
    <text x="65.33%" y="247" text-anchor="middle">
    <tspan class="axis">100</tspan>
    </text>
    <line class="grid" x1="92%" y1="12" x2="92%" y2="232"/>
    <text x="92%" y="247" text-anchor="middle">
    <tspan class="axis">1000</tspan>
    </text>
    <g class="curves" data-case="ring, 5">
    <svg viewBox="0 0 100 232" preserveAspectRatio="none" width="100%" height="232">
    <path class="cover k-thread" d="M30.64 177.71L57.31 104.37L83.97 31.04L83.97 37.43L57.31 110.76L30.64 184.1Z"/>
    </svg>
    <svg viewBox="0 0 100 232" preserveAspectRatio="none" width="100%" height="232">
    <path class="curve k-thread" d="M30.64 180.74L57.31 107.41L83.97 34.08"/>
    </svg>
    <line class="leader k-thread" x1="83.97%" y1="34.08" x2="100%" y2="34.08"/>
    <circle class="mark k-thread" cx="30.64%" cy="180.74" r="3">
    <title>ring, 5: 50.0 ns at 5 tasks</title>
    </circle>
    <circle class="mark k-thread" cx="57.31%" cy="107.41" r="3">
    <title>ring, 5: 500 ns at 50 tasks</title>
    </circle>
    <circle class="mark k-thread" cx="83.97%" cy="34.08" r="3">
    <title>ring, 5: 5.00 µs at 500 tasks</title>
    </circle>
    </g>
    </svg>
    <svg class="names" x="53%" height="254">
    <g class="curves" data-case="ring, 5">
    <text x="0%" y="38.08">
    <tspan class="label k-thread">ring, 5</tspan>
    </text>
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
