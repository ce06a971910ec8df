//! The program's flags, and which of them do not go together.

use harness::WorkFlag;
use harness::failure::UsageError;
use harness::flags::name;
use harness::placement::Placement;

/// The longest message, in bytes.
const LONGEST_MESSAGE: u64 = 16 << 20;

/// Time two threads or processes that hand over to each other in turn.
///
/// One iteration is a round trip: the driver hands over to its partner and
/// waits, the partner hands over to the driver and waits. That makes two
/// switches. Where a hand-over takes less than a microsecond, an iteration is a
/// batch of round trips.
#[derive(clap::Args, serde::Serialize)]
pub struct Flags {
    /// Hand-over mechanism
    #[arg(long, value_enum, default_value_t = Via::Pipe)]
    pub via: Via,

    /// Whether the two are threads or processes
    #[arg(long, value_enum, default_value_t = Kind::Thread)]
    pub kind: Kind,

    /// Bytes that a hand-over carries by pipe or socketpair
    #[arg(long, value_name = "BYTES", default_value_t = 1, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=LONGEST_MESSAGE))]
    pub message: u64,

    /// Let one thread write, then read, by pipe, socketpair or eventfd: the
    /// same calls without a switch
    #[arg(long = "self")]
    #[serde(rename = "self")]
    pub alone: bool,

    #[command(flatten)]
    #[serde(flatten)]
    pub work: WorkFlag,
}

/// What `--kind` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Two threads of one process
    Thread,
    /// A process and its fork
    Process,
}

/// What `--via` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// A message over a pipe, one for each direction
    Pipe,
    /// A message over a pair of Unix stream sockets
    #[value(name = "socketpair")]
    SocketPair,
    /// An event counter of the kernel, one for each direction
    #[value(name = "eventfd")]
    EventFd,
    /// A condition variable, signalled with its mutex held
    Condvar,
    /// A word in memory, and the system call futex
    Futex,
    /// A word in memory, and std's thread parking
    Park,
    /// std's channel, one for each direction
    Channel,
    /// crossbeam's channel of capacity 0, one for each direction
    Rendezvous,
    /// A word in memory, looked at until it changes; needs two CPUs
    Spin,
    /// A word in memory, and sched_yield until it changes; needs one CPU
    Yield,
}

impl Via {
    /// Whether a hand-over carries a message of any length.
    pub fn carries_messages(self) -> bool {
        matches!(self, Self::Pipe | Self::SocketPair)
    }

    fn is_io(self) -> bool {
        self.carries_messages() || self == Self::EventFd
    }

    fn crosses_processes(self) -> bool {
        !matches!(self, Self::Park | Self::Channel | Self::Rendezvous)
    }
}

impl Flags {
    /// Round trips in an iteration, or passes of one thread alone: as many as
    /// take some 20 µs, and one where a hand-over takes a microsecond or more.
    pub fn batch(&self) -> u64 {
        match self.via {
            _ if self.alone && self.message <= libc::PIPE_BUF as u64 => 32,
            Via::Spin => 128,
            Via::Yield => 16,
            _ => 1,
        }
    }

    /// Refuses flags that contradict one another or the CPUs there are.
    ///
    /// # Errors
    /// [`UsageError`], which says what to choose instead.
    pub fn check(&self, placement: &Placement) -> Result<(), UsageError> {
        let via = name(&self.via);
        let refuse = |reason: String| Err(UsageError(reason));
        if self.message != 1 && !self.via.carries_messages() {
            let bytes = self.message;
            return refuse(format!(
                "--message {bytes}: --via {via} carries no message; choose pipe or socketpair"
            ));
        }
        if self.kind == Kind::Process && !self.via.crosses_processes() {
            return refuse(format!(
                "--kind process: --via {via} works inside one process; choose pipe, socketpair, \
                 eventfd, condvar, futex, spin or yield"
            ));
        }
        if self.alone { self.check_alone() } else { self.check_cpus(placement) }
    }

    fn check_alone(&self) -> Result<(), UsageError> {
        if !self.via.is_io() {
            return Err(UsageError(format!(
                "--self: --via {} writes and reads nothing; choose pipe, socketpair or eventfd",
                name(&self.via)
            )));
        }
        if self.kind == Kind::Process {
            return Err(UsageError("--self: one thread does all, so leave out --kind".into()));
        }
        Ok(())
    }

    fn check_cpus(&self, placement: &Placement) -> Result<(), UsageError> {
        let one_cpu = placement.cpus().len() == 1;
        match self.via {
            Via::Spin if one_cpu => Err(UsageError(
                "--via spin needs two CPUs: on one, each would spin until the scheduler stops \
                 it; choose --placement spread, or widen --cpus"
                    .into(),
            )),
            Via::Yield if !one_cpu => Err(UsageError(
                "--via yield needs one CPU: on two, there is no other task to yield to; choose \
                 --placement same-cpu"
                    .into(),
            )),
            _ => Ok(()),
        }
    }
}
