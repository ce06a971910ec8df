//! Traces: every switch that the kernel counts is among the records.

use std::fs;

use harness::trace::{RecordedSpan, Switch, Trace, Way};

use crate::lab::{Outcome, brigade, shown};
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

/// Of twelve processes.
fn agree(words: &str) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace");
    let mut switches = 0;
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
        switches += trace.spans.iter().map(|span| span.counted).sum::<u64>();
    }
    Outcome::of(switches > 0, format!("{switches} switches"))
}

#[test]
#[ignore = "part of the proof"]
fn records_agree_with_the_kernels_counts() {
    for channel in ["pipe", "futex"] {
        let words = format!("thread-brigade --channel {channel} --placement same-cpu --tasks 20");
        shown(&format!("records of switches over {channel}"), || agree(&words));
        shown(&format!("the same over {channel} next to a hog"), || beside_hog(|| agree(&words)));
    }
}
