//! Scale: what grows with the number of tasks grows no faster than it.

use crate::Program;

/// How often each number of tasks is run. The least time of several is that of
/// the run that was disturbed least.
const RUNS: usize = 3;

/// Checks that a run of one iteration with four times as many tasks takes less
/// than eight times the CPU time, set-up and shut-down included: linear is
/// four, and what grows with the square sixteen. `tasks` must be so many that
/// the process itself, which starts and ends, is little beside them.
pub fn check_that_cpu_time_is_linear(program: &Program, flags: &[&str], tasks: u32) {
    let mut least = [f64::INFINITY; 2];
    for _ in 0..RUNS {
        for (tasks, least) in [tasks, 4 * tasks].into_iter().zip(&mut least) {
            *least = least.min(cpu_seconds(program, flags, tasks));
        }
    }
    let [few, many] = least;
    assert!(
        few > 0.0 && many < 8.0 * few,
        "{few} s for {tasks} tasks, {many} s for 4 times as many"
    );
}

/// The CPU time of one run in seconds, as the shell that has started it tells
/// at its end.
fn cpu_seconds(program: &Program, flags: &[&str], tasks: u32) -> f64 {
    let size = ["--quiet", "--iters=1", "--warmups=0", "--tasks", &tasks.to_string()];
    let run = program.with(&size).and(flags).from_shell(r#""$@" && times"#).run().succeeded();
    // The shell's own times are on the first line, those of its children on
    // the second: user and system, like 0m0.250000s.
    let children = run.stdout.lines().nth(1).unwrap_or_else(|| panic!("no times: {run:#?}"));
    children.split_whitespace().map(seconds).sum()
}

fn seconds(text: &str) -> f64 {
    let (minutes, rest) = text.split_once('m').unwrap_or_else(|| panic!("no minutes: {text}"));
    let number =
        |digits: &str| -> f64 { digits.parse().unwrap_or_else(|error| panic!("{text}: {error}")) };
    number(minutes) * 60.0 + number(rest.trim_end_matches('s'))
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn times_are_minutes_and_seconds() {
        assert_eq!(seconds("0m0.250000s"), 0.25);
        assert_eq!(seconds("2m1.5s"), 121.5);
    }
}
