//! The tasks as processes: forks of this one, each with only its two channels open.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;

use anyhow::Context as _;
use harness::process_stat::spawn;
use harness::threads::{outcome_of_process, root_cause};
use harness::{Bench, Channel, Line, failure};
use nix::unistd::Pid;

type Processes = Line<File, File, Pid>;

/// Forks the tasks; each runs `body` between its channels.
pub fn start(
    bench: &Bench,
    channel: Channel,
    body: impl Fn(usize, File, File) -> io::Result<()>,
) -> anyhow::Result<Processes> {
    io::stdout().flush().context("flushing standard output")?;
    let start = |task, upstream, downstream| {
        let live = || {
            close_all_but(&[&upstream, &downstream])?;
            body(task, upstream, downstream)
        };
        spawn(live).map_err(failure::to_create(format_args!("task {task}")))
    };
    let line = Line::create(bench.tasks_to_create(), || channel.open(), start)?;
    bench.findings().peers = line.tasks.iter().map(|task| task.as_raw().unsigned_abs()).collect();
    Ok(line)
}

/// Ends the brigade after its driver has returned `result`, as [`harness::threads::end`] does.
pub fn end(bench: &Bench, result: anyhow::Result<()>, line: Processes) -> anyhow::Result<()> {
    let observed = result.and_then(|()| bench.observe());
    drop(line.first);
    root_cause(line.tasks.into_iter().map(outcome_of_process)).and(observed)
}

/// Closes every file except the standard ones and these. An open end of another channel would hide
/// from its reader that its writer has ended.
fn close_all_but(kept: &[&File]) -> io::Result<()> {
    let names = fs::read_dir("/proc/self/fd")?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    let open = names.iter().filter_map(|name| name.to_str()?.parse::<i32>().ok());
    for file in open.filter(|file| *file > 2 && kept.iter().all(|kept| kept.as_raw_fd() != *file)) {
        // SAFETY: nothing in this process uses it any more: it ends without destructors.
        unsafe { libc::close(file) };
    }
    Ok(())
}
