//! A temporary folder with a manifest and shell scripts as programs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// How long to wait for a condition: longer than the busiest machine needs.
const PATIENCE: Duration = Duration::from_secs(600);

/// The user who measures.
pub const USER: &str = "alice-of-brigade";

/// A record of the program `a` for 1 task, 2 iterations, no warm-ups.
pub const RECORD: &str = r#"{"schema_version":"1.0","program":"a","version":"0.1.0","parameters":{},"kind":"thread","tasks":1,"tokens":1,"iterations":2,"warmups":0,"complete":true,"ended_by":"iterations","error":null,"affinity":[0],"inherited":{},"cpus":null,"measurements":[{"name":"iteration","operation":"hop","operations":2,"count":2,"mean_ns":150.0,"stddev_ns":70.7,"min_ns":100,"p50_ns":100,"p90_ns":200,"p99_ns":200,"p999_ns":200,"max_ns":200,"ns_per_operation":75.0,"ns_per_task":150.0,"histogram":""}],"cpu":null,"switches":{"voluntary_per_operation":0.0,"involuntary_per_operation":0.0,"expected_per_operation":0.0,"cross_cpu_share":null},"system_calls_per_operation":null,"schedule":null,"waiting":null,"interference":{"steal_ns":null,"wall_ns":null,"others_cpu_ns":null,"throttled_ns":null,"throttled_periods":null},"ledger":null,"work":null,"serving":null,"channel":null,"readers_together":null,"rebuilds_per_operation":null,"awake":null,"clock_step_ns":null}"#;

pub struct Bench {
    folder: TempDir,
    cases: Vec<String>,
    /// A key for every case, such as `, needs_cpus = 2`.
    pub case_keys: &'static str,
}

impl Bench {
    /// A bench with these cases, each a program and its flags. Every program is the script
    /// `script`; a record of `a` in it becomes one of the program.
    pub fn new(cases: &[&str], script: &str) -> Self {
        // Child processes would inherit an ignored hang-up, as under nohup. SAFETY: no handler is
        // installed.
        unsafe { signal(Signal::SIGHUP, SigHandler::SigDfl) }.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let bench = Self {
            folder,
            cases: cases.iter().map(|case| (*case).to_owned()).collect(),
            case_keys: "",
        };
        for program in bench.programs() {
            let name = format!("\"program\":\"{program}\"");
            let script = script.replace("\"program\":\"a\"", &name);
            contract::executable::write(&bench.path(program), format!("#!/bin/sh\n{script}\n"));
        }
        bench
    }

    fn programs(&self) -> BTreeSet<&str> {
        self.cases.iter().filter_map(|case| case.split(' ').next()).collect()
    }

    /// A bench whose only case, `a`, prints `output`.
    pub fn printing(output: &str) -> Self {
        Self::new(&["a"], &format!("cat <<'END'\n{output}\nEND"))
    }

    /// A path inside the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The manifest's text.
    pub fn manifest(&self) -> String {
        let check = "check = '--tasks 1 --iters 2 --warmups 0'";
        let rule = format!("rules = [{{ words = '', {check}{} }}]", self.case_keys);
        let mut text = "flags = '--max-time 1'\ncomparison_flags = '--max-time 2'\n".to_owned();
        text += &format!("{rule}\n[programs]\n");
        for program in self.programs() {
            text += &format!("{program} = {{ path = '{program}' }}\n");
        }
        let cases = &self.cases;
        text + &format!("[[group]]\nname = 'letters'\nquestion = 'Which?'\ncases = {cases:?}\n")
    }

    /// `brigade` in this folder, after writing the bench's manifest.
    pub fn brigade(&self, arguments: &[&str]) -> Command {
        self.brigade_with(&self.manifest(), arguments)
    }

    /// `brigade` in this folder, after writing another manifest. A run prints its tables, and has
    /// three rounds unless its flags say otherwise.
    pub fn brigade_with(&self, manifest: &str, arguments: &[&str]) -> Command {
        fs::write(self.path("suite.toml"), manifest).unwrap();
        let mut brigade = contract::command(env!("CARGO_BIN_EXE_brigade"));
        let (command, rest) = arguments.split_at(arguments.len().min(1));
        brigade.current_dir(self.folder.path()).args(command);
        if command == ["run"] {
            brigade.arg("--full");
            if !["--rounds", "--time", "--resume"].iter().any(|flag| rest.contains(flag)) {
                brigade.args(["--rounds", "3"]);
            }
        }
        if !rest.contains(&"--manifest") {
            brigade.arg("--manifest").arg(self.path("suite.toml"));
        }
        brigade.args(rest);
        brigade.env("BRIGADE_LOCK", self.path("lock")).env("XDG_CACHE_HOME", self.path("cache"));
        brigade.env("USER", USER);
        brigade
    }

    /// `brigade` in this folder, started by another command.
    pub fn brigade_under(&self, words: &[&str], arguments: &[&str]) -> Command {
        let brigade = self.brigade(arguments);
        let mut command = contract::command(words[0]);
        command.args(&words[1..]).arg(brigade.get_program()).args(brigade.get_args());
        command.current_dir(self.path(""));
        command.envs(brigade.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Runs `brigade run --resume` on the first run.
    pub fn resumes(&self) -> Ended {
        self.ends(&["run", "--resume", self.result_folders()[0].to_str().unwrap()])
    }

    /// Runs `brigade` to its end.
    pub fn ends(&self, arguments: &[&str]) -> Ended {
        Ended::from(self.brigade(arguments))
    }

    /// The folders of all runs, sorted by name.
    pub fn result_folders(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("results")) else { return Vec::new() };
        let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        folders.sort();
        folders
    }

    /// The records of the first run; every line must parse.
    pub fn records(&self) -> Vec<Value> {
        records_in(&self.result_folders()[0])
    }
}

/// The size of the largest file that is checked: no run of a test writes more.
const LARGEST_CHECKED: u64 = 64 << 20;

/// Whatever a test did, its results name neither its user nor its folder.
impl Drop for Bench {
    fn drop(&mut self) {
        let folders = if thread::panicking() { Vec::new() } else { self.result_folders() };
        for entry in folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten() {
            let entry = entry.unwrap();
            // A test may have put something else there: a pipe that nobody writes, or 20 GiB of zeros.
            let about = entry.metadata().unwrap();
            if !about.is_file() || about.len() > LARGEST_CHECKED {
                continue;
            }
            let text = fs::read(entry.path()).unwrap();
            let text = String::from_utf8_lossy(&text);
            for name in [USER, self.folder.path().to_str().unwrap()] {
                assert!(!text.contains(name), "{name} is in the results: {text}");
            }
        }
    }
}

/// The records in the folder of a run; every line must parse.
pub fn records_in(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("records.jsonl")).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is cut off: {text:?}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The case and round of each line that was not interrupted.
pub fn rounds_in(folder: &Path) -> Vec<(String, u64)> {
    let records = records_in(folder).into_iter().filter(|record| record["interrupted"] == false);
    let round = |record: Value| {
        (record["case"].as_str().unwrap().to_owned(), record["round"].as_u64().unwrap())
    };
    records.map(round).collect()
}

/// The output of `brigade` and its exit code.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Command> for Ended {
    fn from(mut command: Command) -> Self {
        command.output().unwrap().into()
    }
}

impl From<std::process::Output> for Ended {
    fn from(output: std::process::Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs a command on a terminal with 45 lines and so many columns; `None` if that cannot be done here.
/// What it prints on both streams is its output, and is in the file `copy` as soon as it is printed.
pub fn on_terminal(command: &Command, columns: u32, copy: &Path) -> Option<Ended> {
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let words = words.iter().map(|word| word.to_str().unwrap());
    let line = shlex::try_join(words).unwrap();
    let line = format!("stty rows 45 cols {columns}; {line}");
    let mut terminal = contract::command("script");
    terminal.args(["-qfec", &line]).arg(copy).stdin(Stdio::null());
    terminal.env("LANG", "C.UTF-8").env("TERM", "xterm");
    terminal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        terminal.current_dir(folder);
    }
    match terminal.output() {
        Ok(output) => Some(output.into()),
        Err(_) => {
            contract::skip("what is printed on a terminal", "script is not installed");
            None
        }
    }
}

/// Waits until `condition` holds.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "gave up waiting: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Starts `brigade` and captures its output.
pub fn start(bench: &Bench, arguments: &[&str]) -> Child {
    let mut brigade = bench.brigade(arguments);
    heed_interrupts(&mut brigade);
    brigade.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// In a background job SIGINT is ignored, and one that arrives before a process handles it would be
/// lost.
pub fn heed_interrupts(command: &mut Command) {
    let reset = || {
        // SAFETY: the default action calls nothing.
        unsafe { signal(Signal::SIGINT, SigHandler::SigDfl) }?;
        Ok(())
    };
    // SAFETY: between fork and exec, this makes one system call.
    unsafe { command.pre_exec(reset) };
}

pub fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

pub fn end_of(child: Child) -> Ended {
    child.wait_with_output().unwrap().into()
}

pub fn lines_of(bench: &Bench) -> usize {
    let Some(folder) = bench.result_folders().into_iter().next() else { return 0 };
    fs::read_to_string(folder.join("records.jsonl")).map_or(0, |text| text.lines().count())
}

/// Whether a process exists and is no zombie.
pub fn is_running(pid: &str) -> bool {
    let pid = pid.parse().expect("a process's number");
    contract::machine::stat(pid).is_some_and(|stat| stat.state != 'Z')
}

/// [`RECORD`] with other parts.
pub fn changed(parts: &[(&str, &str)]) -> String {
    let change = |record: String, (from, to): &(&str, &str)| {
        assert!(record.contains(from), "{from} is not in the record");
        record.replacen(from, to, 1)
    };
    parts.iter().fold(RECORD.to_owned(), change)
}

/// Makes the run in a folder one during which other programs used this share of the CPUs, on a
/// machine of one speed: what happens next to a test does not decide what it sees.
pub fn set_disturbance(folder: &Path, share: f64) {
    let lines = records_in(folder).into_iter().map(|mut line| {
        line["reference"]["kernel_ns"] = 500.0.into();
        let record = &mut line["record"];
        let cpus = record["affinity"].as_array().map_or(1, Vec::len);
        let wall_ns = 10_000_000_000_u64;
        let others_ns = (share * wall_ns as f64 * cpus as f64) as i64;
        record["interference"]["wall_ns"] = wall_ns.into();
        record["interference"]["others_cpu_ns"] = others_ns.into();
        record["interference"]["steal_ns"] = 0.into();
        // Nobody knows then whether its tasks ever waited.
        record["cpu"] = Value::Null;
        line.to_string() + "\n"
    });
    fs::write(folder.join("records.jsonl"), lines.collect::<String>()).unwrap();
}

/// The JSON in a file.
pub fn json_in(path: impl AsRef<Path>) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Checks JSON against the committed schema of this name.
pub fn check_schema(name: &str, json: &Value) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{name}.schema.json"));
    let validator = jsonschema::validator_for(&json_in(file)).expect("a schema");
    assert!(!validator.is_valid(&serde_json::json!({})), "{name}: it refuses nothing");
    let wrong: Vec<String> = validator.iter_errors(json).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{name}: {wrong:?} {json}");
}

/// Edits a JSON file.
pub fn edit(path: impl AsRef<Path>, edit: impl Fn(&mut Value)) {
    let mut value = json_in(&path);
    edit(&mut value);
    fs::write(path, value.to_string()).unwrap();
}
