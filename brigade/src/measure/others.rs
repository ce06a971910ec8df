//! The other programs that use the CPUs while a run goes on. Their names are for the person at the
//! terminal: nothing saves them.

use std::collections::BTreeMap;
use std::process;
use std::time::{Duration, Instant};

use harness::process_stat::ProcessStat;
use harness::system_files::SystemFiles;
use nix::unistd::{SysconfVar, sysconf};

/// How often it is worth a look: one takes some milliseconds.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The smallest share of the time of the CPUs for which a program is named, and the most names.
const NAMED: f64 = 0.01;
const MOST_NAMED: usize = 3;

/// The CPU time of a process and of its children that have ended.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    parent: u32,
    /// In clock ticks.
    used: u64,
}

/// The CPU time of other programs since counting began.
#[derive(Debug)]
pub struct Others {
    began: Instant,
    /// When it looked last.
    looked: Instant,
    /// The processes when it looked last.
    before: BTreeMap<u32, Ticks>,
    /// How many CPUs the run may use.
    cpus: usize,
    /// The CPU time since the beginning, in clock ticks, by name.
    used: BTreeMap<String, u64>,
}

impl Others {
    /// Begins to count, for a run that may use so many CPUs.
    pub fn begin(cpus: usize) -> Self {
        let now = Instant::now();
        let before = ticks_of_all(&SystemFiles::live());
        Self { began: now, looked: now, before, cpus, used: BTreeMap::new() }
    }

    /// The names of the programs that used most of the time of the CPUs, the busiest first. It looks
    /// again if the last look was a while ago.
    pub fn names(&mut self) -> Vec<String> {
        if self.looked.elapsed() >= BETWEEN_LOOKS {
            self.look(&SystemFiles::live());
            self.looked = Instant::now();
        }
        let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
        let all = self.began.elapsed().as_secs_f64() * self.cpus as f64 * per_second as f64;
        self.names_above((NAMED * all).ceil() as u64)
    }

    /// Adds what every process used since the last look. A process that is new began meanwhile.
    fn look(&mut self, files: &SystemFiles) {
        let now = ticks_of_all(files);
        // What an ended process had used by the last look is its parent's now, and was counted.
        let mut of_ended = BTreeMap::<u32, u64>::new();
        for (_, ended) in self.before.iter().filter(|(pid, _)| !now.contains_key(pid)) {
            *of_ended.entry(ended.parent).or_default() += ended.used;
        }
        for (pid, ticks) in &now {
            let counted = of_ended.get(pid).copied().unwrap_or(0);
            let used = match self.before.get(pid) {
                Some(before) if before.used <= ticks.used => {
                    (ticks.used - before.used).saturating_sub(counted)
                }
                // It began meanwhile, maybe with the number of one that has ended.
                _ => ticks.used,
            };
            if used > 0
                && *pid != process::id()
                && let Some(name) = name_of(files, *pid)
            {
                *self.used.entry(name).or_default() += used;
            }
        }
        self.before = now;
    }

    /// The names of those that used at least so many ticks.
    fn names_above(&self, ticks: u64) -> Vec<String> {
        let mut busy: Vec<(&String, u64)> =
            self.used.iter().map(|(name, of)| (name, *of)).collect();
        busy.retain(|(_, used)| *used > 0 && *used >= ticks);
        busy.sort_by_key(|(_, used)| std::cmp::Reverse(*used));
        busy.into_iter().take(MOST_NAMED).map(|(name, _)| name.clone()).collect()
    }
}

fn ticks_of_all(files: &SystemFiles) -> BTreeMap<u32, Ticks> {
    let pids = files.names("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let ticks = |pid: u32| {
        let stat = ProcessStat::read(files, &format!("proc/{pid}"))?;
        let used = stat.user_ticks + stat.system_ticks + stat.children_ticks;
        Some((pid, Ticks { parent: stat.parent, used }))
    };
    pids.filter_map(ticks).collect()
}

/// A process's name; `None` of the kernel's threads, which have no command line.
fn name_of(files: &SystemFiles, pid: u32) -> Option<String> {
    let is_program = !files.text(&format!("proc/{pid}/cmdline"))?.is_empty();
    if is_program { files.line(&format!("proc/{pid}/comm")) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these processes: their names, and their ticks, without a command line for a
    /// thread of the kernel.
    fn machine(processes: &[(u32, &str, u64)]) -> SystemFiles {
        let files = processes.iter().flat_map(|(pid, name, ticks)| {
            let rest = "0 ".repeat(22);
            let stat = format!("{pid} ({name}) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 {rest}0");
            let command = if name.starts_with('k') { "" } else { "x" };
            [("stat", stat.as_str()), ("comm", name), ("cmdline", command)]
                .map(|(file, text)| (format!("proc/{pid}/{file}"), text.to_owned()))
        });
        SystemFiles::Simulated(files.collect())
    }

    #[test]
    fn the_busiest_programs_since_the_beginning_are_named() {
        let before =
            ticks_of_all(&machine(&[(7, "idle", 5000), (8, "cargo", 10), (9, "old", 900)]));
        assert_eq!(before[&7].used, 5000);
        let now = Instant::now();
        let mut others = Others { began: now, looked: now, before, cpus: 2, used: BTreeMap::new() };
        assert_eq!(others.names_above(0), [""; 0]);
        let later = [
            (7, "idle", 5001),
            (8, "cargo", 110),
            // With the number of one that has ended.
            (9, "rustc", 300),
            (10, "rustc", 50),
            (11, "kworker", 999),
            (process::id(), "brigade", 999),
        ];
        others.look(&machine(&later));
        assert_eq!(others.names_above(10), ["rustc", "cargo"]);
        assert_eq!(others.names_above(1), ["rustc", "cargo", "idle"]);
        others.look(&machine(&later));
        assert_eq!(others.names_above(10), ["rustc", "cargo"], "nothing is counted twice");
        assert_eq!(others.names_above(1000), [""; 0]);
    }

    /// Process 1 waits for the end of all.
    #[test]
    fn what_an_ended_process_had_used_is_not_counted_for_its_parent() {
        let before = ticks_of_all(&machine(&[(1, "sh", 100), (8, "rustc", 3000)]));
        let now = Instant::now();
        let mut others = Others { began: now, looked: now, before, cpus: 2, used: BTreeMap::new() };
        // The child used five more ticks before it ended.
        others.look(&machine(&[(1, "sh", 3105)]));
        assert_eq!(others.used["sh"], 5);
    }

    #[test]
    fn a_busy_process_of_this_machine_is_found() {
        let mut others = Others::begin(2);
        let script = "while :; do :; done";
        let mut works = contract::command("sh").args(["-c", script]).spawn().unwrap();
        let name = name_of(&SystemFiles::live(), works.id()).unwrap();
        let begun = Instant::now();
        while !others.used.contains_key(&name) && begun.elapsed() < Duration::from_secs(600) {
            others.look(&SystemFiles::live());
        }
        works.kill().unwrap();
        works.wait().unwrap();
        assert!(others.used.contains_key(&name), "{others:?}");
    }
}
