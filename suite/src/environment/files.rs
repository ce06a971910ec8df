//! Reading the kernel's text files: the one place that touches `/proc` and
//! `/sys`. The parsers of the other modules see text only.

use std::fs;
use std::path::PathBuf;

/// The longest text from the kernel that is recorded, in characters.
const LONGEST_RECORDED: usize = 200;

/// The kernel's files below a root, which is `/` except in tests.
pub(super) struct SystemFiles {
    root: PathBuf,
}

impl SystemFiles {
    /// The files of the running system.
    pub(super) fn live() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// The whole text of the file at `path`, relative to the root; `None` if
    /// it is not there or may not be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    /// The text of a short file in a form fit to be recorded; `None` if it is
    /// empty.
    pub(super) fn line(&self, path: &str) -> Option<String> {
        self.text(path).map(|text| recordable(&text)).filter(|line| !line.is_empty())
    }

    /// The number that is all of a file's text.
    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.trim().parse().ok()
    }

    /// The names in a directory, sorted; empty if there is no such directory.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.join(path)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// `text` without its line end, printable ASCII only and bounded, so that what
/// a machine says about itself cannot fill or garble a results folder.
pub(super) fn recordable(text: &str) -> String {
    text.trim().chars().filter(|c| matches!(c, ' '..='~')).take(LONGEST_RECORDED).collect()
}

/// The value, in bytes, of a line such as `MemTotal:  16000 kB`.
pub(super) fn kib_field(text: &str, name: &str) -> Option<u64> {
    let value = field(text, name)?;
    let kib: u64 = value.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The value of the first line that reads `name: value`.
pub(super) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A directory that holds the given files, to be read as if it were `/`.
    pub(in crate::environment) struct HandMade {
        pub(in crate::environment) files: SystemFiles,
        _directory: tempfile::TempDir,
    }

    impl HandMade {
        pub(in crate::environment) fn new(contents: &[(&str, &str)]) -> Self {
            let directory = tempfile::tempdir().expect("a temporary directory");
            for (path, text) in contents {
                let path = directory.path().join(path);
                fs::create_dir_all(path.parent().expect("a parent")).expect("create");
                fs::write(path, text).expect("write");
            }
            let files = SystemFiles { root: directory.path().to_owned() };
            Self { files, _directory: directory }
        }
    }

    #[test]
    fn what_is_missing_is_none() {
        let made = HandMade::new(&[("sys/empty", "\n"), ("sys/word", "many\n")]);
        assert_eq!(made.files.line("sys/absent"), None);
        assert_eq!(made.files.line("sys/empty"), None);
        assert_eq!(made.files.number("sys/word"), None);
        assert!(made.files.names("proc").is_empty());
        assert_eq!(made.files.names("sys"), ["empty", "word"]);
    }

    #[test]
    fn recorded_text_is_short_and_printable() {
        assert_eq!(recordable(" Mitigation: PTI\n"), "Mitigation: PTI");
        assert_eq!(recordable("a\u{1b}[31mb\0c"), "a[31mbc");
        assert_eq!(recordable(&"x".repeat(5000)).len(), LONGEST_RECORDED);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let meminfo = "MemTotal:       12345 kB\nMemFree:  1 kB\nHugePages_Total:  7\n";
        assert_eq!(kib_field(meminfo, "MemTotal"), Some(12_345 * 1024));
        assert_eq!(kib_field(meminfo, "Mem"), None);
        assert_eq!(kib_field(meminfo, "HugePages_Total"), None, "no unit, not KiB");
        assert_eq!(kib_field("MemTotal: 99999999999999999999 kB", "MemTotal"), None);
        assert_eq!(field("model name\t: Some CPU\n", "model name"), Some("Some CPU"));
    }
}
