//! Fingerprints of the programs' binaries: a run that is resumed must not mix
//! two builds.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;
use crc32fast::Hasher;

use crate::manifest::Case;
use crate::measure::build::Binaries;

/// How much of a binary is read at once, in bytes.
const BLOCK: usize = 1024 * 1024;

/// The fingerprint of the binary of each program that `cases` run, by the
/// program's name: its length in bytes and its CRC-32.
///
/// # Errors
/// When a binary cannot be read.
pub fn fingerprints(
    cases: &[&Case],
    binaries: &Binaries,
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut fingerprints = BTreeMap::new();
    for Case { program, .. } in cases {
        if !fingerprints.contains_key(program) {
            let path = &binaries[program].file;
            let fingerprint =
                of_file(path).with_context(|| format!("reading {}", path.display()))?;
            fingerprints.insert(program.clone(), fingerprint);
        }
    }
    Ok(fingerprints)
}

fn of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Hasher::new();
    let mut block = vec![0; BLOCK];
    let mut length = 0;
    loop {
        match file.read(&mut block)? {
            0 => break,
            count => {
                hasher.update(&block[..count]);
                length += count;
            }
        }
    }
    Ok(format!("{length} bytes, CRC-32 {:08x}", hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_the_length_and_the_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("binary");
        // The check value of CRC-32 in every catalogue of checksums.
        std::fs::write(&path, "123456789").unwrap();
        assert_eq!(of_file(&path).unwrap(), "9 bytes, CRC-32 cbf43926");
        std::fs::write(&path, vec![0; 2 * BLOCK + 1]).unwrap();
        assert!(of_file(&path).unwrap().starts_with("2097153 bytes, "));
    }
}
