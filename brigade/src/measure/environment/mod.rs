//! Reads the machine and the software that a run's figures hold for.
//!
//! Of the kernel's command line only the parameters of [`kernel`]'s list are
//! kept. What cannot be had on this machine is `null`.

mod cgroup;
mod kernel;
mod limits;
mod processor;
mod software;
mod virtualisation;

use anyhow::Context;
use crc32fast::Hasher;
use harness::system_files::{SystemFiles, kib_field};

pub use cgroup::cpu_group_depth;
pub use kernel::{chosen, timer_hz};

use crate::manifest::Manifest;
use crate::store::environment::{Environment, Kernel, Limits, Processor, SCHEMA_VERSION, Software};

impl Environment {
    /// Reads the environment of this process, with the workspace, tools and
    /// measured crates of the `manifest`.
    ///
    /// # Errors
    /// When `Cargo.lock` cannot be read as one. A fact about the machine that
    /// cannot be had is no error but `null`.
    pub fn capture(manifest: &Manifest) -> anyhow::Result<Self> {
        let files = SystemFiles::live();
        Ok(Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            processor: Processor::read(&files),
            kernel: Kernel::read(&files),
            memory_total_bytes: files
                .text("proc/meminfo")
                .and_then(|meminfo| kib_field(&meminfo, "MemTotal")),
            limits: Limits::read(&files),
            software: Software::read(manifest)
                .context("recording the versions of the measured crates")?,
            boot: files.line("proc/sys/kernel/random/boot_id").map(|id| {
                let mut checksum = Hasher::new();
                checksum.update(id.as_bytes());
                format!("{:08x}", checksum.finalize())
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn workspace() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the suite lies in the workspace")
    }

    fn captured() -> Environment {
        let mut manifest = Manifest::parse(
            "[profiles]\n[programs.shell]\npath = 'sh'\nneeds = [{ command = ['rustc', '--version'] }, \
             { command = ['no-such-tool-of-brigade'] }]\n\
             check = { tasks = 1, iters = 1, warmups = 0, operations = 1 }\n",
        )
        .expect("a manifest");
        manifest.root = workspace().to_owned();
        manifest.measured_crates = vec!["serde".to_owned()];
        Environment::capture(&manifest).expect("capture here")
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
        let user = std::env::var("USER").unwrap_or_default();
        for name in [hostname.trim(), &user].into_iter().filter(|name| !is_of_any_machine(name)) {
            assert!(!names(&json, name), "the host's or the user's name is in {json}");
        }
        if let Ok(home) = std::env::var("HOME")
            && home.len() > 1
        {
            assert!(!json.contains(&home), "the home directory is in {json}");
        }
        let root = workspace().to_str().expect("a path in UTF-8");
        assert!(!json.contains(root), "the workspace's path is in {json}");
        let command_line = std::fs::read_to_string("/proc/cmdline").expect("on Linux");
        let command_line = command_line.trim();
        assert!(command_line.is_empty() || !json.contains(command_line), "it is in {json}");
    }

    /// Whether a name says nothing of a host or a user: it is empty, or what a
    /// capture says of a processor, a kernel or a hypervisor.
    fn is_of_any_machine(name: &str) -> bool {
        let text = |path| std::fs::read_to_string(path).unwrap_or_default();
        let machines = text("/proc/cpuinfo") + &text("/proc/version") + HYPERVISORS;
        name.is_empty() || names(&machines.to_lowercase(), &name.to_lowercase())
    }

    /// Those that are known by name.
    const HYPERVISORS: &str = " kvm qemu xen vmware hyperv bhyve microsoft guest linux";

    #[test]
    fn the_check_for_names_can_fail() {
        assert!(is_of_any_machine("kvm") && is_of_any_machine("") && !is_of_any_machine("alpha-7"));
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
        assert!(captured.software.rustc.as_ref().is_some_and(|rustc| rustc.starts_with("rustc ")));
        assert_eq!(captured.software.tools["rustc --version"], captured.software.rustc);
        assert_eq!(captured.software.tools["no-such-tool-of-brigade"], None);
        assert!(captured.software.measured_crates["serde"].is_some());
    }
}
