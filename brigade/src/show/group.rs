//! What answers a group's question, in sentences.

use super::loads::{self, capital, pinned};
use super::quantity::{
    NO_BREAK_SPACE, Unit, brief_ticks, duration, ends, factor, percent, small_share, three_digits,
    times, times_with_ends, with_ends,
};
use crate::judge::prediction::{Difference, Prediction};
use crate::judge::read_shares::{ReadShare, ReadShares, Wait};
use crate::judge::report::{Addition, Answer, Group};
use crate::judge::row::Quantity;
use crate::judge::savings::{Saving, SavingStep, Savings};
use crate::judge::statistics::Estimate;

/// A sentence with its ratio, and its reason.
pub fn answer(Answer { text, reason, ratio, share, .. }: &Answer) -> String {
    let words = if *share { percent(1.0 - 1.0 / ratio.value) } else { times(ratio.value) };
    let reason = reason.as_ref().map_or(String::new(), |reason| format!(" {reason}"));
    text.replacen("{}", &words, 1) + &reason
}

/// A group's question, or what its cases are.
pub fn question(group: &Group) -> &str {
    if group.question.is_empty() { "Other cases" } else { &group.question }
}

/// The sentences that answer a group's question; none if the run was disturbed.
pub fn group_answers(group: &Group) -> Vec<String> {
    if !group.is_fit {
        return Vec::new();
    }
    let of_table = group.loads.as_ref().and_then(|loads| loads.answer.as_ref());
    let mut answers = of_table.map_or_else(Vec::new, loads::answers);
    answers.extend(group.pinning.as_ref().map(pinned));
    answers.extend(group.addition.as_ref().map(added));
    answers.extend(locks(&group.read_shares));
    answers.extend(group.answers.iter().map(answer));
    answers.extend(saved(&group.savings));
    answers.extend(predicted(&group.predictions));
    answers.extend(explained(&group.differences));
    answers
}

/// What an operation costs, and its share of the one that it is added to.
fn added(Addition { text, added_ns, to_ns, share }: &Addition) -> String {
    let figures = [duration(added_ns.value), small_share(share.value), duration(to_ns.value)];
    figures.iter().fold(text.clone(), |text, figure| text.replacen("{}", figure, 1))
}

/// What one kind of task saves, by the work in an operation: where it was measured first, and
/// elsewhere if that differs.
pub fn saved(savings: &[Savings]) -> Vec<String> {
    let shown = savings.iter().enumerate().filter(|(at, savings)| *at == 0 || savings.differs);
    shown.filter_map(|(_, savings)| saves(savings)).collect()
}

fn saves(savings: &Savings) -> Option<String> {
    let Savings { kind, of, place, operation, .. } = savings;
    let is_known = |saving: &Saving| saving.share.interval.is_some();
    let place = place.as_ref().map_or(String::new(), |place| format!("{place}, "));
    let without = savings.without_work().filter(|step| is_known(&step.saving));
    let mut text = if let Some(SavingStep { saving, over_ns, .. }) = without {
        let unit = Unit::fitting(*over_ns, Quantity::Nanoseconds);
        let show = |ns: f64| with_minus(&unit.show_roughly(ns));
        format!(
            "{place}without work in a {operation}, {kind} save {} of {of} ({} of \
             {}{NO_BREAK_SPACE}{}).",
            with_minus(&percent(saving.share.value)),
            with_ends(&show(saving.saved_ns.value), &saving.saved_ns, show),
            unit.show_roughly(*over_ns),
            unit.symbol
        )
    } else {
        format!("{place}{kind} save of {of}: {}.", with_work(savings, "")?)
    };
    if without.is_some()
        && let Some(with_work) = with_work(savings, " they save")
    {
        text += &format!(" {}.", capital(&with_work));
    }
    if let Some(why) = &savings.why {
        let counts = [why.first, why.own].map(three_digits);
        let why = counts.iter().fold(why.text.clone(), |text, count| text.replacen("{}", count, 1));
        text += &format!(" {why}");
    }
    Some(capital(&text))
}

/// What is saved at each amount of work, such as `with 13 µs of work they save 3 % [−3, 11], with
/// 130 µs 2 % [0, 4]`, with `verb`.
fn with_work(savings: &Savings, verb: &str) -> Option<String> {
    let mut known = savings.at.iter().filter(|at| at.share.interval.is_some()).map(|saving| {
        let Saving { work_ns, share, .. } = saving;
        let saved = if share.value > 0.0 || share.excludes(0.0) {
            percent_with_ends(share)
        } else {
            format!("nothing{NO_BREAK_SPACE}{}", ends(share, whole_percent))
        };
        (brief_ticks(*work_ns, Quantity::Nanoseconds), with_minus(&saved))
    });
    let (work, saved) = known.next()?;
    let others: String = known.map(|(work, saved)| format!(", with {work} {saved}")).collect();
    Some(format!("with {work} of work{verb} {saved}{others}"))
}

/// Figures with a minus instead of a hyphen.
pub fn with_minus(figures: &str) -> String {
    figures.replace('-', "−")
}

/// A share of 0 to 1 with its interval, such as `3 % [-3, 11]`.
pub fn percent_with_ends(share: &Estimate) -> String {
    with_ends(&percent(share.value), share, whole_percent)
}

fn whole_percent(share: f64) -> String {
    format!("{:.0}", (share * 100.0).round() + 0.0)
}

/// How many times as long as the first read-write lock its mutex takes, and how long the lock's writers
/// wait; then the others in one sentence.
fn locks(all: &[ReadShares]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let (of_first, others): (Vec<_>, Vec<_>) =
        all.iter().partition(|shares| shares.lock == first.lock);
    let mut sentences = vec![by_share(&of_first)];
    sentences.extend(of_first.iter().rev().find_map(|shares| writers(shares)));
    sentences.extend(other_locks(&others));
    sentences
}

/// How many times as long a mutex takes, by the work inside and the share of reads.
fn by_share(all: &[&ReadShares]) -> String {
    let mut parts = Vec::new();
    for shares in all {
        let work = work_inside(shares);
        for (at, ReadShare { percent, ratio, .. }) in shares.shown().into_iter().enumerate() {
            let with = match (parts.len(), at) {
                (0, _) => format!("With {work} inside, {} takes ", shares.mutex),
                (_, 0) => format!("; with {work} "),
                _ => ", ".to_owned(),
            };
            let ratio = if parts.is_empty() {
                format!("{} as long as {}", times_with_ends(ratio), shares.lock)
            } else {
                with_ends(&factor(ratio.value), ratio, factor)
            };
            let reads = if parts.is_empty() { " reads" } else { "" };
            parts.push(format!("{with}{ratio} at {percent}{NO_BREAK_SPACE}%{reads}"));
        }
    }
    parts.concat() + "."
}

/// The work inside with its unit, such as `130 ns of work`.
fn work_inside(shares: &ReadShares) -> String {
    let unit = Unit::fitting(shares.work_ns, Quantity::Nanoseconds);
    let work = unit.show_roughly(shares.work_ns);
    format!("{work}{NO_BREAK_SPACE}{} of work", unit.symbol)
}

/// How long writers wait for a lock and for its mutex.
fn writers(shares: &ReadShares) -> Option<String> {
    let ReadShares { lock, mutex, .. } = shares;
    let (step, wait) = shares.with_writers()?;
    let of_mutex = step.mutex_wait.map_or(String::new(), |wait| {
        let (mean, longest) = waits(wait);
        format!(", and {mean} for {mutex}{longest}")
    });
    let (mean, longest) = waits(wait);
    Some(format!(
        "With {}{NO_BREAK_SPACE}% reads and {} inside, a writer waits {mean} for {lock}{longest}{of_mutex}.",
        step.percent,
        work_inside(shares)
    ))
}

/// How long writers wait on average, and the 99th percentile. If few wait far longer than the
/// others, that is below the average.
fn waits(Wait { mean_ns, p99_ns }: Wait) -> (String, String) {
    let shown = |ns| brief_ticks(ns, Quantity::Nanoseconds);
    let longest = match p99_ns {
        Some(ns) if ns < mean_ns => format!(" (99 of 100 less than {})", shown(ns)),
        Some(ns) => format!(" (99th percentile {})", shown(ns)),
        None => String::new(),
    };
    (format!("{} on average", shown(mean_ns)), longest)
}

/// How many times as long as each other lock its mutex takes with the largest share of reads that
/// sentences are about, and with each work inside; `None` without others.
fn other_locks(others: &[&ReadShares]) -> Option<String> {
    let mut by_lock: Vec<(&str, Vec<String>)> = Vec::new();
    let mut last_percent = None;
    for shares in others {
        let Some(step) = shares.shown().pop() else { continue };
        let long = if by_lock.is_empty() { " times as long" } else { "" };
        let ratio = with_ends(&factor(step.ratio.value), &step.ratio, factor);
        let reads = if last_percent == Some(step.percent) {
            String::new()
        } else {
            format!(" at {}{NO_BREAK_SPACE}% reads", step.percent)
        };
        last_percent = Some(step.percent);
        let text = format!("{ratio}{long}{reads} with {}", work_inside(shares));
        match by_lock.iter_mut().find(|(lock, _)| *lock == shares.lock) {
            Some((_, texts)) => texts.push(text),
            None => by_lock.push((&shares.lock, vec![text])),
        }
    }
    let found: Vec<String> =
        by_lock.iter().map(|(lock, texts)| format!("{lock} {}", texts.join(", "))).collect();
    (!found.is_empty()).then(|| {
        format!(
            "Mutexes of other libraries take, compared with their read-write lock: {}.",
            found.join("; ")
        )
    })
}

/// Which share of the part beyond a server without waits hops predict, by kind.
fn predicted(predictions: &[Prediction]) -> Option<String> {
    let kind = |prediction: &Prediction| (prediction.kind.clone(), prediction.share);
    let kinds = shares_by_name(predictions.iter().map(kind))?;
    Some(format!("Hops predict, of what a request costs beyond a server without waits: {kinds}."))
}

/// Which share of the differences between kinds hops predict.
fn explained(differences: &[Difference]) -> Option<String> {
    let kinds = |difference: &Difference| (difference.kinds.join(" − "), difference.share);
    let kinds = shares_by_name(differences.iter().map(kinds))?;
    Some(format!("Of the differences between kinds: {kinds}."))
}

/// The least and the largest share under each name; `None` without any. Costs that are not clearly
/// above 0 have none.
fn shares_by_name(shares: impl Iterator<Item = (String, Option<f64>)>) -> Option<String> {
    let mut names: Vec<(String, Vec<Option<f64>>)> = Vec::new();
    for (name, share) in shares {
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, shares)) => shares.push(share),
            None => names.push((name, vec![share])),
        }
    }
    let shown = names.iter().map(|(name, all)| {
        let mut shares: Vec<f64> = all.iter().copied().flatten().collect();
        shares.sort_by(f64::total_cmp);
        let range = match &shares[..] {
            [] => return format!("{name}: nothing to predict is clear"),
            [only] => percent(*only),
            [least, .., most] => format!("{:.0} to {}", least * 100.0, percent(*most)),
        };
        format!("{name} {range} ({} of {} loads)", shares.len(), all.len())
    });
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::page::with_spaces;
    use super::*;
    use crate::judge::savings::MoreSwitches;
    use crate::judge::statistics::Interval;

    /// A share, with this distance to both ends.
    fn saving(work_ns: f64, share: f64, by: f64) -> Saving {
        let interval = Some(Interval { low: share - by, high: share + by });
        let share = Estimate { value: share, interval, count: 9 };
        Saving { work_ns, share, saved_ns: share.map(|share| share * 20_000.0) }
    }

    fn step(units: u64, saving: Saving) -> SavingStep {
        SavingStep {
            case: String::new(),
            over: String::new(),
            units,
            saving,
            over_ns: 20_000.0,
            switches: None,
            over_switches: None,
        }
    }

    fn savings() -> Savings {
        Savings {
            kind: "async tasks".to_owned(),
            of: "the time".to_owned(),
            place: None,
            operation: "request".to_owned(),
            steps: vec![step(0, saving(0.0, 0.3, 0.1)), step(10, saving(13_000.0, 0.05, 0.1))],
            at: vec![saving(10_000.0, 0.06, 0.1), saving(100_000.0, 0.012, 0.05)],
            differs: false,
            why: None,
        }
    }

    #[test]
    fn a_sentence_states_savings_with_their_intervals() {
        let shown = |savings: Savings| with_spaces(&saved(&[savings])[0]);
        assert_eq!(
            shown(savings()),
            "Without work in a request, async tasks save 30 % of the time (6.0 [4.0, 8.0] of 20 µs). \
             With 10 µs of work they save 6 % [−4, 16], with 100 µs 1 % [−4, 6]."
        );
        let text = "It switches {} times, not {}.".to_owned();
        let why = Some(MoreSwitches { text, first: 0.98, own: 0.02 });
        let elsewhere = Savings { place: Some("elsewhere".to_owned()), why, ..savings() };
        assert_eq!(
            shown(elsewhere),
            "Elsewhere, without work in a request, async tasks save 30 % of the time (6.0 [4.0, 8.0] \
             of 20 µs). With 10 µs of work they save 6 % [−4, 16], with 100 µs 1 % [−4, 6]. It \
             switches 0.98 times, not 0.02."
        );
        let mut slower = savings();
        slower.at[0].share.value = -0.02;
        assert_eq!(
            shown(slower),
            "Without work in a request, async tasks save 30 % of the time (6.0 [4.0, 8.0] of 20 µs). \
             With 10 µs of work they save nothing [−4, 16], with 100 µs 1 % [−4, 6]."
        );
        // What is clear is no nothing.
        let mut costly = savings();
        costly.at[0] = saving(10_000.0, -0.3, 0.1);
        costly.steps[0] = step(0, saving(0.0, -0.3, 0.1));
        assert_eq!(
            shown(costly),
            "Without work in a request, async tasks save −30 % of the time (−6.0 [−8.0, −4.0] of \
             20 µs). With 10 µs of work they save −30 % [−40, −20], with 100 µs 1 % [−4, 6]."
        );
        // Without the step of no work the rest and the reason stay.
        let text = "It switches {} times, not {}.".to_owned();
        let why = Some(MoreSwitches { text, first: 0.98, own: 0.02 });
        let mut working = Savings { why, ..savings() };
        working.steps.remove(0);
        assert_eq!(
            shown(working),
            "Async tasks save of the time: with 10 µs of work 6 % [−4, 16], with 100 µs 1 % [−4, 6]. \
             It switches 0.98 times, not 0.02."
        );
        // Too few rounds for an interval say nothing.
        let mut few = savings();
        few.steps.iter_mut().for_each(|step| step.saving.share.interval = None);
        few.at.iter_mut().for_each(|at| at.share.interval = None);
        assert_eq!(saved(&[few]), [""; 0]);
    }

    fn read_share(percent: u64, ratio: f64, waits: [Option<f64>; 2]) -> ReadShare {
        // Of the mutex, few wait far longer than the others.
        let wait = |ns: f64, times: f64| Wait { mean_ns: ns, p99_ns: Some(times * ns) };
        ReadShare {
            percent,
            case: String::new(),
            over: String::new(),
            ratio: Estimate {
                value: ratio,
                interval: Some(Interval { low: ratio - 0.3, high: ratio + 0.3 }),
                count: 9,
            },
            wait: waits[0].map(|ns| wait(ns, 40.0)),
            mutex_wait: waits[1].map(|ns| wait(ns, 0.4)),
        }
    }

    fn read_shares(lock: &str, work_ns: f64) -> ReadShares {
        let steps = vec![
            read_share(0, 0.5, [None, None]),
            read_share(90, 1.2, [Some(1_000.0), Some(1_000.0)]),
            read_share(99, 1.4, [Some(2_500.0), Some(1_000.0)]),
            read_share(100, 2.2, [None, Some(1_000.0)]),
        ];
        ReadShares { lock: lock.to_owned(), mutex: "Mutex".to_owned(), work_ns, steps }
    }

    #[test]
    fn locks_are_compared_by_work_at_fixed_shares_of_reads() {
        let found = locks(&[
            read_shares("RwLock", 130.0),
            read_shares("RwLock", 13_000.0),
            read_shares("other's", 130.0),
            read_shares("other's", 13_000.0),
            read_shares("third's", 13_000.0),
        ]);
        let expected = [
            "With 130 ns of work inside, Mutex takes 1.2 [0.90, 1.5] times as long as RwLock at 90 % \
             reads, 1.4 [1.1, 1.7] at 99 %; with 13 µs of work 1.2 [0.90, 1.5] at 90 %, 1.4 [1.1, 1.7] \
             at 99 %.",
            "With 99 % reads and 13 µs of work inside, a writer waits 2.5 µs on average for RwLock (99th \
             percentile 100 µs), and 1 µs on average for Mutex (99 of 100 less than 400 ns).",
            "Mutexes of other libraries take, compared with their read-write lock: other's 1.4 [1.1, 1.7] \
             times as long at 99 % reads with 130 ns of work, 1.4 [1.1, 1.7] with 13 µs of work; third's \
             1.4 [1.1, 1.7] with 13 µs of work.",
        ];
        let found: Vec<String> = found.iter().map(|text| text.replace('\u{a0}', " ")).collect();
        assert_eq!(found, expected);
        assert_eq!(locks(&[]), [""; 0]);
    }

    #[test]
    fn an_addition_has_its_time_and_its_share() {
        let estimate = |value| Estimate { value, interval: None, count: 9 };
        let addition = Addition {
            text: "It costs {}, {} of a request ({}).".to_owned(),
            added_ns: estimate(90.0),
            to_ns: estimate(19_300.0),
            share: estimate(0.00466),
        };
        let shown = added(&addition).replace('\u{a0}', " ");
        assert_eq!(shown, "It costs 90.0 ns, 0.5 % of a request (19.3 µs).");
        let group = Group { is_fit: true, addition: Some(addition), ..Group::default() };
        assert_eq!(group_answers(&group).len(), 1);
    }

    #[test]
    fn another_place_is_named_only_if_it_differs() {
        for differs in [false, true] {
            let elsewhere = Savings { place: Some("elsewhere".to_owned()), differs, ..savings() };
            assert_eq!(saved(&[savings(), elsewhere]).len(), 1 + usize::from(differs));
        }
    }

    #[test]
    fn a_disturbed_run_answers_nothing() {
        for is_fit in [true, false] {
            let group = Group { is_fit, savings: vec![savings()], ..Group::default() };
            assert_eq!(group_answers(&group).len(), usize::from(is_fit));
        }
    }

    #[test]
    fn shares_are_listed_by_name_with_those_that_are_unclear() {
        let prediction = |kind: &str, share| (kind.to_owned(), share);
        let shares = [
            prediction("threads", Some(0.54)),
            prediction("a loop", None),
            prediction("threads", Some(0.28)),
            prediction("threads", None),
            prediction("tasks", Some(1.02)),
        ];
        let shown = shares_by_name(shares.into_iter()).unwrap().replace('\u{a0}', " ");
        let expected = "threads 28 to 54 % (2 of 3 loads), a loop: nothing to predict is clear, \
                        tasks 102 % (1 of 1 loads)";
        assert_eq!(shown, expected);
        assert_eq!(shares_by_name([].into_iter()), None);
    }
}
