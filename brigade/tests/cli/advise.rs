//! `brigade advise` on a simulated machine: the settings it lists, and that it puts back what
//! it tries.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::bench::{Bench, Ended, end_of, eventually, send};
use crate::compare::NOISY;

const HALT_POLL: &str = "machine/sys/module/haltpoll/parameters/guest_halt_poll_ns";

/// A virtual machine whose CPUs halt, in the folder `machine`.
const MACHINE: [(&str, &str); 6] = [
    (HALT_POLL, "0\n"),
    ("machine/sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n"),
    ("machine/sys/devices/system/cpu/cpuidle/current_governor", "haltpoll\n"),
    ("machine/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us", "0\n"),
    ("machine/sys/devices/system/cpu/cpu1/power/pm_qos_resume_latency_us", "0\n"),
    ("machine/proc/sys/kernel/sched_autogroup_enabled", "1\n"),
];

/// A bench on that machine, whose case takes half as long again while CPUs halt.
fn bench() -> Bench {
    let slow = format!("[ $(cat {HALT_POLL}) = 0 ] && SLOWDOWN=500\n{NOISY}");
    let bench = Bench::new(&["thread-brigade/spread"], &slow);
    fs::write(bench.path("count"), "0\n").unwrap();
    for (file, text) in MACHINE {
        let path = bench.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    bench
}

/// `brigade advise` with the bench's manifest, whose case is one of waking.
fn command(bench: &Bench, flags: &[&str]) -> Command {
    let manifest = bench.manifest() + "[advice]\nwaking = [\"thread-brigade/spread\"]\n";
    bench.brigade_with(&manifest, &[&["advise", "--root", "machine"], flags].concat())
}

fn advise(bench: &Bench, flags: &[&str]) -> Ended {
    Ended::from(command(bench, flags))
}

#[test]
fn settings_are_listed_with_value_effect_source_and_commands() {
    let bench = bench();
    let ended = advise(&bench, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let change = "echo 200000 > /sys/module/haltpoll/parameters/guest_halt_poll_ns\n";
    assert!(ended.stdout.contains(change), "{}", ended.stdout);
    let advice: Value = serde_json::from_str(&advise(&bench, &["--json"]).stdout).unwrap();
    assert_eq!(advice["settings"][0]["name"], "guest_halt_poll_ns");
}

#[test]
fn a_faster_setting_is_found_and_put_back() {
    let bench = bench();
    let ended = advise(&bench, &["--try", "guest_halt_poll_ns=200000", "--seed", "1"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("0 slower, 1 faster"), "{ended:?}");
    assert!(ended.stdout.contains("guest_halt_poll_ns=200000\n"), "{ended:?}");
    assert!(ended.stderr.contains("is 0, will be 200000 in turn, and then 0\n"), "{ended:?}");
    assert!(ended.stderr.ends_with("brigade: guest_halt_poll_ns is 0 again\n"), "{ended:?}");
    assert_eq!(fs::read_to_string(bench.path(HALT_POLL)).unwrap(), "0");
}

#[test]
fn a_setting_is_put_back_however_the_runner_ends() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL] {
        let bench = bench();
        let mut brigade = command(&bench, &["--try", "guest_halt_poll_ns"]);
        let brigade = brigade.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let is = |value: &str| fs::read_to_string(bench.path(HALT_POLL)).unwrap() == value;
        eventually("it is tried", || is("200000"));
        send(&brigade, signal);
        let expected = if signal == Signal::SIGKILL { None } else { Some(130) };
        assert_eq!(end_of(brigade).code, expected, "{signal}");
        eventually("it is put back", || is("0"));
    }
}

#[test]
fn a_setting_that_cannot_be_tried_is_refused() {
    let bench = bench();
    for (wish, code, reason) in [
        (
            "halt_poll",
            2,
            "no such setting applies here; those that can be tried: guest_halt_poll_ns",
        ),
        ("sched_autogroup_enabled", 2, "suite.toml names no case for it; use --case"),
    ] {
        let ended = advise(&bench, &["--try", wish]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{ended:?}");
        assert!(ended.stderr.contains(reason), "{ended:?}");
    }
    let psi: PathBuf = bench.path("machine/proc/pressure/cpu");
    fs::create_dir_all(psi.parent().unwrap()).unwrap();
    fs::write(psi, "some avg10=0.00\n").unwrap();
    let ended = advise(&bench, &["--try", "psi"]);
    assert!(
        ended.stderr.contains("it takes more than writing a file: boot with psi=0"),
        "{ended:?}"
    );
    assert!(bench.result_folders().is_empty());
}
