//! Checks from outside the programs and their harness: a second clock, the kernel's count of
//! context switches, and a filter that slows each system call by a known time.

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::thread;

use libc::{
    BPF_ALU, BPF_IMM, BPF_K, BPF_LD, BPF_MUL, BPF_RET, BPF_W, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
    SECCOMP_RET_ALLOW, SECCOMP_SET_MODE_FILTER, c_ulong, sock_filter, sock_fprog,
};
use nix::sys::prctl;
use perf_event::{Builder, Counter, events::Software};

/// Multiplications in the filter, each dependent on the one before: about two microseconds, many
/// times the scatter of a hop.
const MULTIPLICATIONS: usize = 2000;

/// Blocks of calls to time, and calls per block.
const BLOCKS: usize = 15;
const CALLS: u32 = 300;

/// `CLOCK_MONOTONIC_RAW`, in nanoseconds: not slewed like the programs' clock, and read by a direct
/// system call, without the vDSO.
pub fn clock_ns() -> i64 {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the call writes one timespec to this address, and zeros are a valid one.
    let now = unsafe {
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC_RAW, now.as_mut_ptr());
        now.assume_init()
    };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Context switches of this thread and of every process and thread that `body` starts, counted by
/// perf; `None` without permission.
pub fn switches<T: Send>(body: impl FnOnce() -> T + Send) -> (Option<f64>, T) {
    let counter = || -> std::io::Result<Counter> {
        let mut counter = Builder::new().kind(Software::CONTEXT_SWITCHES);
        // Switches happen in kernel code.
        counter.inherit(true).include_kernel();
        let mut counter = counter.build()?;
        counter.enable()?;
        Ok(counter)
    };
    in_a_thread(|| {
        let counter = counter();
        let done = body();
        (counter.and_then(|mut counter| counter.read()).ok().map(|count| count as f64), done)
    })
}

/// Runs `body` behind a filter of system calls, which child processes inherit. Returns the delay
/// per call in nanoseconds, or `None` if the kernel refuses.
pub fn filtered<T: Send>(body: impl FnOnce() -> T + Send) -> (Option<f64>, T) {
    in_a_thread(|| {
        let without_ns = call_ns();
        let with_ns = if filter() { call_ns() } else { None };
        (with_ns.zip(without_ns).map(|(with, without)| with - without), body())
    })
}

/// In a separate thread, so that the filter ends with it.
fn in_a_thread<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(body).join().expect("no panic"))
}

/// The cost of a system call in nanoseconds, passing a byte through a pipe and back: as in a hop,
/// other kernel code runs between two calls. The fastest block; `None` without a pipe.
fn call_ns() -> Option<f64> {
    let (mut receiver, mut sender) = std::io::pipe().ok()?;
    let mut block = || {
        let begun = clock_ns();
        for _ in 0..CALLS / 2 {
            sender.write_all(&[0]).and_then(|()| receiver.read_exact(&mut [0])).ok()?;
        }
        Some((clock_ns() - begun) as f64 / f64::from(CALLS))
    };
    (0..BLOCKS).map(|_| block()).try_fold(f64::INFINITY, |least, ns| Some(least.min(ns?)))
}

/// Puts the calling thread behind the filter. Returns whether the kernel
/// allowed it.
fn filter() -> bool {
    let instruction = |code: u32, k| sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut program = vec![instruction(BPF_LD | BPF_W | BPF_IMM, 1)];
    // The kernel caches the result of a filter that inspects nothing but the call number;
    // arithmetic prevents that.
    program.resize(MULTIPLICATIONS, instruction(BPF_ALU | BPF_MUL | BPF_K, 3));
    program.push(instruction(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    let all = sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the kernel copies the program, whose length is correct, before this returns.
    let install = || unsafe {
        let (mode, flags) = (SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW);
        libc::syscall(libc::SYS_seccomp, mode, flags as c_ulong, &raw const all)
    };
    prctl::set_no_new_privs().is_ok() && install() == 0
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_filter_slows_calls_here_and_in_child_processes_but_not_elsewhere() {
        let (dearer_ns, status) = filtered(|| Command::new("true").status());
        assert!(status.expect("it starts").success());
        let Some(dearer_ns) = dearer_ns else { return contract::skip("a filter", "refused") };
        assert!(dearer_ns > 100.0, "{dearer_ns} ns");
        assert!(call_ns().expect("a pipe") < dearer_ns, "this thread has none");
    }

    #[test]
    fn switches_of_child_processes_are_counted() {
        let naps = |count: u32| {
            let script =
                format!("for i in $(seq {count}); do read -t 0.001 < <(:) || :; sleep 0.001; done");
            switches(|| Command::new("bash").args(["-c", &script]).status()).0
        };
        let Some((few, many)) = naps(1).zip(naps(60)) else {
            return contract::skip("context switches", "perf may not count them");
        };
        assert!(many - few >= 59.0, "{few}, {many}");
    }
}
