//! thread-brigade from outside: flags in, record out.

use contract::placement::check_that_spread_hops_cross;
use contract::record::voluntary_switches;
use contract::{Measurement, Program, Spread};

const PROGRAM: Program = Program {
    name: env!("CARGO_PKG_NAME"),
    path: env!("CARGO_BIN_EXE_thread-brigade"),
    measurements: &[Measurement::HOPS],
    spread: Spread::Offered(&[]),
    traces: true,
    claimed_switches: Some(1.0),
    files_per_task: 2,
    threads_per_task: 1,

    fixed_tasks: None,
};

contract::keeps!(PROGRAM, in full);

/// On recent kernels the woken thread may preempt its waker, which counts as
/// an involuntary switch besides; those are not bounded here.
#[test]
fn every_hop_on_one_cpu_is_a_thread_that_blocks() {
    for (channel, _) in CHANNELS {
        let record = PROGRAM.record(&[
            "--tasks=50",
            "--iters=500",
            "--placement=same-cpu",
            "--channel",
            channel,
        ]);
        assert_eq!(record.parameters["channel"], channel);
        let switches = voluntary_switches(&record);
        // A thread that the sender wakes while it holds the lock of the list of
        // those who wait finds it held, and blocks once more.
        let most = if channel == "mpsc" { 2.10 } else { 1.05 };
        assert!((0.90..=most).contains(&switches), "{channel}: {switches}");
    }
}

#[test]
fn every_hop_of_a_spread_brigade_crosses() {
    check_that_spread_hops_cross(&PROGRAM, &["--tasks=50", "--iters=100"]);
    check_that_spread_hops_cross(&PROGRAM, &["--tasks=51", "--iters=100"]);
}

#[test]
fn a_stack_that_no_thread_can_have_is_a_usage_error() {
    for size in ["1", "0", "-1", "1MiB", "99999999999999999999"] {
        PROGRAM.refuses(&["--stack-size", size], &["--stack-size"]);
    }
}

#[test]
fn stacks_take_the_address_space_that_was_asked_for() {
    let flags = ["--tasks=100", "--iters=2", "--stack-size=16777216"];
    let memory = PROGRAM.record(&flags).memory.expect("Linux tells about memory");
    assert!(memory.virtual_bytes >= 100 * (16 << 20), "{memory:?}");
}

#[test]
fn a_limit_of_few_maps_refuses() {
    contract::limits::check_that_few_maps_refuse(&PROGRAM, harness::Amounts::thread(1 << 20));
}

/// The channels that a file or none takes part in, and how many.
const CHANNELS: [(&str, usize); 6] =
    [("pipe", 2), ("socketpair", 2), ("eventfd", 1), ("futex", 0), ("mpsc", 0), ("condvar", 0)];

#[test]
fn a_channel_takes_as_many_files_as_it_says() {
    const TASKS: usize = 40;
    for (channel, files) in CHANNELS {
        // The directory itself and the shell's two ends are open besides.
        let count = "ls /proc/{pid}/fd | wc -l";
        let flags = ["--tasks=40", "--iters=2", "--quiet", "--channel", channel];
        let run = PROGRAM.with(&flags).and(&["--command", count]).run().succeeded();
        let open: usize = run.stdout.trim().parse().expect("a count");
        let least = files * (TASKS + 1);
        assert!((least..least + 10).contains(&open), "{channel}: {open} open files");
    }
}

#[test]
fn the_file_limit_binds_by_what_the_channel_takes() {
    use contract::invocation::Invocation;
    let limited = |channel, tasks: &str| -> Invocation {
        let flags = ["--iters=2", "--warmups=0", "--channel", channel, "--tasks", tasks];
        PROGRAM.with(&flags).limited(nix::sys::resource::Resource::RLIMIT_NOFILE, 64, 64)
    };
    for channel in ["futex", "mpsc", "condvar"] {
        let _ = limited(channel, "300").run().succeeded();
    }
    limited("eventfd", "100").run().failed(3, &["100 tasks need 103 open files"]);
    let _ = limited("eventfd", "50").run().succeeded();
    limited("pipe", "50").run().failed(3, &["50 tasks need 104 open files"]);
}

#[test]
fn a_brigade_over_any_channel_is_interrupted_and_spread_like_another() {
    for (channel, _) in CHANNELS {
        check_that_spread_hops_cross(&PROGRAM, &["--tasks=20", "--iters=50", "--channel", channel]);
        let flags = ["--tasks=20", "--iters=1000000000000", "--json", "--channel", channel];
        let mut running = PROGRAM.with(&flags).start();
        running.wait_until("its threads were there", |pid| {
            std::fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| tasks.count() == 21)
        });
        running.signal(nix::sys::signal::Signal::SIGINT);
        assert_eq!(running.end().code, Some(130), "{channel}");
    }
}

#[test]
fn as_many_threads_run_as_are_said_to_fit() {
    let flags = ["--channel=futex", "--iters=1", "--warmups=0", "--quiet"];
    contract::limits::check_that_as_many_threads_run_as_fit(&PROGRAM, &flags);
    contract::limits::check_that_as_many_threads_run_as_fit_into_address_space(&PROGRAM, &flags);
}

/// CPU time, of set-up and shut-down too, which the shell tells at its end.
#[test]
fn set_up_and_shut_down_take_time_by_the_task() {
    contract::scale::check_that_cpu_time_is_linear(&PROGRAM, &["--channel=futex"], 300);
}

/// One CPU, on which a hop is a thread that blocks, whatever the other rings do.
#[test]
fn rings_at_once_are_so_many_brigades() {
    for (rings, number) in [(1, "1"), (3, "3")] {
        let flags = ["--tasks=20", "--iters=100", "--placement=same-cpu", "--rings", number];
        let count = PROGRAM.with(&flags).and(&["--quiet", "--command", "ls /proc/{pid}/task"]);
        assert_eq!(count.run().succeeded().stdout.lines().count(), 20 * rings as usize + 1);
        let record = PROGRAM.record(&flags);
        assert_eq!((record.tasks, record.iterations), (20 * rings, 100));
        let [iteration, of_one @ ..] = &record.measurements[..] else { panic!("a measurement") };
        assert_eq!((iteration.operations, iteration.count), (21 * rings, 100));
        for ring in of_one {
            assert_eq!((ring.name.as_str(), ring.operations, ring.count), ("ring", 21, 300));
            // Of three rings that share a CPU each waits for the others.
            assert!(ring.ns_per_operation > iteration.ns_per_operation);
        }
        assert_eq!(of_one.len(), usize::from(rings > 1));
        let switches = voluntary_switches(&record);
        assert!((0.90..=1.05).contains(&switches), "{switches}");
    }
}

#[test]
fn rings_at_once_need_as_much_as_all_of_them() {
    use contract::invocation::Invocation;
    let limited = |rings: &str| -> Invocation {
        let flags = ["--tasks=20", "--iters=2", "--warmups=0", "--rings", rings];
        PROGRAM.with(&flags).limited(nix::sys::resource::Resource::RLIMIT_NOFILE, 150, 150)
    };
    // Two files of a channel for each task and each driver.
    limited("4").run().failed(3, &["80 tasks need 17"]);
    let _ = limited("3").run().succeeded();
    for rings in ["0", "-1", "1025", "two"] {
        PROGRAM.refuses(&["--rings", rings], &["--rings"]);
    }
}

#[test]
fn rings_at_once_are_interrupted_like_one() {
    let flags = ["--tasks=20", "--rings=3", "--iters=1000000000000", "--json"];
    let mut running = PROGRAM.with(&flags).start();
    running.wait_until("its threads and drivers were there", |pid| {
        std::fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| tasks.count() == 64)
    });
    running.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(running.end().code, Some(130));
}
