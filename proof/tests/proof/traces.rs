//! Traces: every switch that the kernel counts is among the records, and they leave as much of the
//! laps without a thread as the kernel's CPU time does.

use std::collections::BTreeMap;
use std::fs;

use harness::trace::{RecordedSpan, Switch, Trace, Way};

use crate::lab::{Outcome, brigade, shown, within};
use crate::outside::beside_hog;

/// How a span's records differ from the kernel's count: each switch must be there as a thread that
/// leaves the CPU and one that takes it.
fn wrong_counts(trace: &Trace, span: &RecordedSpan) -> Option<String> {
    let is_in = |at_ns: u64| span.begun_ns <= at_ns && at_ns <= span.ended_ns;
    let own = trace.switches.iter().filter(|switch| switch.own && is_in(switch.at_ns));
    let (came, left): (Vec<&Switch>, Vec<_>) = own.partition(|switch| switch.way == Way::In);
    let found = [came.len(), left.len()];
    let is_right = found == [span.counted as usize; 2];
    (!is_right).then(|| format!("{} switches are {found:?} records", span.counted))
}

/// The share of a span's laps in which no thread of the program has the CPU: by the records, and by
/// the kernel's CPU time.
fn waiting_shares(trace: &Trace, span: &RecordedSpan) -> Option<[f64; 2]> {
    let is_in = |at_ns: &u64| span.begun_ns <= *at_ns && *at_ns <= span.ended_ns;
    let stops = trace.laps.iter().flat_map(|lap| &lap.stops).map(|stop| stop.at_ns);
    let stops: Vec<u64> = stops.filter(is_in).collect();
    let (begun, ended) = (*stops.first()?, *stops.last()?);
    let (mut since, mut on_cpu_ns) = (BTreeMap::new(), 0);
    // A thread without an earlier record has had the CPU since the laps began.
    for switch in trace.switches.iter().filter(|of| of.own && is_in(&of.at_ns)) {
        let at_ns = switch.at_ns.clamp(begun, ended);
        if switch.way == Way::In {
            since.insert(switch.tid, at_ns);
        } else {
            on_cpu_ns += at_ns - since.remove(&switch.tid).unwrap_or(begun);
        }
    }
    on_cpu_ns += since.values().map(|since| ended - since).sum::<u64>();
    let waiting = |on_cpu_ns: u64| 1.0 - on_cpu_ns as f64 / (ended - begun) as f64;
    Some([waiting(on_cpu_ns), waiting(span.cpu_ns?)])
}

/// On one CPU, where waking another one is no CPU time: alone, and next to a hog.
fn agree(words: &str) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace");
    let mut differences = Vec::new();
    for _ in 0..12 {
        let flags = ["--trace", path.to_str().expect("UTF-8"), "--max-time", "0.04"];
        let run = brigade(words).and(&flags).run();
        if run.code == Some(3) {
            return Outcome::Unclear(run.stderr);
        }
        let text = fs::read_to_string(&path).expect("the trace");
        let trace: Trace = serde_json::from_str(&text).expect("a trace");
        if let Some(wrong) = trace.spans.iter().find_map(|span| wrong_counts(&trace, span)) {
            return Outcome::Fails(wrong);
        }
        let shares = trace.spans.iter().filter_map(|span| waiting_shares(&trace, span));
        differences.extend(shares.map(|[ours, kernels]| ours - kernels));
    }
    within(&differences, [-0.02, 0.02])
}

#[test]
#[ignore = "part of the proof"]
fn records_agree_with_the_kernels_counts() {
    for channel in ["pipe", "futex"] {
        let words = format!("thread-brigade --channel {channel} --placement same-cpu --tasks 20");
        shown(&format!("waiting in laps over {channel} minus the kernel's share"), || {
            agree(&words)
        });
        shown(&format!("the same over {channel} next to a hog"), || beside_hog(|| agree(&words)));
    }
}
