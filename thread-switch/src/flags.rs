//! The program's flags, and their contradictions.

use harness::WorkFlag;
use harness::failure::UsageError;
use harness::flags::name;
use harness::hand_over::Reach;
use harness::placement::Placement;

/// Time two threads or processes that hand over to each other in turn.
///
/// One iteration is a round trip: the driver hands over to its partner and
/// waits, the partner hands over to the driver and waits. That makes two
/// switches. If a hand-over takes less than a microsecond, an iteration is a
/// batch of round trips.
#[derive(clap::Args)]
pub struct Flags {
    /// Hand-over mechanism
    #[arg(long, value_enum, default_value_t = Via::Pipe)]
    pub via: Via,

    /// Whether the two are threads or processes
    #[arg(long, value_enum, default_value_t = Reach::Thread)]
    pub kind: Reach,

    /// Let one thread write and read: the calls of pipe, socketpair or eventfd without a switch
    #[arg(long = "self")]
    pub alone: bool,

    #[command(flatten)]
    pub work: WorkFlag,
}

/// Values of `--via`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lower")]
pub enum Via {
    /// A byte through a pipe, one for each direction
    Pipe,
    /// A byte through a pair of Unix stream sockets
    SocketPair,
    /// A kernel event counter, one for each direction
    EventFd,
    /// A condition variable, signalled with its mutex locked
    Condvar,
    /// A word in memory, and the system call futex
    Futex,
    /// A word in memory, and std's thread parking
    Park,
    /// std's channel, one for each direction
    Channel,
    /// std's channel of capacity 0, one for each direction
    Rendezvous,
    /// A word in memory, polled until it changes; needs two CPUs
    Spin,
    /// A word in memory, polled with sched_yield; needs one CPU
    Yield,
}

impl Flags {
    /// Round trips per iteration, or passes of one thread: enough for about 20
    /// µs, and one if a hand-over takes a microsecond or more.
    pub fn batch(&self) -> u64 {
        match self.via {
            _ if self.alone => 32,
            Via::Spin => 128,
            Via::Yield => 16,
            _ => 1,
        }
    }

    /// Switches per hand-over.
    pub fn claim(&self) -> f64 {
        if self.alone || self.via == Via::Spin { 0.0 } else { 1.0 }
    }

    /// Refuses flags that contradict one another or the available CPUs.
    ///
    /// # Errors
    /// [`UsageError`], with an alternative.
    pub fn check(&self, placement: &Placement) -> Result<(), UsageError> {
        let Self { via, kind, alone, .. } = *self;
        let (named, one_cpu) = (name(&via), placement.cpus.len() == 1);
        let is_io = matches!(via, Via::Pipe | Via::SocketPair | Via::EventFd);
        let is_of_threads = matches!(via, Via::Park | Via::Channel | Via::Rendezvous);
        let wrong = if kind == Reach::Process && is_of_threads {
            format!(
                "--kind process: --via {named} works inside one process; choose pipe, socketpair, \
                 eventfd, condvar, futex, spin or yield"
            )
        } else if alone && !is_io {
            format!(
                "--self: --via {named} writes and reads nothing; choose pipe, socketpair or eventfd"
            )
        } else if alone && kind == Reach::Process {
            "--self: one thread does all, so omit --kind".into()
        } else if via == Via::Spin && one_cpu {
            "--via spin needs two CPUs: on one, each would spin until the scheduler stops it; \
            choose --placement spread, or widen --cpus"
                .into()
        } else if via == Via::Yield && !one_cpu {
            "--via yield needs one CPU: on two, there is no other task to yield to; choose \
             --placement same-cpu"
                .into()
        } else {
            return Ok(());
        };
        Err(UsageError(wrong))
    }
}
