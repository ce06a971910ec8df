//! Whether an emulator, such as qemu-user, runs this program on a machine of another architecture.
//! Then all figures are the emulator's, and some threads of the process are, too.

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::process;
use std::sync::{PoisonError, RwLock};

use rustix::thread::gettid;

use crate::machine::system_files::{SystemFiles, field};

/// Architectures that Rust and the kernel call by one name.
const ARCHITECTURES: [&str; 3] = ["aarch64", "riscv64", "x86_64"];

/// The implementer of a CPU that is software, as QEMU's own model is.
const SOFTWARE: &str = "0x00";

/// What this program is emulated on: the real machine's architecture; `None` if it is not emulated,
/// as far as the kernel's files show.
pub fn emulated_on(files: &SystemFiles) -> Option<String> {
    on_another(files, ARCH)
}

/// As [`emulated_on`], for a program of this architecture. Emulators fake `uname`, but pass this
/// file of the kernel on, since Linux 6.1; before, some pass `/proc/cpuinfo` on.
fn on_another(files: &SystemFiles, own: &str) -> Option<String> {
    if !ARCHITECTURES.contains(&own) {
        return None;
    }
    let of_kernel = files.line("proc/sys/kernel/arch");
    if own == "x86_64" && of_kernel.is_some() {
        return of_kernel.filter(|machine| machine != own);
    }
    let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
    let implementer = field(&cpuinfo, "CPU implementer");
    let of_cpus = if field(&cpuinfo, "vendor_id").is_some() {
        Some("x86_64")
    } else {
        implementer.map(|_| "aarch64")
    };
    let machine = of_kernel.or(of_cpus.map(str::to_owned)).filter(|machine| machine != own);
    // A whole machine may be emulated, too.
    let is_software = implementer == Some(SOFTWARE);
    machine.or_else(|| is_software.then(|| "an unknown machine".to_owned()))
}

/// The numbers of the emulator's threads in this process.
static EMULATORS: RwLock<BTreeSet<String>> = RwLock::new(BTreeSet::new());

/// Remembers that the other threads of this process are an emulator's, if there is one. Must be
/// called while the program has only the calling thread: when it begins, and after a fork.
pub(crate) fn note_threads() {
    let files = SystemFiles::live();
    if emulated_on(&files).is_none() {
        return;
    }
    let mut others = BTreeSet::from_iter(files.names("proc/self/task"));
    others.remove(&gettid().as_raw_nonzero().to_string());
    *EMULATORS.write().unwrap_or_else(PoisonError::into_inner) = others;
}

/// The numbers of a process's threads, without those of its emulator if it is this process. In
/// other processes those obey the placement: their emulators started under it.
pub(crate) fn threads_of(files: &SystemFiles, process: u32) -> Vec<String> {
    let mut threads = files.names(&format!("proc/{process}/task"));
    if process == process::id() {
        let emulators = EMULATORS.read().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !emulators.contains(thread));
    }
    threads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emulated_program_finds_the_files_of_another_architecture() {
        let x86 = "processor\t: 0\nvendor_id\t: AuthenticAMD\n";
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        let of_qemu = "processor\t: 0\nCPU implementer\t: 0x00\nCPU part\t: 0x051\n";
        for (own, kernel, cpuinfo, expected) in [
            ("x86_64", Some("x86_64"), x86, None),
            ("x86_64", None, x86, None),
            ("x86_64", Some("aarch64"), "", Some("aarch64")),
            ("x86_64", None, arm, Some("aarch64")),
            ("aarch64", Some("aarch64"), arm, None),
            ("aarch64", None, arm, None),
            // qemu-user makes up a file of CPUs, or did not.
            ("aarch64", Some("x86_64"), of_qemu, Some("x86_64")),
            ("aarch64", Some("x86_64"), arm, Some("x86_64")),
            ("aarch64", None, x86, Some("x86_64")),
            // All of the machine is emulated, or an old kernel runs qemu-user.
            ("aarch64", Some("aarch64"), of_qemu, Some("an unknown machine")),
            ("aarch64", None, of_qemu, Some("an unknown machine")),
            ("riscv64", Some("riscv64"), "isa\t: rv64\n", None),
            // A sandbox without these files.
            ("aarch64", None, "", None),
            // The kernel has another name for it.
            ("powerpc64", Some("ppc64le"), "", None),
        ] {
            let kernel = kernel.map(|name| ("proc/sys/kernel/arch", name));
            let files = [kernel, Some(("proc/cpuinfo", cpuinfo))];
            let files = SystemFiles::simulated(&files.into_iter().flatten().collect::<Vec<_>>());
            assert_eq!(on_another(&files, own).as_deref(), expected, "{own} {kernel:?} {cpuinfo}");
        }
    }

    #[test]
    fn own_threads_are_those_that_the_emulator_did_not_start() {
        let own = process::id();
        let file = |process: u32, thread: u32| (format!("proc/{process}/task/{thread}/stat"), "");
        let files =
            [file(own, own), file(own, 4_000_001), file(own, 4_000_002), file(1, 4_000_001)];
        let files: Vec<_> = files.map(|(path, text)| (path, text.to_owned())).into();
        let files = SystemFiles::simulated(&files);
        EMULATORS.write().expect("no panic").insert("4000001".to_owned());
        let found = [threads_of(&files, own), threads_of(&files, 1)].map(|threads| threads.len());
        EMULATORS.write().expect("no panic").clear();
        assert_eq!(found, [2, 1]);
    }
}
