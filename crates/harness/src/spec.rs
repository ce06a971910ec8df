//! A program's declaration, made before anything runs.

use crate::failure::UsageError;
use crate::machine::limits::{Extras, Kind, Need, STANDARD_STACK_BYTES};
use crate::machine::placement::Placement;
use crate::tasks::runtime_kind::{RuntimeFlags, RuntimeKind};
use crate::tasks::station::LoadFlags;
use crate::tasks::task_kind::TaskKind;

/// A program's declaration: defaults of its flags, claims and needs.
///
/// `--help` shows a constant declaration; if the program's flags change it, the program computes
/// another one for the run.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Number of tasks; the default if there is `--tasks`. 0 if the program decides later, and checks
    /// limits itself.
    pub tasks: u32,
    /// What determines the number of tasks.
    pub count: Count,
    /// Measured iterations by default.
    pub iters: u64,
    /// Warm-up iterations by default; `None` for a warm-up by time.
    pub warmups: Option<u64>,
    /// The values of `--runtime`, the default first; empty without that flag.
    pub runtimes: &'static [RuntimeKind],
    /// Claimed context switches per operation; reports compare them with the kernel's count.
    pub switches: Option<f64>,
    /// Whether tasks hand over between threads, so that `--placement spread` makes sense.
    pub spread: bool,
    /// Whether tasks of this process hand over to one another, so that `--trace` makes sense.
    pub hops: bool,
    /// The load of each task per hop; `None` without flags for it.
    pub load: Option<LoadFlags>,
    /// Whether tasks communicate over TCP, whose settings are recorded then.
    pub tcp: bool,
    /// What the tasks are; `None` if they are another program's.
    pub kind: Option<TaskKind>,
    /// What each task needs, with the channel that it reads from.
    pub needs: Kind,
    /// Threads in addition to the tasks: a runtime's workers, for example.
    pub threads: u64,
    /// Processes in addition to this one and the tasks.
    pub processes: u64,
    /// Channels in addition to one for each task and the one back to the driver.
    pub channels: u64,
    /// The stack of each task, in bytes, if tasks of its kind have one.
    pub stack_bytes: u64,
    /// What each task allocates in addition to its kind's needs and its load, in bytes.
    pub heap_bytes: u64,
    /// The flag besides `--tasks` that decides how much is needed, and its value: a refusal names them.
    pub sized_by: Option<(&'static str, u64)>,
}

/// What determines the number of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The harness's `--tasks`.
    Open,
    /// The program. In its defaults: there is no such flag.
    Fixed,
}

impl Spec {
    /// A declaration of one task without claims.
    pub const fn new(kind: TaskKind, needs: Kind) -> Self {
        Self {
            tasks: 1,
            count: Count::Open,
            iters: 1000,
            warmups: None,
            runtimes: &[],
            switches: None,
            spread: false,
            hops: false,
            load: None,
            tcp: false,
            kind: Some(kind),
            needs,
            threads: 0,
            processes: 0,
            channels: 0,
            stack_bytes: STANDARD_STACK_BYTES,
            heap_bytes: 0,
            sized_by: None,
        }
    }

    /// The declaration for this runtime, with the kind of its tasks, their needs without I/O, and
    /// the runtime's workers. On one thread `--placement spread` makes no sense.
    ///
    /// # Errors
    /// [`UsageError`] for workers of a runtime without any, and tokio's settings of another one.
    pub fn with_runtime(
        self,
        flags: RuntimeFlags,
        launch: &Launch<'_>,
    ) -> Result<Self, UsageError> {
        let spread =
            self.spread && matches!(flags.runtime, RuntimeKind::Threads | RuntimeKind::Tokio);
        let threads = match (flags.runtime, flags.workers) {
            (RuntimeKind::Tokio, workers) => workers.unwrap_or(launch.cpus()) as u64,
            (_, None) => 0,
            (_, Some(workers)) => {
                return Err(UsageError(format!(
                    "--workers {workers}: this runtime has no workers; choose --runtime tokio"
                )));
            }
        };
        if flags.tokio.is_some() && !RuntimeKind::OF_TOKIO.contains(&flags.runtime) {
            return Err(UsageError(
                "--tokio: this runtime is not tokio's; choose --runtime tokio".into(),
            ));
        }
        let kind = Some(flags.runtime.task_kind());
        Ok(Self { spread, kind, needs: flags.runtime.needs(), threads, ..self })
    }

    /// The needs of the declared program.
    pub(crate) fn need(&self) -> Need {
        let working_set = self.load.map_or(0, |load| load.working_set);
        let extras = Extras {
            heap_bytes: self.heap_bytes.saturating_add(working_set),
            channels: self.channels,
            threads: self.threads,
            processes: self.processes,
        };
        Need::with_stack(self.needs, self.tasks.into(), self.stack_bytes)
            .with_extras(self.needs, extras)
    }
}

/// Values of common flags that a program's declaration may depend on.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Number of tasks.
    pub tasks: u32,
    /// Where the tasks run.
    pub placement: &'a Placement,
}

impl Launch<'_> {
    /// The number of CPUs that the tasks may use.
    pub fn cpus(&self) -> usize {
        self.placement.cpus.len()
    }
}
