//! Names of Arm's cores, of which `/proc/cpuinfo` has numbers.

use std::collections::BTreeSet;

/// The implementer, the part and the name of cores, from Linux, arch/arm64/include/asm/cputype.h.
const CORES: [(u32, u32, &str); 28] = [
    (0x00, 0x051, "QEMU"),
    (0x41, 0xd03, "Arm Cortex-A53"),
    (0x41, 0xd05, "Arm Cortex-A55"),
    (0x41, 0xd07, "Arm Cortex-A57"),
    (0x41, 0xd08, "Arm Cortex-A72"),
    (0x41, 0xd09, "Arm Cortex-A73"),
    (0x41, 0xd0a, "Arm Cortex-A75"),
    (0x41, 0xd0b, "Arm Cortex-A76"),
    (0x41, 0xd0c, "Arm Neoverse-N1"),
    (0x41, 0xd0d, "Arm Cortex-A77"),
    (0x41, 0xd40, "Arm Neoverse-V1"),
    (0x41, 0xd41, "Arm Cortex-A78"),
    (0x41, 0xd44, "Arm Cortex-X1"),
    (0x41, 0xd46, "Arm Cortex-A510"),
    (0x41, 0xd47, "Arm Cortex-A710"),
    (0x41, 0xd49, "Arm Neoverse-N2"),
    (0x41, 0xd4f, "Arm Neoverse-V2"),
    (0x41, 0xd84, "Arm Neoverse-V3"),
    (0x41, 0xd8e, "Arm Neoverse-N3"),
    (0x43, 0x0af, "Cavium ThunderX2"),
    (0x48, 0xd01, "HiSilicon Kunpeng-920"),
    (0x61, 0x022, "Apple M1 Icestorm"),
    (0x61, 0x023, "Apple M1 Firestorm"),
    (0x61, 0x032, "Apple M2 Blizzard"),
    (0x61, 0x033, "Apple M2 Avalanche"),
    (0x6d, 0xd49, "Microsoft Azure Cobalt 100"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1A"),
];

/// The names of the cores in the text of `/proc/cpuinfo`, or the numbers of unknown ones; `None` if
/// they are not Arm's. A machine may have two kinds.
pub fn names(cpuinfo: &str) -> Option<String> {
    let mut implementer = None;
    let mut names = BTreeSet::new();
    for line in cpuinfo.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        match key.trim() {
            "CPU implementer" => implementer = number(value),
            "CPU part" => names.extend(implementer.zip(number(value)).map(name)),
            _ => {}
        }
    }
    Some(Vec::from_iter(names).join(" and ")).filter(|names| !names.is_empty())
}

fn name((implementer, part): (u32, u32)) -> String {
    let known = CORES.iter().find(|(by, number, _)| (*by, *number) == (implementer, part));
    match known {
        Some((.., name)) => (*name).to_owned(),
        None => format!("Arm implementer {implementer:#04x} part {part:#05x}"),
    }
}

/// A number such as `0xd0c`.
fn number(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a CPU that matter here, as the kernel writes them.
    fn cpu(implementer: &str, part: &str) -> String {
        format!(
            "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: {implementer}\n\
             CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: {part}\nCPU revision\t: 1\n\n"
        )
    }

    #[test]
    fn each_kind_of_core_is_named_once_and_an_unknown_one_by_its_numbers() {
        let graviton = cpu("0x41", "0xd0c").repeat(64);
        let raspberry = cpu("0x41", "0xd0b") + "Model\t\t: Raspberry Pi 5 Model B Rev 1.0\n";
        let big_little = cpu("0x41", "0xd0b") + &cpu("0x41", "0xd05");
        for (text, expected) in [
            (&*graviton, Some("Arm Neoverse-N1")),
            (&raspberry, Some("Arm Cortex-A76")),
            (&big_little, Some("Arm Cortex-A55 and Arm Cortex-A76")),
            (&cpu("0x7f", "0xfff"), Some("Arm implementer 0x7f part 0xfff")),
            (&cpu("0x", ""), None),
            ("CPU part\t: 0xd0c\n", None),
            ("model name\t: AMD EPYC\n", None),
            ("", None),
        ] {
            assert_eq!(names(text).as_deref(), expected, "{text:.200}");
        }
    }
}
