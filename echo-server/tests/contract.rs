//! Tests the program from outside: flags in, record out.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use contract::ending::measuring;
use contract::invocation::{at_once, eventually};
use contract::machine::{self, children, has_two_cpus, stat, visit};
use contract::{Measurement, Program};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

/// CPU time over all requests of a short run.
const fn cpu(name: &'static str) -> Measurement {
    Measurement {
        operations: |_| 20 * 256,
        samples: |_, _| 1,
        covers_tasks: false,
        ..Measurement::per_task(name, "request")
    }
}

const PROGRAM: Program = Program {
    name: harness::program!().name,
    path: env!("CARGO_BIN_EXE_echo-server"),
    measurements: &[
        Measurement {
            operations: |_| 256,
            covers_tasks: false,
            ..Measurement::per_task("iteration", "request")
        },
        cpu("cpu"),
        cpu("server"),
    ],
    spread: Some(&[]),
    ..Program::NEW
};

contract::keeps!(PROGRAM);

const KINDS: &str = "thread thread-pool process tokio tokio-current-thread async-executor compio \
                     epoll io-uring one";

/// A message of 3 bytes and one that arrives in pieces, in closed and open loops: every request is
/// verified, so that it is answered at all is what is tested.
#[test]
fn every_kind_serves_every_request() {
    for kind in KINDS.split(' ') {
        for channel in ["--channel=tcp", "--channel=unix"] {
            for flags in [
                &["--tasks=70", "--message=3", "--iters=4", "--hot=20", "--busy=20"][..],
                &["--tasks=3", "--message=16384", "--iters=2", "--placement=same-cpu"],
                &["--tasks=5", "--rate=20000", "--iters=300", "--warmups=5"],
                &["--tasks=1", "--iters=2", "--work=10"],
            ] {
                let flags = [&["--kind", kind, channel], flags].concat();
                let Some(record) = PROGRAM.record_if_possible(&flags) else { continue };
                let expected: &[&str] = match record.schedule {
                    Some(_) => &["request", "from_call", "server"],
                    None => &["iteration", "cpu", "server"],
                };
                let names = record.measurements.iter().map(|measured| &*measured.name);
                assert!(names.eq(expected.iter().copied()), "{flags:?}: {record:?}");
                assert!(record.complete && record.serving.is_some(), "{flags:?}: {record:?}");
            }
        }
    }
}

/// Few events of many connections at a time, and all are answered.
#[test]
fn a_server_of_tokio_takes_its_settings() {
    let settings = "event_interval=1,global_queue_interval=7,max_io_events_per_tick=2";
    for kind in ["tokio", "tokio-current-thread"] {
        let flags = ["--kind", kind, "--tokio", settings, "--tasks=70", "--iters=4"];
        assert_eq!(PROGRAM.record(&flags).parameters["tokio"], settings);
    }
}

/// On one CPU, over TCP: a thread waits for each request, and a loop for many.
#[test]
fn a_thread_switches_once_a_request_and_a_loop_less() {
    let switches = |kind: &str| {
        let flags = ["--placement=same-cpu", "--iters=40", "--tasks=50", "--kind", kind];
        let serving = PROGRAM.record(&flags).serving.expect("a server");
        serving.server_switches_per_request.expect("the kernel counts them")
    };
    // Threads that others preempt switch more often.
    let thread = switches("thread");
    let epoll = switches("epoll");
    assert!(thread >= 0.95 && epoll < thread * 0.9, "{thread} and {epoll}");
}

/// As in a server whose buffer is larger than a message: a read that fills its buffer does not say whether
/// more has come.
#[test]
fn a_task_of_tokio_asks_the_kernel_once_for_each_request() {
    let flags =
        ["--kind=tokio-current-thread", "--tasks=10", "--warmups=0", "--iters=20", "--quiet"];
    let Some(calls) = PROGRAM.with(&flags).system_calls("system calls of a server") else { return };
    // The load reads as often.
    let requests = 20 * 256;
    let expected = 2 * requests..2 * requests + requests / 5;
    assert!(expected.contains(&calls["recvfrom"]), "{calls:?}");
}

/// The buffers of tasks, however late they get them, and next to nothing where all share one.
#[test]
fn the_memory_of_a_connection_is_that_of_its_buffer() {
    const BUFFER: f64 = 16384.0;
    if !contract::runs_natively("memory of a connection") {
        return;
    }
    for (kind, most) in [
        ("tokio-current-thread", 1.25 * BUFFER),
        ("async-executor", 1.25 * BUFFER),
        ("epoll", 0.1 * BUFFER),
        ("one", 0.1 * BUFFER),
        ("thread-pool", 0.1 * BUFFER),
    ] {
        let flags = ["--kind", kind, "--tasks=192", "--message=16384", "--iters=2"];
        let points = PROGRAM.record(&flags).ledger.expect("two points");
        // Unlike that, the proportional ones depend on how many tests share the program's pages.
        let bytes: Vec<_> = points.iter().map(|point| point.resident_bytes).collect();
        let [Some(few), Some(all)] = bytes[..] else { panic!("{points:?}") };
        let each = (all as f64 - few as f64) / (points[1].tasks - points[0].tasks) as f64;
        let least = if most > BUFFER { BUFFER } else { -0.1 * BUFFER };
        assert!((least..most).contains(&each), "{kind}: {each} bytes a connection");
    }
}

#[test]
fn a_killed_server_ends_the_run_and_nothing_is_left() {
    for flags in [&["--kind=thread"], &["--kind=process"], &["--kind=tokio"]] {
        let running = measuring(&Program { flags, ..PROGRAM });
        let tasks = children(running.pid());
        kill(Pid::from_raw(tasks[0]), Signal::SIGKILL).expect("it is ours");
        let ended = running.end();
        assert!(ended.code == Some(1) && ended.stderr.contains("server"), "{ended:?}");
        let is_alive = |pid: &i32| stat(*pid).is_some_and(|stat| stat.state != 'Z');
        eventually("its processes have ended", || !tasks.iter().any(is_alive));
    }
}

/// During the set-up, others connect to the server, and keep silent or send what a request could be.
#[test]
fn connections_of_strangers_are_not_served() {
    const STRANGERS: usize = 4;
    for kind in ["thread", "epoll", "tokio"] {
        for channel in ["--channel=tcp", "--channel=unix"] {
            let flags = ["--tasks=600", "--iters=2", "--warmups=1", "--json", channel];
            let mut strangers = Vec::new();
            // Until one was early enough.
            while strangers.is_empty() {
                let running = PROGRAM.with(&flags).and(&["--kind", kind]).start();
                let has_ended = || stat(running.pid()).is_none_or(|stat| stat.state == 'Z');
                while strangers.len() < STRANGERS && !has_ended() {
                    let Some(mut stranger) = visit(running.pid()) else { continue };
                    if strangers.len() % 2 == 0 {
                        let _ = stranger.write_all(&[0; 64]);
                    }
                    strangers.push(stranger);
                }
                assert!(running.end().succeeded().record().complete, "{kind} {channel}");
            }
        }
    }
}

/// A server of one thread in Python, which echoes this many messages, then makes a file, and reads
/// until the connections end; `None` without Python.
fn falling_silent_after(messages: u32, file: &Path) -> Option<String> {
    let version = contract::command("python3").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        machine::skip("a server that falls silent", "there is no python3");
        return None;
    }
    let script = file.with_extension("py");
    let text = format!(
        "import selectors, socket, sys\n\
         listener = socket.socket(fileno=0)\n\
         watch = selectors.DefaultSelector()\n\
         watch.register(listener, selectors.EVENT_READ)\n\
         left = {messages}\n\
         while True:\n    \
             for key, _ in watch.select():\n        \
                 if key.fileobj is listener:\n            \
                     watch.register(listener.accept()[0], selectors.EVENT_READ)\n            \
                     continue\n        \
                 try:\n            \
                     message = key.fileobj.recv(64)\n        \
                 except ConnectionError:\n            \
                     sys.exit()\n        \
                 if not message:\n            \
                     sys.exit()\n        \
                 if left > 0:\n            \
                     key.fileobj.sendall(message)\n        \
                 left -= 1\n        \
                 if left == 0:\n            \
                     open('{}', 'w')\n",
        file.display()
    );
    fs::write(&script, text).expect("a folder for tests");
    Some(format!("--server=python3 {}", script.display()))
}

fn unused_file(name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&file);
    file
}

#[test]
fn a_server_that_falls_silent_fails_the_run_and_the_connection_is_named() {
    let ways = [(1, &["--tasks=2"][..]), (7, &["--tasks=2", "--rate=100"])];
    at_once(ways, |(messages, flags)| {
        let file = unused_file(&format!("silent-after-{messages}"));
        let Some(server) = falling_silent_after(messages, &file) else { return };
        let failed = PROGRAM.with(flags).and(&[&server, "--iters=1000000"]).run();
        failed.failed(1, &["connection ", "no byte"]);
        assert!(file.exists());
    });
}

#[test]
fn the_first_signal_ends_the_wait_for_any_server() {
    let polling = if has_two_cpus() { &["--placement=spread"][..] } else { &[] };
    at_once([&[][..], &["--rate=100"], polling].into_iter().enumerate(), |(number, flags)| {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let file = unused_file(&format!("silent-{number}-{signal}"));
            // Two messages set a connection up.
            let Some(server) = falling_silent_after(4 + 3, &file) else { return };
            let flags = [flags, &["--tasks=2", "--iters=1000000", &server]].concat();
            let mut running = PROGRAM.with(&flags).start();
            running.wait_until("the server fell silent", |_| file.exists());
            running.signal(signal);
            assert_eq!(running.end().code, Some(130), "{flags:?}");
        }
    });
    // It accepts nothing at all.
    for tasks in ["--tasks=1", "--tasks=400"] {
        let mut running = PROGRAM.with(&[tasks, "--server=sh -c 'exec sleep 6000'"]).start();
        running.wait_until("the server runs", |pid| !children(pid).is_empty());
        running.signal(Signal::SIGTERM);
        assert_eq!(running.end().code, Some(130), "{tasks}");
    }
}

#[test]
fn a_server_that_is_a_script_ends_with_what_it_started() {
    let server = "--server=sh -c 'sleep 6000; :'";
    let mut running = PROGRAM.with(&["--tasks=2", server]).start();
    let group = Pid::from_raw(running.pid());
    running.wait_until("the script has a child", |pid| {
        children(pid).first().is_some_and(|server| !children(*server).is_empty())
    });
    running.signal(Signal::SIGINT);
    assert_eq!(running.end().code, Some(130));
    eventually("its processes have ended", || killpg(group, None).is_err());
}

#[test]
fn impossible_requests_are_refused() {
    for (flags, named) in [
        (&["--tasks=0"][..], "--tasks"),
        (&["--hot=6", "--tasks=5"], "--hot"),
        (&["--busy=6", "--tasks=5"], "--busy"),
        (&["--busy=3", "--hot=2"], "--busy"),
        (&["--busy=3", "--rate=100"], "--busy"),
        (&["--workers=2"], "--workers"),
        (&["--message=0"], "--message"),
        (&["--tokio=event_interval=1"], "--tokio"),
        (&["--kind=tokio", "--tokio=event_interval=0"], "--tokio"),
        (&["--kind=tokio", "--tokio=event_interval=1", "--server=true"], "--tokio"),
    ] {
        PROGRAM.refuses(flags, &[named]);
    }
    PROGRAM.run(&["--tasks=60000"]).failed(3, &["60000"]);
    PROGRAM
        .run(&["--server=/nowhere/a-server"])
        .failed(1, &["cannot create the server", "os error 2"]);
    PROGRAM.run(&["--server=sh -c 'exit 2'"]).failed(1, &["the server ended with code 2"]);
    PROGRAM.run(&["--server=true"]).failed(1, &["connection "]);
}
