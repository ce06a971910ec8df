//! The machine and the software that a run's figures hold for.
//!
//! People share results folders, so nothing here names a host, a user, an
//! address or a path, and of the kernel's command line only the parameters of
//! [`kernel`]'s list are kept. What cannot be had on this machine is `null`.
//! The committed schema, `suite/environment.schema.json`, is generated from
//! these types and a test compares the two.

mod cgroup;
pub mod difference;
mod kernel;
mod label;
mod limits;
mod processor;
mod sentence;
mod software;
mod virtualisation;

use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use harness::system_files::{SystemFiles, kib_field};
use kernel::Kernel;
use limits::Limits;
use processor::Processor;
pub use software::Software;

/// Version of [`Environment`]'s schema, `major.minor`: the minor number rises
/// when a field is added, the major one when an old reader would misunderstand.
pub const SCHEMA_VERSION: &str = "1.1";

/// What `environment.json` holds: read once, before the first case of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// Schema version of this object, `major.minor`.
    pub schema_version: String,
    /// The CPUs: model, topology, mitigations, clock.
    pub processor: Processor,
    /// The kernel and how it was told to behave.
    pub kernel: Kernel,
    /// Memory of the machine (`MemTotal`), in bytes.
    pub memory_total_bytes: Option<u64>,
    /// What bounds the number of tasks.
    pub limits: Limits,
    /// What the programs were built from and with.
    pub software: Software,
}

impl Environment {
    /// Reads the environment of this process, with the workspace at `root` and
    /// the versions of `measured_crates` from its `Cargo.lock`.
    ///
    /// # Errors
    /// When `Cargo.lock` cannot be read as one. A fact about the machine that
    /// cannot be had is no error but `null`.
    pub fn capture(root: &Path, measured_crates: &[String]) -> anyhow::Result<Self> {
        let files = SystemFiles::live();
        Ok(Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            processor: Processor::read(&files),
            kernel: Kernel::read(&files),
            memory_total_bytes: files
                .text("proc/meminfo")
                .and_then(|meminfo| kib_field(&meminfo, "MemTotal")),
            limits: Limits::read(&files),
            software: Software::read(root, measured_crates)
                .context("recording the versions of the measured crates")?,
        })
    }

    /// A name for this kind of machine, such as `amd-epyc-2cpu`: the CPU's
    /// model and the number of online CPUs, of `[a-z0-9-]`, at most
    /// [`label::LONGEST`] characters.
    #[must_use]
    pub fn label(&self) -> String {
        let model = self.processor.model.as_deref().unwrap_or(&self.processor.architecture);
        label::label(model, self.processor.online_cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the suite lies in the workspace")
    }

    fn captured() -> Environment {
        Environment::capture(workspace(), &["serde".to_owned()]).expect("capture here")
    }

    /// Whether `name` stands in `text` as a word of its own: a host called
    /// `vm` is not betrayed by `vmscape`.
    fn names(text: &str, name: &str) -> bool {
        let part_of_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        text.split(|c| !part_of_word(c)).any(|word| word == name)
    }

    #[test]
    fn a_capture_names_neither_host_nor_user_nor_place() {
        let json = serde_json::to_string(&captured()).expect("serializes");
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("on Linux");
        assert!(!names(&json, hostname.trim()), "the host's name is in {json}");
        if let Ok(user) = std::env::var("USER") {
            assert!(!names(&json, &user), "the user's name is in {json}");
        }
        if let Ok(home) = std::env::var("HOME")
            && home.len() > 1
        {
            assert!(!json.contains(&home), "the home directory is in {json}");
        }
        let root = workspace().to_str().expect("a path in UTF-8");
        assert!(!json.contains(root), "the workspace's path is in {json}");
        let command_line = std::fs::read_to_string("/proc/cmdline").expect("on Linux");
        assert!(!json.contains(command_line.trim()), "the command line is in {json}");
    }

    #[test]
    fn the_check_for_names_can_fail() {
        assert!(names(r#"{"release":"6.1.0","host":"alpha-7"}"#, "alpha-7"));
        assert!(!names(r#"{"vmscape":"KVM"}"#, "vm"));
    }

    #[test]
    fn a_capture_survives_the_way_to_json_and_back() {
        let captured = captured();
        let json = serde_json::to_string(&captured).expect("serializes");
        assert_eq!(serde_json::from_str::<Environment>(&json).expect("parses"), captured);
    }

    #[test]
    fn a_capture_knows_what_every_linux_machine_tells() {
        let captured = captured();
        assert!(captured.processor.online_cpus >= Some(1));
        assert!(captured.processor.allowed_cpus <= captured.processor.online_cpus);
        assert!(captured.memory_total_bytes.is_some());
        assert!(captured.kernel.release.is_some());
        assert!(captured.software.rustc.is_some_and(|rustc| rustc.starts_with("rustc ")));
        assert!(captured.software.measured_crates["serde"].is_some());
    }
}
