//! A running guest: a program that prints laps. It prints `measuring` before the laps that count
//! and `measured` after them, and each time waits for a line while its counters are read.

use std::io::Write as _;
use std::process::ChildStdin;

use harness::record::{Memory, Record};
use harness::usage::{Span, Start};
use harness::{cpus, memory};

use crate::store::laps::{Laps, Outside};

/// The most characters of a line that an error quotes.
const LONGEST_QUOTE: usize = 60;

/// A guest's output so far.
#[derive(Debug)]
pub struct Guest {
    placement: &'static str,
    /// The CPUs it may use.
    cpus: Vec<usize>,
    /// Its process and standard input; `None` before the start.
    process: Option<(u32, ChildStdin)>,
    /// How much of its output has been read, and how much of the rest contains
    /// no line end, in bytes.
    read: usize,
    searched: usize,
    stage: Stage,
    laps: Option<Result<Laps, String>>,
}

/// A guest's progress.
#[derive(Debug)]
enum Stage {
    Before,
    Measuring(Box<Start>),
    /// `None` if the process could not be read.
    Measured(Option<Box<(Span, Option<Memory>)>>),
    Wrong(String),
}

impl Guest {
    /// A guest to run on `cpus`.
    pub fn new(placement: &'static str, cpus: Vec<usize>) -> Self {
        let (stage, laps, process) = (Stage::Before, None, None);
        Self { placement, cpus, process, read: 0, searched: 0, stage, laps }
    }

    /// Sets its process and its standard input.
    pub fn started(&mut self, pid: u32, answers: ChildStdin) {
        self.process = Some((pid, answers));
    }

    /// Reads new complete lines; `stdout` is its whole output so far.
    pub fn hear(&mut self, stdout: &[u8]) {
        let from = |searched: usize| stdout[searched..].iter().position(|&byte| byte == b'\n');
        while let Some(length) = from(self.searched) {
            let line = &stdout[self.read..self.searched + length];
            self.searched += length + 1;
            self.read = self.searched;
            self.hear_line(line, self.read < stdout.len());
        }
        self.searched = stdout.len();
    }

    /// Reads the rest after its end, and builds a record.
    ///
    /// # Errors
    /// The reason why there is none, in one line.
    pub fn record(mut self, stdout: &[u8]) -> Result<Record, String> {
        self.hear(stdout);
        let rest = &stdout[self.read..];
        if !rest.is_empty() {
            self.hear_line(rest, false);
        }
        let counted = match self.stage {
            Stage::Wrong(reason) => return Err(reason),
            Stage::Measuring(_) => return Err("never printed `measured`".to_owned()),
            Stage::Before => None,
            Stage::Measured(counted) => counted,
        };
        let laps = self.laps.unwrap_or_else(|| Err("printed no laps".to_owned()))?;
        let (span, memory) = counted.map(|counted| *counted).unzip();
        let memory = memory.flatten();
        laps.into_record(Outside { placement: self.placement, affinity: self.cpus, span, memory })
    }

    /// Its progress, if that explains its end.
    pub fn whereabouts(&self) -> &'static str {
        match self.stage {
            Stage::Measuring(_) => " between `measuring` and `measured`",
            _ => "",
        }
    }

    /// Reads a line; `more`: another one follows already.
    fn hear_line(&mut self, line: &[u8], more: bool) {
        let pid = self.process.as_ref().map_or(0, |(pid, _)| *pid);
        let text = String::from_utf8_lossy(line);
        let wrong = |reason: &str| Stage::Wrong(reason.to_owned());
        let stage = std::mem::replace(&mut self.stage, Stage::Before);
        self.stage = match (text.trim_end(), stage) {
            (_, stage @ Stage::Wrong(_)) => stage,
            _ if self.laps.is_some() => wrong("printed more after its laps"),
            ("measuring" | "measured", _) if more => {
                wrong("did not wait for a line after `measuring` or `measured`")
            }
            ("measuring", Stage::Before) => {
                // The command around it may have confined it.
                if let Ok(cpus) = cpus::of_thread(pid) {
                    self.cpus = cpus;
                }
                let start = Start::of_process(pid, &self.cpus);
                Stage::Measuring(Box::new(start))
            }
            ("measuring", _) => wrong("printed `measuring` twice"),
            ("measured", Stage::Measuring(start)) => {
                let memory = memory::of_process(pid);
                Stage::Measured(start.end().map(|span| Box::new((span, memory))))
            }
            ("measured", Stage::Before) => wrong("printed `measured`, but not `measuring`"),
            ("measured", _) => wrong("printed `measured` twice"),
            (text, stage) if text.starts_with('{') => {
                self.laps = Some(Laps::parse(text));
                stage
            }
            (text, _) => {
                let quote: String = text.chars().take(LONGEST_QUOTE).collect();
                wrong(&format!("printed '{quote}', which is neither a mark nor laps"))
            }
        };
        match &self.stage {
            // Without an answer, it reads end of file.
            Stage::Wrong(_) => self.process = None,
            _ => self.answer(),
        }
    }

    /// Lets it continue. Ignores a guest that has ended.
    fn answer(&mut self) {
        if let (Some((_, answers)), None) = (&mut self.process, &self.laps) {
            let _ = answers.write_all(b"\n");
        }
    }
}
