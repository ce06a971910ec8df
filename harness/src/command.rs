//! `--command`: a look at the process from outside, while its tasks live.

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Runs `line` by `sh -c`, `{pid}` replaced by this process's id, and waits
/// for it. With `to_stderr` its standard output goes to ours of errors, which
/// leaves standard output to the record.
///
/// # Errors
/// When it cannot be started or does not end with 0.
pub(crate) fn run(line: &str, to_stderr: bool) -> anyhow::Result<()> {
    io::stdout().flush().context("flushing standard output")?;
    let line = line.replace("{pid}", &std::process::id().to_string());
    let output = if to_stderr {
        let stderr = io::stderr().as_fd().try_clone_to_owned();
        Stdio::from(stderr.context("--command: duplicating standard error")?)
    } else {
        Stdio::inherit()
    };
    let status = Command::new("sh")
        .args(["-c", &line])
        .stdin(Stdio::null())
        .stdout(output)
        .status()
        .with_context(|| format!("--command: starting sh for '{line}'"))?;
    if !status.success() {
        bail!("--command '{line}' failed: {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn the_commands_failure_is_ours_and_names_it() {
        assert!(run("true", true).is_ok());
        let error = run("exit 7", true).expect_err("it fails").to_string();
        assert_eq!(error, "--command 'exit 7' failed: exit status: 7");
    }

    #[test]
    fn pid_is_replaced_by_this_process() {
        assert!(run(&format!("test {{pid}} -eq {}", std::process::id()), true).is_ok());
    }
}
