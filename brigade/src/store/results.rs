//! The folder of a run's results. It is only ever added to, and whatever moment
//! the runner dies at, what is in it is whole.
//!
//! Files that are written to and lie where somebody else may have put something:
//! opened without waiting, and only where they are nothing but themselves, or made
//! anew and put in place whole.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use libc::{ELOOP, O_NOFOLLOW, O_NONBLOCK};
use serde::{Deserialize, Serialize};
use tempfile::{NamedTempFile, PersistError};

use crate::store::invocation::Invocation;

/// The file that tells what was run.
pub const RUN: &str = "run.json";

/// The file that describes the machine.
pub const ENVIRONMENT: &str = "environment.json";

/// The file that receives one line per invocation.
pub const RECORDS: &str = "records.jsonl";

/// The file that tells how a run ended; written last, when all else is there.
pub const RUN_END: &str = "run-end.json";

/// The page for readers, made from the others.
pub const PAGE: &str = "report.md";

/// The page to look at, made from the others.
pub const HTML_PAGE: &str = "report.html";

/// The proof of the instrument that a run ended with.
pub const PROOF: &str = "prove.json";

/// The longest [`RECORDS`] that is read, in bytes. Half an hour of measuring fills
/// some ten MiB.
pub const RECORDS_BOUND: u64 = 128 * 1024 * 1024;

/// The most invocations that a run may have or intend.
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
    /// When the run was started: UTC, RFC 3339.
    pub started_at: String,
    /// The profile's name.
    pub profile: String,
    /// Rounds of every case.
    pub rounds: u32,
    /// Seed of the order of the cases.
    pub seed: u64,
    /// The cases that run.
    pub cases: Vec<String>,
    /// What they are, in the same order.
    pub details: Vec<CaseDetail>,
    /// The cases that cannot run here.
    pub skipped: Vec<Skipped>,
    /// How it is run, and what resuming it needs; `null` for a side of a comparison.
    pub procedure: Option<Procedure>,
    /// Which side of a comparison this is, `baseline` or `candidate`, whose rounds may be
    /// fewer; `null` for a run.
    pub side: Option<String>,
}

/// What a case is, whatever its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseDetail {
    /// The case's name.
    pub case: String,
    /// The program.
    pub program: String,
    /// Its flags, without those of the profile, by the names that records use.
    pub parameters: BTreeMap<String, String>,
    /// The group that it was run for.
    pub group: Option<String>,
}

/// A case that cannot run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Skipped {
    /// The case's name.
    pub case: String,
    /// Why, in one line.
    pub reason: String,
}

/// How a run goes, beyond its common rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Procedure {
    /// What to type for another run like it.
    pub command: Vec<String>,
    /// The flags that the profile gives to every program.
    pub flags: Vec<String>,
    /// Until when further rounds follow the common ones; `null` if none do.
    pub further: Option<FurtherRounds>,
    /// How often a case may run again because an invocation was unusable.
    pub reruns: u32,
    /// The least time from the start of a round to the start of the next one, in
    /// seconds.
    pub spacing_seconds: f64,
    /// Pairs of cases that run one after the other in every round, since a
    /// sentence or a baseline sets them side by side.
    pub partners: Vec<[String; 2]>,
    /// The command of each case, as its records have it.
    pub commands: BTreeMap<String, Vec<String>>,
    /// A fingerprint of each program's binary: its length in bytes and its
    /// CRC-32.
    pub binaries: BTreeMap<String, String>,
}

impl Procedure {
    /// The least time from the start of a round to the start of the next one; none
    /// where the figure is no such time.
    pub fn spacing(&self) -> Duration {
        Duration::try_from_secs_f64(self.spacing_seconds).unwrap_or_default()
    }
}

/// Until when further rounds follow the common ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FurtherRounds {
    /// The half-width of a case's interval that is narrow enough, in percent
    /// of its median.
    pub target_percent: f64,
    /// How long all invocations together may take, and waits between rounds, in
    /// seconds; none is started after this.
    pub budget_seconds: f64,
}

/// The folder of one run.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    records: File,
    /// Length of the complete lines in `records`, in bytes.
    length: u64,
}

/// How a file of records that may have been torn is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mending {
    /// How many bytes are kept.
    pub kept: usize,
    /// How many are cut off: a line that was never finished.
    pub cut: usize,
    /// Whether the last line that is kept lacks its end.
    pub lacks_end: bool,
}

impl Mending {
    /// What these records need. A line that only lacks its end is kept.
    pub fn of(records: &[u8]) -> Self {
        let whole = records.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let torn = &records[whole..];
        if serde_json::from_slice::<Invocation>(torn).is_ok() {
            return Self { kept: records.len(), cut: 0, lacks_end: true };
        }
        Self { kept: whole, cut: torn.len(), lacks_end: false }
    }
}

/// Checks that folders and files can be made in `parent`, which is made if it
/// is not there: better now than after the measuring.
///
/// # Errors
/// When they cannot.
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
    /// Makes a folder for a `run` in `parent`: `DATE-LABEL`, in UTC, or if that
    /// exists `DATE-LABEL-2` and so on. An earlier run is never touched.
    ///
    /// # Errors
    /// When the folder or the file for the records cannot be made.
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

    /// Opens the folder of a run that did not come to its end, to add to it, and
    /// returns what its records hold. Nothing is written before [`Self::mend`].
    ///
    /// # Errors
    /// When the records are not a file that can be read and added to, or are
    /// longer than any run's.
    pub fn open(path: &Path) -> anyhow::Result<(Self, Vec<u8>)> {
        let file = path.join(RECORDS);
        let going_on = || format!("going on with {}", file.display());
        let mut options = OpenOptions::new();
        let mut records = open_own(&file, options.read(true).append(true), RECORDS_BOUND)
            .with_context(going_on)?;
        let mut bytes = Vec::new();
        (&mut records).take(RECORDS_BOUND).read_to_end(&mut bytes).with_context(going_on)?;
        Ok((Self { path: path.to_owned(), records, length: bytes.len() as u64 }, bytes))
    }

    /// Ends the records with a whole line, as `mending` says of what
    /// [`Self::open`] returned.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn mend(&mut self, mending: Mending) -> anyhow::Result<()> {
        let Mending { kept, cut, lacks_end } = mending;
        let mut mend = || {
            if cut > 0 {
                self.records.set_len(kept as u64)?;
            }
            if lacks_end {
                self.records.write_all(b"\n")?;
            }
            self.records.sync_data()
        };
        mend().with_context(|| format!("going on with {}", self.path.join(RECORDS).display()))?;
        self.length = kept as u64 + u64::from(lacks_end);
        Ok(())
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a value as a JSON file that is there in whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written, or a file of this name exists.
    pub fn write_once(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(value)? + "\n";
        persist(&self.path.join(name), &text, |file, path| file.persist_noclobber(path))
    }

    /// Writes how the run ended, unless that is there already.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_end(&self, end: &impl Serialize) -> anyhow::Result<()> {
        match self.path.join(RUN_END).symlink_metadata() {
            Ok(_) => Ok(()),
            Err(_) => self.write_once(RUN_END, end),
        }
    }

    /// Writes a text that is made from the other files, in place of an earlier
    /// one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn replace(&self, name: &str, text: &str) -> anyhow::Result<()> {
        replace(&self.path.join(name), text)
    }

    /// Appends an invocation as one line, by one write, and sees it to the
    /// disk. If that fails, what was written of the line is taken back.
    ///
    /// # Errors
    /// When the line cannot be written, or the folder has gone meanwhile.
    pub fn append(&mut self, invocation: &Invocation) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(invocation)?;
        line.push(b'\n');
        let appending = || format!("appending to {}", self.path.join(RECORDS).display());
        let written = self.records.write_all(&line).and_then(|()| self.records.sync_data());
        if let Err(error) = written {
            // The first error is the one to report.
            let _ = self.records.set_len(self.length);
            return Err(error).with_context(appending).with_context(|| {
                format!("free some space, then: brigade run --resume {}", self.path.display())
            });
        }
        self.length += line.len() as u64;
        ensure!(
            self.is_in_place()?,
            "{}: it was removed or replaced during the run: leave results alone while a run \
             measures, and start a new one",
            appending()
        );
        Ok(())
    }

    /// Whether the file that is open is the one that its name leads to.
    fn is_in_place(&self) -> io::Result<bool> {
        let open = self.records.metadata()?;
        let named = fs::symlink_metadata(self.path.join(RECORDS));
        Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino())))
    }
}

/// Makes the folder `name`, `name-2`, `name-3` … that does not exist yet.
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

/// Opens the file at `path` as `options` say, if it is a regular file of one name
/// and of at most `bound` bytes: what is written to it reaches no other file.
///
/// # Errors
/// When it cannot be opened, or is anything else.
pub fn open_own(path: &Path, options: &mut OpenOptions, bound: u64) -> anyhow::Result<File> {
    let file = match options.custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path) {
        Err(error) if error.raw_os_error() == Some(ELOOP) => bail!("it is a link"),
        opened => opened?,
    };
    let metadata = file.metadata().context("reading what it is")?;
    ensure!(metadata.is_file(), "it is not a regular file");
    ensure!(metadata.nlink() == 1, "it has {} names", metadata.nlink());
    ensure!(metadata.len() <= bound, "it has {} bytes, more than {bound}", metadata.len());
    Ok(file)
}

/// Writes a text to a file in place of what has its name, whatever that is: a link is
/// not followed.
///
/// # Errors
/// When it cannot be written.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    persist(path, text, |file, path| file.persist(path))
}

/// Writes a text to a file that is there in whole or not at all; `keep` gives it its
/// name.
///
/// # Errors
/// When it cannot be written.
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
        // Made to be shared: readable as far as the umask allows.
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

    /// A new folder of a run.
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
    fn a_line_that_was_not_finished_is_cut_off_and_the_next_follows_the_whole_ones() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = folder(parent.path());
        folder.append(&invocation(1)).unwrap();
        let records = folder.path().join(RECORDS);
        let whole = fs::read(&records).unwrap();
        let line = serde_json::to_vec(&invocation(2)).unwrap();
        // Torn anywhere, or the end of the line alone lost.
        for length in 0..=line.len() {
            fs::write(&records, [&whole, &line[..length]].concat()).unwrap();
            let (mut folder, bytes) = Folder::open(folder.path()).unwrap();
            let kept = length == line.len();
            let mending = Mending::of(&bytes);
            assert_eq!(mending.cut, if kept { 0 } else { length });
            assert_eq!(fs::read(&records).unwrap(), bytes, "it was written to");
            folder.mend(mending).unwrap();
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
