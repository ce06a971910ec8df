//! Findings and notes in words. A sentence claims no more than its interval
//! does.

use crate::judge::statistics::{Estimate, Interval};

use super::page::NO_BREAK_SPACE;
use super::quantity::{
    bytes, duration, estimated_duration, estimated_ratio, interval, percent, whole,
};
use crate::judge::report::MARGIN;
use crate::judge::report::model::{
    AttributedCase, Attribution, Finding, Note, Outcome, Progress, Quality, Run, Side, TwoModes,
    Unlike, WaitingFor, WideCase,
};

/// The least share of the waiting that a reason for it is told for.
const LEAST_REASON: f64 = 0.05;

/// A finding in words.
pub fn finding(finding: &Finding) -> String {
    let sentence = match finding {
        Finding::Comparison {
            first,
            second,
            outcome,
            is_second_longer,
            ratio,
            waiting_ns,
            crossing_shares,
            tasks,
            unlike,
        } => {
            let longer = if *is_second_longer { second } else { first };
            let why = why(waiting_ns.as_ref(), crossing_shares.as_ref());
            let (ratio_text, seen) = (estimated_ratio(ratio), seen(ratio, *tasks, unlike));
            let outcome = match outcome {
                Outcome::Differ => {
                    format!("{} takes {ratio_text} times as long {seen}.{why}", longer.name)
                }
                Outcome::TooNoisy => {
                    format!("too noisy to tell, {ratio_text} times as long {seen}.")
                }
                Outcome::Same => {
                    format!("the same within {}, {ratio_text} times {seen}.", percent(MARGIN))
                }
                Outcome::TooFewRounds => format!("too few rounds to tell {seen}."),
            };
            format!("{}: {outcome}", both(first, second))
        }
        Finding::Remainder { of, baseline, outcome, difference_ns, remains, tasks, unlike } => {
            let seen = seen(difference_ns, *tasks, unlike);
            let outcome = match outcome {
                Outcome::Differ if difference_ns.value < 0.0 => {
                    let longer = estimated_duration(&negated(difference_ns));
                    format!("{} takes {longer} longer {seen}.", baseline.name)
                }
                Outcome::Differ => {
                    format!("{} remain for {remains} {seen}.", estimated_duration(difference_ns))
                }
                Outcome::TooNoisy => format!(
                    "what remains for {remains} is too noisy to tell, {} {seen}.",
                    estimated_duration(difference_ns)
                ),
                Outcome::Same => {
                    let apart = estimated_duration(difference_ns);
                    format!("the same within {}, {apart} apart {seen}.", percent(MARGIN))
                }
                Outcome::TooFewRounds => format!("too few rounds to tell {seen}."),
            };
            format!("{}: {outcome}", both(of, baseline))
        }
        Finding::Attribution { of, parts } => {
            let parts: Vec<String> = parts.iter().map(part).collect();
            format!("where the time of {of} goes: {}.", parts.join("; "))
        }
        Finding::Knee { .. } => knee(finding),
        Finding::Slope { text, unit, outcome, each_ns, ends: [first, last], .. } => {
            let each = estimated_duration(each_ns);
            let seen = format!("from {} to {}, {}", whole(*first), whole(*last), rounds(each_ns));
            match outcome {
                Outcome::TooFewRounds => {
                    format!("too few rounds to tell what each {unit} adds to {text}.")
                }
                Outcome::TooNoisy => format!(
                    "what each {unit} adds to {text} is too noisy to tell, {each} ({seen})."
                ),
                Outcome::Differ | Outcome::Same => {
                    format!("each {unit} adds {each} to {text} ({seen}).")
                }
            }
        }
        Finding::Aftermath { text, outcome, added_ns, direct_ns, after_ns, .. } => {
            let [added, direct, after] = [added_ns, direct_ns, after_ns].map(estimated_duration);
            let parts = format!("switching adds {added} to {text}, and {direct} without memory");
            let seen = rounds(after_ns);
            match outcome {
                Outcome::TooFewRounds => format!("{parts}: too few rounds to tell ({seen})."),
                Outcome::TooNoisy => {
                    format!("{parts}: what comes after is too noisy to tell, {after} ({seen}).")
                }
                Outcome::Differ | Outcome::Same => {
                    format!("{parts}: {after} come after the switch itself ({seen}).")
                }
            }
        }
    };
    capitalised(&sentence)
}

/// From how many rounds a figure is.
fn rounds(figure: &Estimate) -> String {
    format!("n{NO_BREAK_SPACE}={NO_BREAK_SPACE}{}", figure.count)
}

/// So many of something.
fn counted_as(number: f64, unit: &str) -> String {
    let plural = if number == 1.0 { "" } else { "s" };
    format!("{}{NO_BREAK_SPACE}{unit}{plural}", whole(number))
}

fn knee(finding: &Finding) -> String {
    let Finding::Knee {
        text,
        unit,
        outcome,
        at,
        doubling_before,
        doubling_after,
        ends: [first, last],
        end_times_ns: [shortest, longest],
        bytes_each,
        caches,
        ..
    } = finding
    else {
        return String::new();
    };
    let times = format!(
        "{text} takes {} with {} and {} with {}",
        estimated_duration(shortest),
        counted_as(*first, unit),
        estimated_duration(longest),
        counted_as(*last, unit),
    );
    let seen = rounds(at);
    let [before, after] = [doubling_before, doubling_after].map(|share| percent(*share));
    let place = format!("{}{NO_BREAK_SPACE}{}", whole(at.value), interval(at, whole));
    let bend = match outcome {
        Outcome::TooFewRounds => return format!("{times}: too few rounds for more ({seen})."),
        Outcome::Same => return format!("{times}: nowhere does it begin to grow faster ({seen})."),
        Outcome::TooNoisy => {
            return format!("{times}: where it begins to grow is too noisy to tell ({seen}).");
        }
        Outcome::Differ => format!(
            "{times}: a doubling of their number adds {before} up to {place} {unit}s, and \
             {after} from there on ({seen})."
        ),
    };
    let held = bytes_each.map_or(String::new(), |each| {
        format!(
            " Each {unit} holds {} resident, {} of them {}.",
            bytes(each),
            whole(at.value),
            bytes(each * at.value)
        )
    });
    match caches.is_empty() {
        true => format!("{bend}{held}"),
        false => format!("{bend}{held} The caches here: {}.", caches.join(", ")),
    }
}

fn both(first: &Side, second: &Side) -> String {
    let time = |side: &Side| match side.has_two_modes {
        true => format!("{} (two modes)", estimated_duration(&side.time_ns)),
        false => estimated_duration(&side.time_ns),
    };
    format!("{} takes {}, {} {}", first.text, time(first), second.text, time(second))
}

/// In what the two sides of a ratio were not measured alike, behind its name, such as
/// ` (same-cpu / free)`.
pub fn beside(unlike: &[Unlike]) -> String {
    let conditions = unlike.iter().map(|Unlike { parameter, values: [first, second] }| {
        let name = if parameter == "placement" { String::new() } else { format!(" {parameter}") };
        format!("{first} / {second}{name}")
    });
    let conditions: Vec<String> = conditions.collect();
    if conditions.is_empty() { String::new() } else { format!(" ({})", conditions.join(", ")) }
}

/// From how many rounds a figure is, of how many tasks, and under which different
/// conditions.
fn seen(figure: &Estimate, tasks: Option<u64>, unlike: &[Unlike]) -> String {
    let conditions = unlike.iter().map(|Unlike { parameter, values: [first, second] }| {
        format!("; {parameter} {first} against {second}")
    });
    let conditions: String = conditions.collect();
    let tasks = tasks.map_or(String::new(), |count| match count {
        1 => format!("; 1{NO_BREAK_SPACE}task"),
        count => format!("; {count}{NO_BREAK_SPACE}tasks"),
    });
    format!("(n{NO_BREAK_SPACE}={NO_BREAK_SPACE}{}{tasks}{conditions})", figure.count)
}

fn why(waiting_ns: Option<&Estimate>, crossing_shares: Option<&[f64; 2]>) -> String {
    let waiting =
        waiting_ns.map(|more| format!("{} of the difference is waiting", estimated_duration(more)));
    let crossings = crossing_shares.map(|[more, less]| {
        format!("{} of the hops cross CPUs, against {}", percent(*more), percent(*less))
    });
    let parts: Vec<String> = [waiting, crossings].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(" {}.", parts.join("; ")) }
}

fn negated(estimate: &Estimate) -> Estimate {
    let interval =
        estimate.interval.map(|Interval { low, high }| Interval { low: -high, high: -low });
    Estimate { value: -estimate.value, interval, ..*estimate }
}

fn part(AttributedCase { text, attribution, .. }: &AttributedCase) -> String {
    let Attribution { user_ns, kernel_ns, waiting_ns, overlap_ns, crossing_share, .. } =
        attribution;
    let reasons = attribution.waiting_for.as_ref().map_or(String::new(), |reasons| {
        let WaitingFor { idle_ns, way_ns, runnable_ns, stolen_ns, rest_ns } = reasons;
        let named = [
            (idle_ns, "with all CPUs asleep"),
            (way_ns, "for the way into idleness and out of it"),
            (runnable_ns, "for a CPU"),
            (stolen_ns, "for the hypervisor"),
            (rest_ns, "for none of what is counted"),
        ];
        let matters = |(ns, _): &(&Estimate, &str)| ns.value >= LEAST_REASON * waiting_ns.value;
        let told = named.into_iter().filter(matters);
        let told = told.map(|(ns, what)| format!("{} {what}", estimated_duration(ns)));
        format!(" ({})", told.collect::<Vec<_>>().join(", "))
    });
    let mut parts = vec![
        format!("{} in user space", duration(user_ns.value)),
        format!("{} in the kernel", duration(kernel_ns.value)),
    ];
    if waiting_ns.value > 0.0 {
        parts.push(format!("{} waiting{reasons}", estimated_duration(waiting_ns)));
    }
    if overlap_ns.value > 0.0 {
        parts.push(format!("{} of it at the same time", estimated_duration(overlap_ns)));
    }
    parts.extend(crossing_share.map(|share| format!("{} of hops cross CPUs", percent(share))));
    format!("{text} {}", parts.join(", "))
}

/// A note in words.
pub fn note(note: &Note) -> String {
    match note {
        Note::TooFewRounds { needed } => {
            format!("[–]: too few rounds for an interval, {needed} are needed.")
        }
        Note::FewestRounds { count } => {
            format!("n = {count}: the interval is the whole range, which is one of 93.75 %.")
        }
        Note::Missing { case, failed, timed_out, refused, started, first_error } => {
            let counts = [(failed, "failed"), (timed_out, "timed out"), (refused, "refused")];
            let error = first_error
                .as_ref()
                .map_or(String::new(), |error| format!("; first: {}", error.trim_end_matches('.')));
            format!("{case}: {}, of {started} started{error}.", counted(&counts))
        }
        Note::Disturbed { case, measured, disturbed, unusable, unusable_are_used, worst } => {
            let fate = match unusable_are_used {
                true => "unusable but estimated from, for lack of better ones",
                false => "unusable and not estimated from",
            };
            let counts = counted(&[(disturbed, "disturbed"), (unusable, fate)]);
            let worst = worst.join(", ");
            format!("{case}: of {measured} processes {counts}; worst: {worst}.")
        }
        Note::TwoModes { case, measurement, modes: TwoModes { modes, crossing_shares } } => {
            let [fast, slow] =
                [modes.fast, modes.slow].map(|mode| (duration(mode.median), percent(mode.share)));
            let crossing = crossing_shares.map_or(String::new(), |[fast, slow]| {
                format!("; crossing share {fast:.2} and {slow:.2}")
            });
            format!(
                "{}: two modes: {} in {} of processes, {} in {}{crossing}.",
                row(case, measurement.as_deref()),
                fast.0,
                fast.1,
                slow.0,
                slow.1,
            )
        }
        Note::Outlier { case, measurement, value_ns, count } => format!(
            "{}: one of {count} processes took {}, far from the others: too few rounds to tell \
             whether that is a second mode; the interval is the whole range.",
            row(case, measurement.as_deref()),
            duration(*value_ns),
        ),
    }
}

fn counted(counts: &[(&usize, &str)]) -> String {
    let some = counts.iter().filter(|(count, _)| **count > 0);
    some.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

fn row(case: &str, measurement: Option<&str>) -> String {
    match measurement {
        Some(measurement) => format!("{case}, {measurement}"),
        None => case.to_owned(),
    }
}

/// The quality of a run in a line.
pub fn quality(quality: &Quality) -> String {
    let Quality { target_percent, cases, within_target, .. } = quality;
    let mut parts = vec![format!("{within_target} of {cases} cases within ± {target_percent} %")];
    parts.extend(
        quality.median_half_width_percent.map(|percent| format!("median ± {percent:.1} %")),
    );
    parts.extend(quality.steal_seconds.map(|seconds| format!("{seconds:.1} s of steal")));
    parts.extend(match quality.disturbed {
        0 => None,
        1 => Some("1 process disturbed".to_owned()),
        count => Some(format!("{count} processes disturbed")),
    });
    let remedy = quality.remedy.as_ref().map(|flags| format!("; for the rest: {flags}"));
    parts.join(", ") + &remedy.unwrap_or_default()
}

/// The cases that are less precise than was aimed at, if some are.
pub fn wide(quality: &Quality) -> Option<String> {
    let named = quality.wide.iter().map(|WideCase { case, half_width_percent, count }| {
        match half_width_percent {
            Some(percent) => format!("{case} ± {percent:.1} % (n = {count})"),
            None => format!("{case} (n = {count})"),
        }
    });
    let named: Vec<String> = named.map(|of| of.replace(' ', "\u{a0}")).collect();
    let target = quality.target_percent;
    (!named.is_empty()).then(|| format!("not within ± {target} %: {}.", named.join(", ")))
}

/// How far a run came, and what to repeat it with.
pub fn extent(run: &Run) -> String {
    let progress = &run.progress;
    let Progress { planned, remaining, .. } = *progress;
    let count = match remaining {
        0 if progress.adaptive || progress.side.is_some() => progress.ended.to_string(),
        remaining => format!("{} of {planned}", planned.saturating_sub(remaining)),
    };
    let interrupted = match progress.interrupted {
        0 => String::new(),
        count => format!(" ({count} interrupted)"),
    };
    let what = match &progress.side {
        Some(side) => format!("{side} of a comparison, profile {}", run.profile),
        None => {
            let more = if progress.adaptive { "+" } else { "" };
            format!("profile {}, {}{more} rounds", run.profile, progress.rounds)
        }
    };
    format!("{count} invocations{interrupted}, {what}, seed {}", run.seed)
}

fn capitalised(sentence: &str) -> String {
    let mut characters = sentence.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use fastrand::Rng;

    use harness::record::Memory;

    use super::super::fixture::{self, report_of};
    use super::super::quantity::as_printed;
    use super::*;
    use crate::judge::prove::arithmetic;
    use crate::judge::prove::proof::Standing;
    use crate::judge::report::attribution::Parts;
    use crate::judge::report::model::{Progress, Report};
    use crate::judge::report::{RunData, report};
    use crate::manifest::Manifest;
    use crate::store::invocation::Invocation;
    use crate::store::sample::Sample;
    use crate::store::saved_run::SavedRun;

    fn in_repository(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
    }

    fn recorded() -> Vec<SavedRun> {
        let folders = contract::repository::recorded_runs();
        folders.iter().map(|folder| SavedRun::read(folder).unwrap()).collect()
    }

    fn reported(manifest: &Manifest, run: &SavedRun) -> Report {
        let data = RunData {
            name: "run".to_owned(),
            description: &run.description,
            environment: &run.environment,
            invocations: &run.invocations,
            proof: None,
            progress: Progress::default(),
        };
        report(manifest, &[data])
    }

    /// Checks that the sentences of a report agree with their figures; returns how many
    /// do.
    fn check_all(report: &Report) -> usize {
        let figure = arithmetic::figures(&report.runs[0].findings, as_printed).remove(0);
        assert_ne!(figure.standing, Standing::Fails, "{figure:?}");
        figure.value.unwrap_or_default() as usize
    }

    #[test]
    fn every_ratio_and_difference_is_that_of_the_figures_beside_it() {
        let manifest = Manifest::load(Some(&in_repository("suite.toml"))).unwrap();
        let recorded: usize =
            recorded().iter().map(|run| check_all(&reported(&manifest, run))).sum();
        assert!(recorded > 10, "{recorded}");
        let mut rng = Rng::with_seed(1);
        for _ in 0..100 {
            let mut run = fixture::run(1.0);
            // Rounds that only some cases have, and noise that they share.
            run.invocations.retain(|_| rng.f64() < 0.8);
            for invocation in &mut run.invocations {
                let Some(record) = &mut invocation.record else { continue };
                let noise = (1.0 + invocation.round as f64).sqrt() * (0.5 + rng.f64());
                record.measurements[0].ns_per_operation *= noise;
            }
            check_all(&reported(&fixture::manifest(), &run));
        }
    }

    /// A parameter of the first record of a case, as a sentence has it. Of several rings
    /// each has as many tasks as the flag says.
    fn parameter(run: &SavedRun, case: &str, name: &str) -> String {
        let mut of_case = run.invocations.iter().filter(|of| of.case == case);
        let record = of_case.find_map(|of| of.record.as_ref()).unwrap();
        match (name, record.parameters.get(name)) {
            ("tasks", Some(serde_json::Value::Number(of_each))) => of_each.to_string(),
            ("tasks", _) => record.tasks.to_string(),
            (_, Some(serde_json::Value::String(text))) => text.clone(),
            (_, value) => panic!("{case}: {name}: {value:?}"),
        }
    }

    /// Checks that sentences and headline rows that set unlike cases against each
    /// other say so; returns how many did.
    fn check_conditions(manifest: &Manifest, run: &SavedRun) -> usize {
        let report = reported(manifest, run);
        let mut said = 0;
        for found in &report.runs[0].findings {
            let (Finding::Comparison { first, second, .. }
            | Finding::Remainder { of: first, baseline: second, .. }) = found
            else {
                continue;
            };
            let sentence = finding(found);
            assert!(!sentence.contains("resolv"), "{sentence}");
            for name in ["placement", "tasks"] {
                let [first, second] = [first, second].map(|side| parameter(run, &side.case, name));
                let expected = format!("{name} {first} against {second}");
                assert_eq!(sentence.contains(&expected), first != second, "{sentence}");
                said += usize::from(first != second);
            }
        }
        for row in manifest.headline.iter().filter(|row| row.over.is_some()) {
            let shown = report.headline.iter().find(|shown| shown.text == row.text);
            let Some(shown) = shown else { continue };
            let over = row.over.as_ref().unwrap();
            let [first, second] = [&row.case, over].map(|case| parameter(run, case, "placement"));
            let name = beside(&shown.unlike);
            let expected = format!("{first} / {second}");
            assert_eq!(name.contains(&expected), first != second, "{name}");
            said += usize::from(first != second);
        }
        said
    }

    #[test]
    fn what_sets_unlike_things_against_each_other_says_so() {
        let manifest = Manifest::load(Some(&in_repository("suite.toml"))).unwrap();
        let said: usize = recorded().iter().map(|run| check_conditions(&manifest, run)).sum();
        assert!(said > 10, "{said}");
        let mut rng = Rng::with_seed(2);
        let mut said = 0;
        for _ in 0..50 {
            let mut run = fixture::run(1.0);
            for case in ["threads/same-cpu", "threads/spread", "tasks", "alone", "create"] {
                let placement = rng.choice(["free", "spread", "same-cpu"]).unwrap();
                let tasks = rng.u64(2..4);
                let of_case = run.invocations.iter_mut().filter(|of| of.case == case);
                for record in of_case.filter_map(|of| of.record.as_mut()) {
                    record.parameters.insert("placement".to_owned(), placement.into());
                    record.tasks = tasks;
                }
            }
            said += check_conditions(&fixture::manifest(), &run);
        }
        assert!(said > 50, "{said}");
    }

    #[test]
    fn of_every_recorded_invocation_the_parts_are_the_elapsed_time() {
        for run in recorded() {
            for invocation in &run.invocations {
                let Some(record) = &invocation.record else { continue };
                let Some(parts) = Parts::of(record) else { continue };
                let Parts { elapsed, user, kernel, waiting, overlap, .. } = parts;
                assert!(waiting >= 0.0 && overlap >= 0.0, "{}: {parts:?}", invocation.case);
                let sum = user + kernel + waiting - overlap;
                // The kernel counts CPU time of short spans by the tick.
                let slack = 0.02 * elapsed + 4e6 / record.iterations as f64;
                assert!((sum - elapsed).abs() <= slack, "{}: {parts:?}", invocation.case);
                assert!(record.affinity.len() != 1 || overlap == 0.0);
            }
        }
    }

    #[test]
    fn figures_that_cannot_be_told_apart_are_the_same_or_too_noisy() {
        let mut found = report_of(&[1.0]).runs[0].findings.swap_remove(0);
        let mut said = |new: Outcome| {
            let Finding::Comparison { outcome, .. } = &mut found else { panic!() };
            *outcome = new;
            let text = finding(&found).replace(NO_BREAK_SPACE, " ");
            text.split_once("]: ").unwrap().1.to_owned()
        };
        let conditions = "(n = 6; 9 tasks; placement free against spread).";
        let same = format!("the same within 3 %, 24.3 [23.6, 24.9] times {conditions}");
        assert_eq!(said(Outcome::Same), same);
        let noisy = format!("too noisy to tell, 24.3 [23.6, 24.9] times as long {conditions}");
        assert_eq!(said(Outcome::TooNoisy), noisy);
        assert_eq!(said(Outcome::TooFewRounds), format!("too few rounds to tell {conditions}"));
    }

    const GROWING: &str = r#"
        [profiles]
        [programs.fake]
        path = "fake"
        check = { iters = 1, warmups = 0 }
        [[group]]
        name = "g"
        question = "How does it grow?"
        program = "fake"
        [[group.case]]
        name = "ring {tasks}"
        axes = { tasks = [1, 2, 5, 10, 20, 50, 100, 200] }
        [[group.case]]
        name = "deep {depth}"
        axes = { depth = [0, 1, 10, 100] }
        [[group.case]]
        name = "{of}"
        axes = { of = ["of", "alone", "bare", "bare-alone"] }
        [[finding]]
        kind = "knee"
        case = "ring 1"
        parameter = "tasks"
        unit = "thread"
        text = "a hop"
        [[finding]]
        kind = "slope"
        case = "deep 0"
        parameter = "depth"
        unit = "frame"
        text = "a hop"
        [[finding]]
        kind = "aftermath"
        of = { case = "of", text = "a hop that touches 16 KiB", name = "the hop" }
        alone = { case = "alone", text = "the touching", name = "the touching" }
        bare = { case = "bare", text = "a bare hop", name = "the bare hop" }
        bare_alone = { case = "bare-alone", text = "its I/O", name = "the I/O" }
    "#;

    /// Twelve rounds of a case whose record has a number for a parameter, within
    /// `scatter` of `ns`, and holds so much.
    fn growing(name: &str, parameter: &str, number: u64, ns: f64, scatter: f64) -> Vec<Invocation> {
        let round = |round: u32| {
            let seed = u64::from(round) << 32 | number << 8 | name.len() as u64;
            let noise = Rng::with_seed(seed).f64() - 0.5;
            let mut invocation = Sample::hop(ns * (1.0 + scatter * noise)).in_round(name, round);
            let record = invocation.record.as_mut().unwrap();
            record.program = "fake".to_owned();
            record.parameters.insert(parameter.to_owned(), number.into());
            let rss_bytes = 4_000_000 + number * 10_240;
            record.memory = Some(Memory {
                rss_bytes,
                peak_rss_bytes: rss_bytes,
                virtual_bytes: rss_bytes,
                page_table_bytes: None,
            });
            invocation
        };
        (1..=12).map(round).collect()
    }

    /// What is said of a hop that takes `bent` times as long for a number of tasks, and of
    /// those that do not depend on that.
    fn said_of_growth(bent: impl Fn(f64) -> f64, scatter: f64) -> Vec<String> {
        let manifest = Manifest::parse(GROWING).unwrap();
        let mut run = fixture::run(1.0);
        run.invocations.clear();
        for tasks in [1, 2, 5, 10, 20, 50, 100, 200] {
            let ns = 2000.0 * bent(tasks as f64);
            run.invocations.extend(growing(&format!("ring {tasks}"), "tasks", tasks, ns, scatter));
        }
        for depth in [0, 1, 10, 100] {
            let ns = 500.0 + 3.0 * depth as f64;
            run.invocations.extend(growing(&format!("deep {depth}"), "depth", depth, ns, 0.02));
        }
        for (name, ns) in
            [("of", 9000.0), ("alone", 5000.0), ("bare", 2500.0), ("bare-alone", 1000.0)]
        {
            let mut of = growing(name, "alone", 1, ns, 0.02);
            for record in of.iter_mut().filter_map(|invocation| invocation.record.as_mut()) {
                record.parameters.insert("of".to_owned(), name.into());
            }
            run.invocations.extend(of);
        }
        run.description.cases = manifest.cases.iter().map(|case| case.name.clone()).collect();
        let report = fixture::report_with(&manifest, &[run]);
        check_all(&report);
        report.runs[0]
            .findings
            .iter()
            .map(finding)
            .map(|of| of.replace(NO_BREAK_SPACE, " "))
            .collect()
    }

    #[test]
    fn a_knee_a_slope_and_an_aftermath_are_told() {
        let said = said_of_growth(|tasks| (tasks / 20.0).max(1.0).sqrt(), 0.02);
        insta::assert_snapshot!(said.join("\n"), @r"
        A hop takes 2.00 µs [1.99, 2.01] with 1 thread and 6.32 µs [6.29, 6.35] with 200 threads: a doubling of their number adds 0 % up to 20 [19, 20] threads, and 41 % from there on (n = 12). Each thread holds 10.0 KiB resident, 20 of them 200 KiB. The caches here: L1 32 KiB, L2 512 KiB, L3 32 MiB.
        Each frame adds 3.01 ns [2.97, 3.04] to a hop (from 0 to 100, n = 12).
        Switching adds 4.01 µs [3.98, 4.02] to a hop that touches 16 KiB, and 1.50 µs [1.49, 1.51] without memory: 2.51 µs [2.48, 2.52] come after the switch itself (n = 12).
        ");
    }

    #[test]
    fn a_straight_line_has_no_knee_and_noise_tells_none() {
        let straight = said_of_growth(|tasks| tasks.powf(0.1), 0.02).swap_remove(0);
        assert!(straight.contains("nowhere does it begin to grow faster"), "{straight}");
        let noisy = said_of_growth(|tasks| (tasks / 20.0).max(1.0).sqrt(), 1.8).swap_remove(0);
        assert!(noisy.contains("too noisy to tell"), "{noisy}");
    }
}
