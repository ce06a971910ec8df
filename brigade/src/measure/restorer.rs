//! What puts files back as they were, whatever becomes of the runner: a process of
//! nobody's, which sleeps until the runner has ended or says so.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use harness::process_stat::reap;
use nix::unistd::{ForkResult, fork};

use super::guard::leave_alone;

/// A file and what is to be in it.
pub type Content = (PathBuf, String);

/// Writes to each of these files.
///
/// # Errors
/// When one cannot be written.
pub fn write(contents: &[Content]) -> anyhow::Result<()> {
    contents.iter().try_for_each(|(path, text)| {
        fs::write(path, text).with_context(|| format!("writing {text} to {}", path.display()))
    })
}

/// Puts files back when this is told to, or the runner has ended.
#[derive(Debug)]
pub struct Restorer {
    /// Closed by the kernel when the runner and its guard have ended.
    alive: PipeWriter,
    /// Why a file could not be put back; ends without a word where all were.
    failure: PipeReader,
}

impl Restorer {
    /// Begins to watch over files that hold `contents` now. This process must have no
    /// other thread, and no guard yet, which would end what it does not know.
    ///
    /// # Errors
    /// When the kernel refuses a process or a pipe.
    pub fn start(contents: &[Content]) -> io::Result<Self> {
        let (runner, alive) = io::pipe()?;
        let (failure, report) = io::pipe()?;
        // SAFETY: there is no other thread, whose locks would stay locked.
        match unsafe { fork() }? {
            ForkResult::Child => {
                drop((alive, failure));
                // Its parent ends at once, so that the runner is not its parent.
                // SAFETY: as above.
                if let Ok(ForkResult::Child) = unsafe { fork() } {
                    keep(runner, report, contents);
                }
                // SAFETY: this ends the process, and nothing of the runner's is run.
                unsafe { libc::_exit(0) }
            }
            ForkResult::Parent { child } => {
                reap(child)?;
                Ok(Self { alive, failure })
            }
        }
    }

    /// Has the files put back now.
    ///
    /// # Errors
    /// Why one was not.
    pub fn restore(self) -> anyhow::Result<()> {
        drop(self.alive);
        let mut failure = String::new();
        let mut report = self.failure;
        report.read_to_string(&mut failure).context("waiting for settings to be put back")?;
        ensure!(failure.is_empty(), "putting back what was: {failure}");
        Ok(())
    }
}

/// What the process does: sleeps until the runner has ended, then writes.
fn keep(mut runner: PipeReader, mut report: PipeWriter, contents: &[Content]) {
    leave_alone(c"brigade-restore");
    let _ = runner.read(&mut [0]);
    for content in contents {
        if let Err(error) = write(std::slice::from_ref(content)) {
            let _ = write!(report, "{error:#}; ");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let nowhere = (PathBuf::from("/proc/nowhere"), "1".to_owned());
        let error = write(&[nowhere]).unwrap_err();
        assert!(error.to_string().starts_with("writing 1 to /proc/nowhere"), "{error}");
    }
}
