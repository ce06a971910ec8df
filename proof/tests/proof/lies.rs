//! Programs that lie: the runner refuses a record that contradicts itself, the request or the
//! kernel's counts.

use std::fs;

use contract::executable;
use harness::record::Record;

use crate::lab::{brigade, record};

/// Changes a true record.
type Lie = fn(&mut Record);

const MANIFEST: &str = r#"
[programs]
fake = { path = "fake", check = "--tasks 4 --iters 20 --warmups 2" }
[[group]]
name = "g"
question = "What?"
cases = ["fake --placement same-cpu"]
"#;

/// Whether the runner accepts a true record changed by `lie`.
fn is_accepted(lie: Lie) -> bool {
    let words = "thread-brigade --tasks 4 --iters 20 --warmups 2 --placement same-cpu";
    let mut record = record(words);
    record.program = "fake".to_owned();
    lie(&mut record);
    let folder = tempfile::tempdir().expect("a folder");
    let text = serde_json::to_string(&record).expect("a record serializes");
    executable::write(
        &folder.path().join("fake"),
        format!("#!/bin/sh\ncat <<'END'\n{text}\nEND\n"),
    );
    let manifest = folder.path().join("suite.toml");
    fs::write(&manifest, MANIFEST).expect("an own folder");
    let check = brigade("check --manifest").and(&[manifest.to_str().expect("UTF-8")]).run();
    assert!(matches!(check.code, Some(0 | 1)) && !check.stdout.is_empty(), "{check:?}");
    check.code == Some(0)
}

#[test]
#[ignore = "part of the proof"]
fn wrong_counts_are_refused() {
    assert!(is_accepted(|_| ()), "the truth");
    let lies: [(&str, Lie); 5] = [
        ("one iteration too few", |record| record.iterations -= 1),
        ("one sample too few", |record| record.measurements[0].count -= 1),
        ("a mean that no lap took", |record| record.measurements[0].mean_ns /= 1000.0),
        ("another task", |record| record.tasks += 1),
        // Consistent, but for the kernel's count.
        ("hops counted twice", |record| {
            record.measurements[0].operations *= 2;
            record.measurements[0].ns_per_operation /= 2.0;
            let switches = record.switches.as_mut().expect("the kernel counts switches");
            switches.voluntary_per_operation /= 2.0;
            switches.involuntary_per_operation /= 2.0;
        }),
    ];
    for (what, lie) in lies {
        assert!(!is_accepted(lie), "{what}");
    }
}
