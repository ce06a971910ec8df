//! What the machine runs on: a hypervisor, by name, or the bare hardware.
//! Wake-ups of an idle virtual CPU cost several times those of a real one.

use harness::system_files::SystemFiles;
#[cfg(target_arch = "x86_64")]
use harness::system_files::recordable;

/// The hypervisor's name, `none`, or `unknown` where neither can be told.
pub(super) fn detect(files: &SystemFiles) -> String {
    by_processor()
        .or_else(|| files.line("sys/hypervisor/type"))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// What the `cpuid` instruction tells: leaf 1 sets a bit under a hypervisor,
/// whose name fills three registers of leaf 0x4000_0000.
#[cfg(target_arch = "x86_64")]
fn by_processor() -> Option<String> {
    use std::arch::x86_64::__cpuid;

    const UNDER_HYPERVISOR: u32 = 1 << 31;
    if __cpuid(1).ecx & UNDER_HYPERVISOR == 0 {
        return Some("none".to_owned());
    }
    let leaf = __cpuid(0x4000_0000);
    let signature = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    Some(hypervisor(&signature))
}

#[cfg(not(target_arch = "x86_64"))]
fn by_processor() -> Option<String> {
    None
}

/// The usual name for a hypervisor's twelve-byte signature; the signature
/// itself where none is known.
#[cfg(target_arch = "x86_64")]
fn hypervisor(signature: &[u8]) -> String {
    let signature = String::from_utf8_lossy(signature);
    let signature = signature.trim_matches(['\0', ' ']);
    let name = match signature {
        "KVMKVMKVM" => "kvm",
        "Microsoft Hv" => "hyper-v",
        "VMwareVMware" => "vmware",
        "XenVMMXenVMM" => "xen",
        "TCGTCGTCGTCG" => "qemu-tcg",
        "VBoxVBoxVBox" => "virtualbox",
        "bhyve bhyve" => "bhyve",
        "lrpepyh  vr" => "parallels",
        "ACRNACRNACRN" => "acrn",
        "" => "unknown hypervisor",
        other => return recordable(other),
    };
    name.to_owned()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_named() {
        assert_eq!(hypervisor(b"KVMKVMKVM\0\0\0"), "kvm");
        assert_eq!(hypervisor(b"bhyve bhyve "), "bhyve");
        assert_eq!(hypervisor(b"\0\0\0\0\0\0\0\0\0\0\0\0"), "unknown hypervisor");
        assert_eq!(hypervisor(b"SRESRESRESRE"), "SRESRESRESRE");
        assert_eq!(hypervisor(b"\xff\x1bBad\0\0\0\0\0\0\0"), "Bad");
    }
}
