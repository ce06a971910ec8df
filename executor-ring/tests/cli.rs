//! executor-ring from outside: flags in, record out.

use assert_cmd::Command;
use harness::record::Record;

/// Every executor and the interfaces that it has, its own first.
const COMBINATIONS: [(&str, &[&str]); 6] = [
    ("local-pool", &["local-spawn", "local-spawn-handle"]),
    ("thread-pool", &["spawn", "spawn-handle"]),
    ("tokio-ct", &["native", "local-spawn", "local-spawn-handle"]),
    ("tokio-tp", &["native", "spawn", "spawn-handle"]),
    ("async-std", &["native", "spawn", "spawn-handle"]),
    ("async-executor", &["native"]),
];

/// Every value of `--spawn`.
const INTERFACES: [&str; 5] =
    ["native", "spawn", "spawn-handle", "local-spawn", "local-spawn-handle"];

fn program(flags: &[&str]) -> Command {
    let mut command = Command::cargo_bin("executor-ring").expect("the binary");
    command.args(flags);
    command
}

fn stdout(flags: &[&str]) -> String {
    let output = program(flags).assert().success().get_output().stdout.clone();
    String::from_utf8(output).expect("UTF-8")
}

fn record(flags: &[&str]) -> Record {
    let flags = [flags, &["--json", "--iters=3", "--warmups=1"]].concat();
    Record::parse(&stdout(&flags)).expect("a record")
}

/// Asserts a usage error of one line with all of `words` in it.
#[track_caller]
fn refused(flags: &[&str], words: &[&str]) {
    let output = program(flags).assert().code(2).get_output().clone();
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    let line = stderr.lines().filter(|line| !line.contains("debug build")).collect::<Vec<_>>();
    assert_eq!(line.len(), 1, "{stderr}");
    assert!(words.iter().all(|word| line[0].contains(word)), "{stderr}");
    assert!(output.stdout.is_empty());
}

#[test]
fn every_combination_spawns_the_nodes_and_every_send() {
    for (executor, interfaces) in COMBINATIONS {
        for spawn in interfaces {
            let record = record(&["--executor", executor, "--spawn", spawn, "--nodes=7"]);
            let [ring] = &record.measurements[..] else { panic!("{record:?}") };
            assert_eq!((&*ring.operation, ring.operations, ring.count), ("spawn", 56, 3));
            assert_eq!((record.tasks, record.complete), (7, true));
            assert_eq!(record.parameters["executor"], executor);
            assert_eq!(record.parameters["spawn"], *spawn);
        }
    }
}

#[test]
fn combinations_that_do_not_exist_are_refused_with_those_that_do() {
    for (executor, offered) in COMBINATIONS {
        for spawn in INTERFACES.iter().filter(|spawn| !offered.contains(spawn)) {
            let words = ["--spawn", spawn, executor, &offered.join(", ")];
            refused(&["--executor", executor, "--spawn", spawn], &words);
        }
    }
}

#[test]
fn a_ring_of_one_node_is_a_ring() {
    let record = record(&["--executor=local-pool", "--spawn=local-spawn", "--nodes=1"]);
    assert_eq!(record.measurements[0].operations, 2);
}

#[test]
fn a_table_has_a_row_for_every_combination() {
    let text = stdout(&["--nodes=5", "--iters=1", "--warmups=0", "--rounds=1"]);
    assert!(text.starts_with("5 nodes: 25 hops and 30 spawns, all counted\n"), "{text}");
    let rows: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    for (executor, interfaces) in COMBINATIONS {
        for spawn in interfaces {
            let rows = rows.iter().filter(|row| row.starts_with(&[executor, spawn]));
            assert_eq!(rows.count(), 1, "{executor} {spawn}: {text}");
        }
    }
}

#[test]
fn without_a_number_of_nodes_there_are_three_under_json_a_record_a_line() {
    let flags = ["--executor=local-pool", "--iters=1", "--warmups=0", "--rounds=1", "--json"];
    let text = stdout(&flags);
    let mut nodes: Vec<_> =
        text.lines().map(|line| Record::parse(line).expect("a record").tasks).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [10, 10, 100, 100, 200, 200]);
}

#[test]
fn quiet_prints_nothing() {
    assert_eq!(stdout(&["--nodes=2", "--iters=1", "--rounds=1", "--quiet"]), "");
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    refused(&["--executor=rayon"], &["--executor", "rayon"]);
    refused(&["--spawn=fork"], &["--spawn", "fork"]);
    refused(&["--nodes=0"], &["--nodes"]);
    refused(&["--nodes=-1"], &["--nodes"]);
    refused(&["--nodes=10001"], &["--nodes"]);
    refused(&["--tasks=10"], &["--tasks"]);
    refused(&["--rounds=0"], &["--rounds"]);
    refused(&["--placement=spread"], &["--placement spread"]);
}
