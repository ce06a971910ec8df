//! Command lines that cannot be followed: one line that says why, exit code 2.

use crate::run::{complaints, run};

fn refuses(flags: &str, words: &str) {
    let output = run(flags);
    let said = complaints(&output);
    assert_eq!(output.status.code(), Some(2), "{flags}: {output:?}");
    assert!(output.stdout.is_empty(), "{flags}: {output:?}");
    assert_eq!(said.len(), 1, "{flags}: {said:?}");
    assert!(said[0].contains(words), "{flags}: {said:?}");
}

#[test]
fn cpus_that_a_mechanism_cannot_use_are_refused_in_words() {
    refuses("--via spin --placement same-cpu", "--via spin needs two CPUs");
    let cpu = harness::cpus::allowed().expect("the CPUs of this process")[0];
    refuses(&format!("--via spin --cpus {cpu}"), "--via spin needs two CPUs");
    let spread = format!("--via yield --cpus {cpu} --placement spread");
    refuses(&spread, "--placement spread needs two CPUs");
    if contract::has_two_cpus() {
        refuses("--via yield", "--via yield needs one CPU");
        refuses("--via yield --placement spread", "--via yield needs one CPU");
    }
}

#[test]
fn mechanisms_inside_a_process_do_not_cross_processes() {
    for via in ["park", "channel", "rendezvous"] {
        refuses(&format!("--kind process --via {via}"), &format!("--via {via} works inside one"));
    }
}

#[test]
fn messages_need_something_that_carries_them() {
    refuses("--via futex --message 2", "--message 2: --via futex carries no message");
    refuses("--via eventfd --message 8", "choose pipe or socketpair");
    for nonsense in ["0", "-1", "16777217", "1KiB", ""] {
        let output = crate::run::program("--message").arg(nonsense).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{nonsense}: {output:?}");
    }
}

#[test]
fn the_control_is_one_thread_with_something_to_write() {
    refuses("--self --via futex", "--self: --via futex writes and reads nothing");
    refuses("--self --kind process", "--self: one thread");
    if contract::has_two_cpus() {
        refuses("--self --placement spread", "--placement spread");
    }
}

#[test]
fn there_is_no_number_of_tasks_to_choose() {
    refuses("--tasks 2", "--tasks");
    refuses("--via telepathy", "telepathy");
}

#[test]
fn work_is_a_number_of_units() {
    for nonsense in ["-1", "1.5", "1e3", "much", "", "2000000000"] {
        let output = crate::run::program("--work").arg(nonsense).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{nonsense}: {output:?}");
    }
}
