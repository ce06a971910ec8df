//! A program run as a fresh process. If it does not end within [`LONGEST`], it is killed and fails
//! the test, so that no clause can hang.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use harness::cpus::Mask;
use harness::record::Record;
use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{Program, skip};

/// The longest that a program may run, and the longest wait for a condition.
pub const LONGEST: Duration = Duration::from_secs(300);

/// A program to be run, in a new process group: standard input empty, output and errors in pipes.
#[derive(Debug)]
pub struct Invocation {
    name: &'static str,
    command: Command,
}

impl Invocation {
    pub fn new(program: &Program, flags: &[&str]) -> Self {
        Self { name: program.name, command: crate::command(program.path) }.and(flags).piped()
    }

    fn piped(mut self) -> Self {
        self.command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self
    }

    /// This run started by a shell, whose `script` has its command line in `"$@"`.
    pub fn from_shell(self, script: &str) -> Self {
        let mut command = crate::command("sh");
        command.args(["-c", script, "sh"]).arg(self.command.get_program());
        command.args(self.command.get_args());
        Self { command, ..self }.piped()
    }

    /// Runs it, and returns how many system calls of each name its threads and processes made; `None`,
    /// and the test of `what` is skipped, if strace does not work here.
    pub fn system_calls(self, what: &str) -> Option<BTreeMap<String, u64>> {
        let folder = tempfile::tempdir().expect("a folder");
        let table = folder.path().join("calls");
        let run =
            self.from_shell(&format!("exec strace -f -c -o {} \"$@\"", table.display())).run();
        if run.code != Some(0) {
            skip(what, &format!("strace does not work here: {}", run.stderr));
            return None;
        }
        let table = fs::read_to_string(table).expect("a table");
        // % time, seconds, usecs/call, calls, perhaps errors, name.
        let call = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            Some((fields.last()?.to_string(), fields.get(3)?.parse().ok()?))
        };
        Some(table.lines().filter_map(call).collect())
    }

    pub fn and(mut self, flags: &[&str]) -> Self {
        self.command.args(flags);
        self
    }

    pub fn stdout(mut self, stdout: impl Into<Stdio>) -> Self {
        self.command.stdout(stdout);
        self
    }

    /// Code of the process between fork and exec: system calls on local values.
    fn first(mut self, calls: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Self {
        // SAFETY: none of the closures here allocates or locks.
        unsafe { self.command.pre_exec(calls) };
        self
    }

    /// Sets the inherited CPU mask, like `taskset`.
    pub fn on_cpus(self, cpus: &[usize]) -> Self {
        let mask = Mask::new(cpus);
        self.first(move || Ok(mask.confine()?))
    }

    pub fn limited(self, resource: Resource, soft: u64, hard: u64) -> Self {
        self.first(move || Ok(setrlimit(resource, soft, hard)?))
    }

    /// Denies it io_uring by a filter of system calls, as in containers.
    pub fn denied_io_uring(self) -> Self {
        self.denied(libc::SYS_io_uring_setup)
    }

    /// Denies it a system call, where [`filters_calls`].
    pub fn denied(self, call: libc::c_long) -> Self {
        self.first(move || deny(call))
    }

    pub fn start(mut self) -> Running {
        let line = format!("{:?}", self.command);
        let child = self.command.spawn().unwrap_or_else(|error| panic!("starting {line}: {error}"));
        Running { name: self.name, line, child: Some(child) }
    }

    pub fn run(self) -> Run {
        self.start().end()
    }

    /// The record of a run with `--json`, which must succeed.
    pub fn record(self) -> Record {
        self.and(&["--json"]).run().succeeded().record()
    }
}

/// Whether system calls can be denied here; reports a skipped test if not, as under qemu-user.
pub fn filters_calls() -> bool {
    let mut command = crate::command("true");
    // SAFETY: it makes two system calls.
    unsafe { command.pre_exec(|| deny(libc::SYS_io_uring_setup)) };
    let status = command.status();
    if let Err(error) = &status {
        skip("denied system calls", &format!("no filter is accepted: {error}"));
    }
    status.is_ok()
}

/// Denies this process and its children a system call.
///
/// # Errors
/// The kernel's, if it accepts no filter.
pub fn deny(call: libc::c_long) -> io::Result<()> {
    let step = |code: u32, k: u32, jf: u8| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut filter = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, 1),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel copies the program, which outlives the call.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    Errno::result(result).map(drop).map_err(io::Error::from)
}

/// A running program. Dropping it kills it.
#[derive(Debug)]
pub struct Running {
    name: &'static str,
    line: String,
    child: Option<Child>,
}

impl Running {
    pub fn pid(&self) -> i32 {
        self.child.as_ref().expect("it has not ended").id().cast_signed()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("own child");
    }

    /// Waits until `condition` holds for its process id.
    pub fn wait_until(&mut self, what: &str, condition: impl Fn(i32) -> bool) {
        let pid = self.pid();
        let line = self.line.clone();
        eventually(what, || {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().expect("own child"));
            assert!(ended.is_none(), "{line}: ended before {what}: {ended:?}");
            condition(pid)
        });
    }

    /// Waits for its end.
    pub fn end(mut self) -> Run {
        let pid = self.pid();
        let line = std::mem::take(&mut self.line);
        let child = self.child.take().expect("it has not ended");
        let (ended, end) = mpsc::channel::<()>();
        let watch = thread::spawn(move || {
            let late = end.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout);
            if late {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            late
        });
        let output = child.wait_with_output().expect("own child");
        drop(ended);
        assert!(!watch.join().expect("the watch"), "{line}: did not end within {LONGEST:?}");
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
        Run { name: self.name, line, code: output.status.code(), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// The result of an invocation.
#[derive(Debug)]
pub struct Run {
    name: &'static str,
    #[expect(dead_code, reason = "for messages")]
    line: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The lines on standard error except the warning of a debug build.
    pub fn complaints(&self) -> Vec<&str> {
        let warning = format!("{}: this is a debug build", self.name);
        self.stderr.lines().filter(|line| !line.starts_with(&warning)).collect()
    }

    /// The run, which must exit with 0 and print no error.
    pub fn succeeded(self) -> Self {
        assert_eq!((self.code, self.complaints()), (Some(0), vec![]), "{self:#?}");
        self
    }

    /// The run, which must exit with `code` and an error in one line that begins with the program's
    /// name, contains all of `words`, and is safe on a terminal.
    pub fn failed(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let [complaint] = self.complaints()[..] else { panic!("not one line: {self:#?}") };
        assert!(complaint.starts_with(&format!("{}: ", self.name)), "{self:#?}");
        for word in words {
            assert!(complaint.contains(word), "no '{word}' in: {self:#?}");
        }
        let acts = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!complaint.contains("panicked") && !complaint.contains(acts), "{self:#?}");
        self
    }

    /// The record, which must be its only output.
    pub fn record(&self) -> Record {
        let lines = self.stdout.matches('\n').count();
        assert!(lines == 1 && self.stdout.ends_with('\n'), "not one line: {self:#?}");
        for place in ["/home/", "/tmp/", "/sys/fs/cgroup", env!("CARGO_MANIFEST_DIR")] {
            assert!(!self.stdout.contains(place), "{place} is in the record: {self:#?}");
        }
        Record::parse(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Waits until `condition` holds.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONGEST;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not within {LONGEST:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Calls `body` with all items at the same time, each in a thread, for what mostly waits or computes
/// alone. Returns the results in the order of the items.
///
/// # Panics
/// If one of the calls does.
pub fn at_once<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    body: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let body = &body;
    thread::scope(|scope| {
        let calls: Vec<_> = items.into_iter().map(|item| scope.spawn(move || body(item))).collect();
        calls.into_iter().map(|call| call.join().expect("no panic")).collect()
    })
}
