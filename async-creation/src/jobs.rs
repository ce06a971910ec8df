//! Creating jobs of rayon, which run to their end on its threads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use harness::{Bench, Measured, clock};

/// Jobs that have not ended. The last one wakes the waiting driver.
#[derive(Default)]
struct Running {
    count: AtomicU64,
    ended: Mutex<()>,
    wake: Condvar,
}

impl Running {
    fn start(self: &Arc<Self>, jobs: usize) {
        self.count.store(jobs as u64, Relaxed);
        for _ in 0..jobs {
            let running = Arc::clone(self);
            rayon::spawn(move || running.end());
        }
    }

    fn end(&self) {
        if self.count.fetch_sub(1, Relaxed) == 1 {
            drop(self.ended.lock());
            self.wake.notify_one();
        }
    }

    fn wait(&self) {
        let guard = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let running = |_: &mut ()| self.count.load(Relaxed) > 0;
        drop(self.wake.wait_while(guard, running));
    }
}

/// `create` hands the jobs to the pool; `join` waits until all have ended.
///
/// # Errors
/// If a limit refuses.
pub fn measure(bench: &Bench) -> anyhow::Result<()> {
    let threads = bench.placement().cpus().len();
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let tasks = bench.tasks();
    let per_task = |name, operation| Measured::per_task(name, operation, tasks);
    let running = Arc::default();
    for lap in bench.cold_lap(per_task("create_cold", "task creation")) {
        Running::start(&running, tasks);
        lap.finish();
        running.wait();
    }
    for mut lap in bench.laps(&[per_task("create", "task creation"), per_task("join", "join")]) {
        Running::start(&running, tasks);
        lap.split();
        running.wait();
        lap.finish();
    }
    for lap in bench.side_laps(Measured::single("start", "start")) {
        let (sender, started) = channel();
        for _ in 0..tasks {
            let (sender, called) = (sender.clone(), clock::now());
            rayon::spawn(move || {
                // The driver receives it, unless the run was abandoned.
                let _ = sender.send(clock::now().saturating_sub(called));
            });
        }
        drop(sender);
        started.iter().for_each(|ns| lap.sample(ns));
        lap.finish();
    }
    // A waiting job would block a thread, so no job is alive here.
    bench.observe()
}
