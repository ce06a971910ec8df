//! The folder of a run's results. Files are only added, and are complete whenever the runner dies.
//!
//! Somebody else may have put something in a file's place. So files are opened without blocking,
//! only if they are regular and have one name; or they are created under a temporary name and
//! renamed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use libc::{ELOOP, O_NOFOLLOW, O_NONBLOCK};
use serde::{Deserialize, Serialize};
use tempfile::{NamedTempFile, PersistError};

use crate::store::invocation::Invocation;

/// The description of the run.
pub const RUN: &str = "run.json";

/// The description of the machine.
pub const ENVIRONMENT: &str = "environment.json";

/// One line per invocation.
pub const RECORDS: &str = "records.jsonl";

/// The report in Markdown.
pub const PAGE: &str = "report.md";

/// The report as a web page.
pub const HTML_PAGE: &str = "report.html";

/// The longest [`RECORDS`] to read, in bytes. Half an hour of measuring fills about ten MiB.
pub const RECORDS_BOUND: u64 = 128 * 1024 * 1024;

/// The most invocations of a run, planned or recorded.
pub const MOST_INVOCATIONS: usize = 100_000;

/// Version of [`RunDescription`]'s schema.
pub const RUN_SCHEMA_VERSION: &str = "1.0";

/// What was run: the contents of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunDescription {
    /// Version of this description's schema, `major.minor`.
    pub schema_version: String,
    /// Version of the runner.
    pub brigade_version: String,
    /// When the run started: UTC, RFC 3339.
    pub started_at: String,
    /// The groups and cases that were named, or `default`.
    pub profile: String,
    /// Rounds of every case; 0 for as many as there was time for.
    pub rounds: u32,
    /// Seed for the order of the cases.
    pub seed: u64,
    /// The cases that run.
    pub cases: Vec<String>,
    /// Details of the cases, in the same order.
    pub details: Vec<CaseDetail>,
    /// The cases that cannot run here.
    pub skipped: Vec<Skipped>,
    /// How to run it, and what resuming needs; `null` for a side of a comparison.
    pub procedure: Option<Procedure>,
    /// Which side of a comparison this is, `baseline` or `candidate`, which may have fewer rounds;
    /// `null` for a run.
    pub side: Option<String>,
}

/// Identifies a case independently of its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseDetail {
    /// The case's name.
    pub case: String,
    /// The program.
    pub program: String,
    /// Its flags, without the profile's, by their names in records.
    pub parameters: BTreeMap<String, String>,
    /// The group that it ran for.
    pub group: Option<String>,
}

/// A case that cannot run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Skipped {
    /// The case's name.
    pub case: String,
    /// The reason, in one line.
    pub reason: String,
}

/// The procedure of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Procedure {
    /// The command for another run like it.
    pub command: Vec<String>,
    /// The manifest's flags for every program.
    pub flags: Vec<String>,
    /// No invocation begins after this many seconds; `null` for a number of rounds.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Pairs of cases that run back to back in every round, since a report compares them.
    pub partners: Vec<[String; 2]>,
    /// The command of each case, as in its records.
    pub commands: BTreeMap<String, Vec<String>>,
    /// A fingerprint of each program's binary: its length in bytes and its
    /// CRC-32.
    pub binaries: BTreeMap<String, String>,
}

/// The folder of one run.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    records: File,
    /// Length of the complete lines in `records`, in bytes.
    length: u64,
}

/// How to repair a file of records after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The number of bytes to keep.
    pub kept: usize,
    /// The number of bytes to cut off: an incomplete line.
    pub cut: usize,
    /// Whether the last line that is kept needs a line end.
    pub lacks_end: bool,
}

impl Repair {
    /// What these records need. A line without only its line end is kept.
    pub fn of(records: &[u8]) -> Self {
        let whole = records.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let torn = &records[whole..];
        if serde_json::from_slice::<Invocation>(torn).is_ok() {
            return Self { kept: records.len(), cut: 0, lacks_end: true };
        }
        Self { kept: whole, cut: torn.len(), lacks_end: false }
    }
}

/// Checks that folders and files can be created in `parent`, which is created
/// if missing: better now than after measuring.
///
/// # Errors
/// If they cannot.
pub fn check_writable(parent: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(parent)
        .and_then(|()| tempfile::tempfile_in(parent))
        .map(drop)
        .with_context(|| not_writable(parent))
}

fn not_writable(parent: &Path) -> String {
    format!("--results: writing to {}: name another folder", parent.display())
}

impl Folder {
    /// Creates a folder for a `run` in `parent`: `DATE-LABEL`, in UTC, or if
    /// that exists `DATE-LABEL-2` and so on. Earlier runs are never touched.
    ///
    /// # Errors
    /// If the folder or the file for the records cannot be created.
    pub fn create(parent: &Path, run: &RunDescription, label: &str) -> anyhow::Result<Self> {
        let date = run.started_at.split('T').next().unwrap_or_default();
        let path = make_unused(parent, &format!("{date}-{label}"))
            .with_context(|| not_writable(parent))?;
        let file = path.join(RECORDS);
        let records = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&file)
            .with_context(|| format!("creating {}", file.display()))?;
        Ok(Self { path, records, length: 0 })
    }

    /// Opens the folder of an unfinished run to add to it, and returns its records. Nothing is
    /// written before [`Self::repair`].
    ///
    /// # Errors
    /// If the records are not a readable and writable file, or are longer than any run's.
    pub fn open(path: &Path) -> anyhow::Result<(Self, Vec<u8>)> {
        let file = path.join(RECORDS);
        let going_on = || format!("resuming {}", file.display());
        let mut options = OpenOptions::new();
        let mut records = open_own(&file, options.read(true).append(true), RECORDS_BOUND)
            .with_context(going_on)?;
        let mut bytes = Vec::new();
        (&mut records).take(RECORDS_BOUND).read_to_end(&mut bytes).with_context(going_on)?;
        Ok((Self { path: path.to_owned(), records, length: bytes.len() as u64 }, bytes))
    }

    /// Repairs the end of the records that [`Self::open`] returned.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn repair(&mut self, repair: Repair) -> anyhow::Result<()> {
        let Repair { kept, cut, lacks_end } = repair;
        let mut repair = || {
            if cut > 0 {
                self.records.set_len(kept as u64)?;
            }
            if lacks_end {
                self.records.write_all(b"\n")?;
            }
            self.records.sync_data()
        };
        repair().with_context(|| format!("resuming {}", self.path.join(RECORDS).display()))?;
        self.length = kept as u64 + u64::from(lacks_end);
        Ok(())
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a value as a JSON file, atomically.
    ///
    /// # Errors
    /// If it cannot be written, or a file with this name exists.
    pub fn write_once(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(value)? + "\n";
        persist(&self.path.join(name), &text, |file, path| file.persist_noclobber(path))
    }

    /// Writes a text made from the other files, replacing an earlier one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn replace(&self, name: &str, text: &str) -> anyhow::Result<()> {
        replace(&self.path.join(name), text)
    }

    /// Appends an invocation as one line, with one write, and syncs it to disk.
    /// If that fails, it removes what was written of the line.
    ///
    /// # Errors
    /// If the line cannot be written, or the folder has disappeared.
    pub fn append(&mut self, invocation: &Invocation) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(invocation)?;
        line.push(b'\n');
        let appending = || format!("appending to {}", self.path.join(RECORDS).display());
        let written = self.records.write_all(&line).and_then(|()| self.records.sync_data());
        if let Err(error) = written {
            // Report the first error.
            let _ = self.records.set_len(self.length);
            return Err(error).with_context(appending).with_context(|| {
                format!("free some space, then: brigade run --resume {}", self.path.display())
            });
        }
        self.length += line.len() as u64;
        ensure!(
            self.is_in_place()?,
            "{}: it was removed or replaced during the run: leave results alone while a run \
             measures, and start a new run",
            appending()
        );
        Ok(())
    }

    /// Whether the open file is still the one under its name.
    fn is_in_place(&self) -> io::Result<bool> {
        let open = self.records.metadata()?;
        let named = fs::symlink_metadata(self.path.join(RECORDS));
        Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino())))
    }
}

/// Creates the first of the folders `name`, `name-2`, `name-3` … that does not
/// exist.
fn make_unused(parent: &Path, name: &str) -> io::Result<PathBuf> {
    let mut path = parent.join(name);
    let mut number = 1;
    loop {
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                number += 1;
                path = parent.join(format!("{name}-{number}"));
            }
            made => return made.map(|()| path),
        }
    }
}

/// Opens the file at `path` with `options`, if it is a regular file with one name and at most
/// `bound` bytes: writing to it reaches no other file.
///
/// # Errors
/// If it cannot be opened, or is anything else.
pub fn open_own(path: &Path, options: &mut OpenOptions, bound: u64) -> anyhow::Result<File> {
    let file = match options.custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path) {
        Err(error) if error.raw_os_error() == Some(ELOOP) => bail!("it is a link"),
        opened => opened?,
    };
    let metadata = file.metadata().context("reading its type")?;
    ensure!(metadata.is_file(), "it is not a regular file");
    ensure!(metadata.nlink() == 1, "it has {} names", metadata.nlink());
    ensure!(metadata.len() <= bound, "it has {} bytes, more than {bound}", metadata.len());
    Ok(file)
}

/// Replaces a file by this text, whatever has its name: a link is not followed.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    persist(path, text, |file, path| file.persist(path))
}

/// Writes a text to a temporary file; `keep` renames it.
///
/// # Errors
/// If it cannot be written.
pub fn persist(
    path: &Path,
    text: &str,
    keep: impl Fn(NamedTempFile, &Path) -> Result<File, PersistError>,
) -> anyhow::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let write = || {
        // Meant to be shared: readable as far as the umask allows.
        let permissions = Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        keep(file, path)?;
        File::open(folder)?.sync_all()
    };
    write().with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::invocation::{Outcome, SCHEMA_VERSION};

    fn invocation(round: u32) -> Invocation {
        Invocation {
            schema_version: SCHEMA_VERSION.to_owned(),
            case: "a".to_owned(),
            round,
            attempt: 1,
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            duration_ns: 1,
            command: vec!["a".to_owned()],
            outcome: Outcome::Failed,
            interrupted: false,
            exit_code: Some(1),
            signal: None,
            error: Some("two\nlines".to_owned()),
            record: None,
            stopped_ns: None,
            stops_ns: Vec::new(),
            reference: None,
        }
    }

    /// A new run's folder.
    fn folder(parent: &Path) -> Folder {
        let run: RunDescription = serde_json::from_value(serde_json::json!({
            "schema_version": RUN_SCHEMA_VERSION, "brigade_version": "0", "profile": "default",
            "started_at": "2026-01-01T00:00:00Z", "rounds": 1, "seed": 1, "cases": [],
            "details": [], "skipped": [],
        }))
        .unwrap();
        Folder::create(parent, &run, "x").unwrap()
    }

    #[test]
    fn a_used_name_gets_a_number() {
        let parent = tempfile::tempdir().unwrap();
        let names = [(); 3].map(|()| {
            let folder = folder(parent.path());
            folder.path().file_name().unwrap().to_owned()
        });
        assert_eq!(names, ["2026-01-01-x", "2026-01-01-x-2", "2026-01-01-x-3"]);
    }

    #[test]
    fn an_incomplete_line_is_cut_off_and_the_next_follows_complete_ones() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = folder(parent.path());
        folder.append(&invocation(1)).unwrap();
        let records = folder.path().join(RECORDS);
        let whole = fs::read(&records).unwrap();
        let line = serde_json::to_vec(&invocation(2)).unwrap();
        // Cut off anywhere, or without only the line end.
        for length in 0..=line.len() {
            fs::write(&records, [&whole, &line[..length]].concat()).unwrap();
            let (mut folder, bytes) = Folder::open(folder.path()).unwrap();
            let kept = length == line.len();
            let repair = Repair::of(&bytes);
            assert_eq!(repair.cut, if kept { 0 } else { length });
            assert_eq!(fs::read(&records).unwrap(), bytes, "it was written to");
            folder.repair(repair).unwrap();
            folder.append(&invocation(3)).unwrap();
            let text = fs::read_to_string(&records).unwrap();
            let rounds: Vec<u32> = text
                .lines()
                .map(|line| serde_json::from_str::<Invocation>(line).unwrap().round)
                .collect();
            assert_eq!(rounds, if kept { vec![1, 2, 3] } else { vec![1, 3] }, "at {length}");
        }
    }

    #[test]
    fn a_file_is_written_once() {
        let parent = tempfile::tempdir().unwrap();
        let folder = folder(parent.path());
        folder.write_once("a.json", &1).unwrap();
        assert!(folder.write_once("a.json", &2).is_err());
        assert_eq!(fs::read_to_string(folder.path().join("a.json")).unwrap(), "1\n");
    }
}
