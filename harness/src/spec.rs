//! What a program declares about itself, before anything runs.

use crate::limits::Amounts;
use crate::placement::Placement;
use crate::runtime_kind::RuntimeKind;
use crate::station::LoadFlags;

/// What a program declares: the defaults of its flags, what it claims, and what it needs.
///
/// A constant of the program is what `--help` shows; where its own flags decide, it
/// derives another one from them, which holds for the run.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Tasks; the default where `--tasks` is offered.
    pub tasks: u32,
    /// What decides how many tasks there are.
    pub count: Count,
    /// Measured iterations by default.
    pub iters: u64,
    /// Warm-up iterations by default; `None` for a warm-up by time.
    pub warmups: Option<u64>,
    /// The runtimes that `--runtime` offers, the default first; none without that flag.
    pub runtimes: &'static [RuntimeKind],
    /// Context switches claimed per operation; reports compare them with the kernel's count.
    pub switches: Option<f64>,
    /// Whether tasks hand over between threads, so that `--placement spread` makes sense.
    pub spread: bool,
    /// What each task does at a hop besides; `None` without flags for it.
    pub load: Option<LoadFlags>,
    /// Processes that compete for the CPUs of the placement until this one ends.
    pub hogs: u32,
    /// What one task needs, without its load.
    pub per_task: Amounts,
    /// What the program needs for any number of tasks.
    pub fixed: Amounts,
    /// Brigades at once, each of as many tasks.
    pub brigades: u32,
}

/// What decides how many tasks there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// `--tasks`.
    Open,
    /// The program, which offers no `--tasks`.
    Fixed,
    /// The iterations, also called `--steps`, each of which adds some, up to `--tasks`, also
    /// called `--to`. The program checks limits itself.
    Swept,
}

impl Spec {
    /// The declaration of one task that needs nothing and claims nothing.
    pub const NEW: Self = Self {
        tasks: 1,
        count: Count::Open,
        iters: 1000,
        warmups: None,
        runtimes: &[],
        switches: None,
        spread: false,
        load: None,
        hogs: 0,
        per_task: Amounts::NONE,
        fixed: Amounts::NONE,
        brigades: 1,
    };
}

/// What the common flags decide that a program's declaration may depend on.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Number of tasks.
    pub tasks: u32,
    /// Where the tasks run.
    pub placement: &'a Placement,
}

impl Launch<'_> {
    /// How many CPUs the tasks may use.
    pub fn cpus(&self) -> usize {
        self.placement.cpus().len()
    }
}
