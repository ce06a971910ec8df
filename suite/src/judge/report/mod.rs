//! What a run prints at its end: the table, what has to be known about it, and
//! the findings.

pub mod attribution;
pub(crate) mod estimate;
mod explanation;
mod findings;
mod notes;
pub(crate) mod quantity;
#[cfg(test)]
mod readme;
mod subtraction;
pub mod table;

use harness::paragraph::item;

use crate::manifest::Manifest;
use crate::store::invocation::Invocation;
use estimate::estimate;
use notes::notes;
use table::{LEGEND, table};

/// The summary of a run as plain text of at most 80 columns, ended by a
/// newline. Cases come in the order of `cases`, which names them; baselines
/// and findings are those of `manifest`. Nothing is said of nothing.
#[must_use]
pub fn summary(manifest: &Manifest, cases: &[&str], invocations: &[Invocation]) -> String {
    if invocations.is_empty() {
        return String::new();
    }
    let place = |name: &str| cases.iter().position(|&case| case == name);
    let mut cases = estimate(invocations);
    cases.sort_by_key(|case| place(&case.case));
    let notes = notes(&cases);
    let findings: Vec<String> =
        manifest.findings.iter().filter_map(|finding| finding.sentence(&cases)).collect();
    let tables = [
        (table(&cases), LEGEND),
        (subtraction::table(&manifest.cases, &cases), subtraction::LEGEND),
        (attribution::table(&cases), attribution::LEGEND),
    ];
    let tables: Vec<String> = tables
        .into_iter()
        .filter(|(table, _)| !table.is_empty())
        .map(|(table, legend)| format!("{table}{legend}\n"))
        .collect();
    tables.join("\n") + &section(&notes) + &section(&findings)
}

/// A blank line and the sentences as a list, or nothing.
fn section(sentences: &[String]) -> String {
    let blank = if sentences.is_empty() { "" } else { "\n" };
    sentences.iter().fold(blank.to_owned(), |section, sentence| section + &item(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::invocation::Outcome;
    use crate::store::sample::{self, Sample};

    /// `suite.toml`.
    fn manifest() -> Manifest {
        Manifest::parse(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../suite.toml")))
            .expect("a manifest")
    }

    /// Five rounds of `case`, up to two percent apart.
    fn rounds(case: &str, like: Sample) -> Vec<Invocation> {
        let factors = [1.0, 0.99, 1.01, 1.02, 0.98];
        sample::samples(case, factors.map(|by| Sample { wall_ns: like.wall_ns * by, ..like }))
    }

    fn pinned() -> Vec<Invocation> {
        let hop = Sample { placement: "same-cpu", user_ns: 310.0, ..Sample::hop(1790.0) };
        rounds("thread-brigade/same-cpu", Sample { system_ns: 1400.0, ..hop })
    }

    fn spread() -> Vec<Invocation> {
        let hop = Sample { placement: "spread", cross_cpu_share: 0.99, ..Sample::hop(22_000.0) };
        rounds("thread-brigade/spread", Sample { user_ns: 600.0, system_ns: 3100.0, ..hop })
    }

    fn thread_creation() -> Vec<Invocation> {
        let runs = rounds("thread-creation", Sample::hop(9_100.0)).into_iter();
        let runs = runs.map(|run| sample::renamed(run, "create", "thread creation"));
        runs.map(|run| sample::and_measurement(run, "create_cold", "thread creation", 21_300.0))
            .collect()
    }

    fn task_creation() -> Vec<Invocation> {
        let runs = rounds("async-creation", Sample::hop(310.0)).into_iter();
        runs.map(|run| sample::renamed(run, "create", "task creation")).collect()
    }

    #[test]
    fn a_run_is_summed_up_in_a_table_notes_and_findings() {
        let free = Sample { cross_cpu_share: 0.02, ..Sample::hop(2_600.0) };
        let mut free = rounds("thread-brigade/free", free);
        free[1] = Sample { cross_cpu_share: 0.97, ..Sample::hop(22_300.0) }
            .in_round("thread-brigade/free", 2);
        free[3] = Sample { cross_cpu_share: 0.98, ..Sample::hop(21_900.0) }
            .in_round("thread-brigade/free", 4);
        let invocations = [
            pinned(),
            spread(),
            free,
            rounds("async-brigade-ct", Sample { switches: 0.002, ..Sample::hop(905.0) }),
            rounds("async-mem-brigade", Sample { switches: 0.0, ..Sample::hop(88.0) }),
            rounds("one-thread-brigade", Sample { switches: 0.0, ..Sample::hop(640.0) }),
            thread_creation(),
            task_creation(),
            vec![sample::without_record("uring-brigade", 1, Outcome::Refused)],
        ];
        insta::assert_snapshot!(summary(&manifest(), &[], &invocations.concat()), @r"
        case               placed   op        time [95 %]       p50  p99  cpu sw/op    n
        async-brigade-ct   free     hop    ns 905 [887,923]     814 1810  634  0.00    5
        async-creation     free     create ns 310 [304,316]     279  620  217  1.00    5
        async-mem-brigade  free     hop    ns 88.0 [86.2,89.8] 79.2  176 61.6  0.00    5
        one-thread-brigade free     hop    ns 640 [627,653]     576 1280  448  0.00    5
        thread-brigade     free     hop    µs 2.63 [2.55,22.3] 2.36 5.25 1.82  1.00    5
        thread-brigade     same-cpu hop    µs 1.79 [1.75,1.83] 1.61 3.58 1.71  1.00    5
        thread-brigade     spread   hop    µs 22.0 [21.6,22.4] 19.8 44.0 3.70  1.00    5
        thread-creation    free     create µs 9.10 [8.92,9.28] 8.19 18.2 6.37  1.00    5
        thread-creation    free     cold   µs 21.3 [21.3,21.3] 19.2 42.6    –     –    5
        Per op, medians over n processes; [95 % interval]; sw: the kernel's switches.

        less its baseline  placed   op        left [95 %]         baseline             n
        async-brigade-ct   free     hop    ns 265 [260,270]       one-thread-brigade   5
        thread-brigade     free     hop    µs 1.98 [1.92,21.7]    one-thread-brigade   5
        thread-brigade     spread   hop    µs 21.4 [20.9,21.8]    one-thread-brigade   5
        Left: median difference by round; not resolvable: its interval contains 0.

        where it goes              user [95 %]      kernel [95 %]    waiting [95 %]
        async-brigade-ct        ns 181 [181,181]    452 [452,452]    272 [253,290]
        async-creation          ns 62.0 [62.0,62.0] 155 [155,155]    93.0 [86.8,99.2]
        async-mem-brigade       ns 17.6 [17.6,17.6] 44.0 [44.0,44.0] 26.4 [24.6,28.2]
        one-thread-brigade      ns 128 [128,128]    320 [320,320]    192 [179,205]
        thread-brigade/free     µs 0.52 [0.52,4.46] 1.30 [1.30,11.2] 0.81 [0.73,6.69]
        thread-brigade/same-cpu µs 0.31 [0.31,0.31] 1.40 [1.40,1.40] 0.08 [0.04,0.12]
        thread-brigade/spread   µs 0.60 [0.60,0.60] 3.10 [3.10,3.10] 18.3 [17.9,18.7]
        thread-creation         µs 1.82 [1.82,1.82] 4.55 [4.55,4.55] 2.73 [2.55,2.91]
        Per op. Waiting: wall less CPU time; below 0 by overlap or work between laps.

        - n = 5: the interval is the whole range, which is one of 93.75 %.
        - uring-brigade: 1 refused, of 1 started.
        - thread-brigade free, hop: two modes: 2.60 µs in 60 % of processes, 22.1 µs in
          40 %; crossing share 0.02 and 0.97.

        - A hop between threads on one CPU takes 1.79 µs [1.75, 1.83], one between async
          tasks on one thread that wait for their pipes 905 ns [887, 923]: the threads'
          hop takes 1.98 [1.98, 1.98] times as long.
        - A hop between async tasks that wait for I/O readiness takes 905 ns [887, 923],
          one over channels, without I/O, 88.0 ns [86.2, 89.8]: the hop for I/O takes
          10.3 [10.3, 10.3] times as long. 245 ns [229, 261] of the difference is
          waiting.
        - A hop between threads on one CPU takes 1.79 µs [1.75, 1.83], the I/O alone,
          one thread writing and reading, 640 ns [627, 653]: 1.15 µs [1.13, 1.17] remain
          for the switch of threads.
        - A hop between threads that the kernel places takes 2.63 µs [2.55, 22.3] (two
          modes), one between threads on one CPU 1.79 µs [1.75, 1.83]: the freely placed
          hop takes 1.45 [1.45, 12.6] times as long. 708 ns [684, 6628] of the
          difference is waiting.
        - A hop between threads whose neighbours are on other CPUs takes
          22.0 µs [21.6, 22.4], one between threads on one CPU 1.79 µs [1.75, 1.83]: the
          hop across CPUs takes 12.3 [12.3, 12.3] times as long. 18.2 µs [17.8, 18.6] of
          the difference is waiting; 99 % of the hops cross CPUs, against 0 %.
        - Where the time of a hop between threads goes: on one CPU 310 ns in user space,
          1.40 µs in the kernel, 80.0 ns [44.2, 116] waiting, 0 % of hops cross CPUs;
          placed by the kernel 520 ns in user space, 1.30 µs in the kernel,
          806 ns [728, 6690] waiting, 2 % of hops cross CPUs; across CPUs 600 ns in user
          space, 3.10 µs in the kernel, 18.3 µs [17.9, 18.7] waiting, 99 % of hops cross
          CPUs.
        - Creating a thread takes 9.10 µs [8.92, 9.28], creating an async task
          310 ns [304, 316]: creating a thread takes 29.4 [29.4, 29.4] times as long.
          2.64 µs [2.46, 2.81] of the difference is waiting.
        - Creating each of a process's first threads takes 21.3 µs [21.3, 21.3], each
          later one, on the stack of a joined thread, 9.10 µs [8.92, 9.28]: cold
          creation takes 2.34 [2.29, 2.39] times as long.
        ");
    }

    #[test]
    fn nothing_measured_says_nothing() {
        assert_eq!(summary(&manifest(), &[], &[]), "");
    }
}
