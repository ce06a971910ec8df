//! Full and read-only disks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;

use crate::bench::{
    Bench, Ended, RECORD, end_of, eventually, lines_of, records_in, rounds_in, send, start,
};

#[test]
fn an_unwritable_results_folder_is_detected_before_anything_runs() {
    let bench = Bench::new(&["a"], "touch ran");
    let ended = bench.ends(&["run", "--results", "fake/results"]);
    assert_eq!(ended.code, Some(1));
    let line = "brigade: --results: writing to fake/results: name another folder: Not a directory";
    assert!(ended.stderr.starts_with(line), "{ended:?}");
    assert!(!bench.path("ran").exists());
}

#[test]
fn a_full_disk_behind_standard_output_loses_no_record() {
    let bench = Bench::printing(RECORD);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut brigade = bench.brigade(&["run"]);
    let ended = Ended::from(brigade.stdout(full).stderr(Stdio::piped()).output().unwrap());
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("brigade: showing the results in "), "{ended:?}");
    assert!(ended.stderr.contains("No space left on device"), "{ended:?}");
    assert_eq!(bench.records().len(), 3);
}

#[test]
fn a_limit_on_file_sizes_costs_no_finished_record() {
    let bench = Bench::new(&["a"], &format!("echo '{RECORD}'"));
    // In blocks of 512 or 1024 bytes.
    let limited = ["sh", "-c", "ulimit -f 64; exec \"$0\" \"$@\""];
    let ended = Ended::from(bench.brigade_under(&limited, &["run", "--rounds", "200"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains("File too large"), "{ended:?}");
    let kept = bench.records().len();
    assert!((10..200).contains(&kept), "{kept} records fit");
    assert_eq!(bench.resumes().code, Some(0));
    assert_eq!(bench.records().len(), 200);
}

#[test]
fn a_folder_that_disappears_during_a_run_is_noticed_at_the_next_record() {
    for (gone, left) in [
        ("rm -r results", None),
        ("mv results elsewhere", None),
        (
            "for folder in results/*; do mv $folder x; mkdir $folder; : >$folder/records.jsonl; done",
            Some(0),
        ),
    ] {
        let script = format!("echo run >>runs; [ $(wc -l <runs) = 2 ] && {{ {gone}; }}");
        let bench = Bench::new(&["a"], &format!("{script}\necho '{RECORD}'"));
        let ended = bench.ends(&["run", "--rounds", "9"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.stderr.contains("records.jsonl"), "{ended:?}");
        assert!(ended.stderr.contains("removed or replaced during the run"), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        let runs = fs::read_to_string(bench.path("runs")).unwrap();
        assert_eq!(runs.lines().count(), 2, "it went on");
        let found = bench.result_folders().first().map(|folder| {
            assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "something was written");
            records_in(folder).len()
        });
        assert_eq!(found, left, "{gone}");
    }
}

/// A file system in memory, unmounted at its end.
struct Mount(PathBuf);

impl Mount {
    /// Mounts one with these options over a folder of the bench, or skips the
    /// test.
    fn over(bench: &Bench, name: &str, options: &str) -> Option<Self> {
        let path = bench.path(name);
        fs::create_dir_all(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(Self(path));
        }
        contract::skip("a disk of a few KiB", "mounting one needs root");
        None
    }

    fn remount(&self, options: &str) {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{options}")]).arg(&self.0);
        assert!(mount.status().unwrap().success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn only_folder_in(parent: &Path) -> PathBuf {
    fs::read_dir(parent).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_disk_that_fills_up_costs_no_finished_record() {
    let bench = Bench::new(&["a"], &format!("echo '{RECORD}'"));
    let Some(disk) = Mount::over(&bench, "disk", "size=64k") else { return };
    let ended = bench.ends(&["run", "--results", "disk", "--rounds", "200"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    let folder = only_folder_in(&disk.0);
    let line = format!(
        "brigade: free some space, then: brigade run --resume {}: appending to ",
        Path::new("disk").join(folder.file_name().unwrap()).display()
    );
    assert!(ended.stderr.starts_with(&line), "{ended:?}");
    assert!(ended.stderr.contains("No space left on device"), "{ended:?}");
    let kept = records_in(&folder).len();
    assert!((10..200).contains(&kept), "{kept} records fit on the disk");

    let folder = folder.to_str().unwrap();
    let reported = bench.ends(&["report", "--full", folder]);
    assert_eq!((reported.code, reported.stderr.as_str()), (Some(0), ""));
    assert!(reported.stdout.contains(&format!("{kept} of 200 invocations")), "{reported:?}");

    disk.remount("size=10m");
    assert_eq!(bench.ends(&["run", "--resume", folder]).code, Some(0));
    let expected: Vec<_> = (1..=200).map(|round| ("a".to_owned(), round)).collect();
    assert_eq!(rounds_in(Path::new(folder)), expected);
}

#[test]
fn a_read_only_disk_is_detected_before_anything_runs() {
    let bench = Bench::new(&["a"], &format!("touch ran; echo '{RECORD}'"));
    let Some(disk) = Mount::over(&bench, "results", "size=1m") else { return };
    let brigade = start(&bench, &["run", "--rounds", "10000"]);
    eventually("a record is there", || lines_of(&bench) > 0);
    send(&brigade, Signal::SIGINT);
    assert_eq!(end_of(brigade).code, Some(130));
    fs::remove_file(bench.path("ran")).unwrap();
    disk.remount("ro");
    for (ended, flag) in [(bench.ends(&["run"]), "--results: "), (bench.resumes(), "resuming ")] {
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.stderr.starts_with(&format!("brigade: {flag}")), "{ended:?}");
        assert!(ended.stderr.contains("Read-only file system"), "{ended:?}");
    }
    assert!(!bench.path("ran").exists());
}
