//! What answers a group's question, in sentences.

use super::loads::{self, capital, pinned};
use super::quantity::{
    NO_BREAK_SPACE, Unit, brief_ticks, duration, ends, percent, small_share, three_digits, times,
    with_ends,
};
use crate::judge::prediction::{Difference, Prediction};
use crate::judge::read_shares::{ReadShares, Wait};
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

/// From which share of reads on the first read-write lock is worth it, with each work inside, and how
/// long its writers wait; then the others in one sentence.
fn locks(all: &[ReadShares]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let (of_first, others): (Vec<_>, Vec<_>) =
        all.iter().partition(|shares| shares.lock == first.lock);
    let mut sentences = vec![worth_it(&of_first)];
    sentences.extend(of_first.iter().rev().find_map(|shares| writers(shares)));
    sentences.extend(other_locks(&others));
    sentences
}

/// From which share of reads on to use a lock, by the work inside.
fn worth_it(all: &[&ReadShares]) -> String {
    let ReadShares { lock, mutex, cheaper_from, .. } = all[0];
    let is_same = all.iter().all(|shares| shares.cheaper_from == *cheaper_from);
    if let Some(percent) = cheaper_from
        && is_same
    {
        let by = all.iter().filter_map(|shares| {
            let by = times(shares.first_cheaper()?.ratio.value);
            Some((by, work_inside(shares)))
        });
        let mut text = format!("Use {lock} {}: there {mutex} takes ", from_share(*percent));
        for (at, (by, work)) in by.enumerate() {
            text += &match at {
                0 => format!("{by} as long with {work} inside"),
                _ => format!(", {by} with {work}"),
            };
        }
        return text + ".";
    }
    let sentences = all.iter().map(|shares| with_this_work(shares));
    sentences.collect::<Vec<_>>().join(" ")
}

/// Which of two locks to use with one amount of work inside.
fn with_this_work(shares: &ReadShares) -> String {
    let ReadShares { lock, mutex, steps, .. } = shares;
    let Some(last) = steps.last() else { return String::new() };
    let text = format!("With {} inside, ", work_inside(shares));
    if let Some(step) = shares.first_cheaper() {
        let (from, by) = (from_share(step.percent), times(step.ratio.value));
        return format!("{text}use {lock} {from}: there {mutex} takes {by} as long.");
    }
    let is_slower = last.ratio.value < 1.0 && last.ratio.excludes(1.0);
    let why = if is_slower {
        format!("takes {} as long", times(1.0 / last.ratio.value))
    } else {
        "is not clearly cheaper".to_owned()
    };
    let percent = last.percent;
    format!("{text}keep {mutex}: even with {percent}{NO_BREAK_SPACE}% reads {lock} {why}.")
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

/// From which share of reads on a lock is worth it.
fn from_share(percent: u64) -> String {
    match percent {
        0 => "with any share of reads".to_owned(),
        100 => "only if all read".to_owned(),
        _ => format!("from {percent}{NO_BREAK_SPACE}% reads on"),
    }
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

/// From which share on each other lock is cheaper than its mutex; `None` without others.
fn other_locks(others: &[&ReadShares]) -> Option<String> {
    let mut by_lock: Vec<Vec<&ReadShares>> = Vec::new();
    for shares in others {
        match by_lock.iter_mut().find(|known| known[0].lock == shares.lock) {
            Some(known) => known.push(shares),
            None => by_lock.push(vec![shares]),
        }
    }
    let of_lock = |all: &Vec<&ReadShares>| {
        let from = |shares: &ReadShares| shares.cheaper_from.map_or("never".to_owned(), from_share);
        let is_same = all.iter().all(|shares| shares.cheaper_from == all[0].cheaper_from);
        let texts: Vec<String> = match &all[..] {
            [first, ..] if is_same => vec![from(first)],
            all => {
                let text =
                    |shares: &&ReadShares| format!("{} with {}", from(shares), work_inside(shares));
                all.iter().map(text).collect()
            }
        };
        format!("{} {}", all[0].lock, texts.join(", "))
    };
    let found: Vec<String> = by_lock.iter().map(of_lock).collect();
    (!found.is_empty()).then(|| format!("Other locks beat their mutex: {}.", found.join("; ")))
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
    use crate::judge::read_shares::ReadShare;
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
            ratio: Estimate { value: ratio, interval: None, count: 9 },
            wait: waits[0].map(|ns| wait(ns, 40.0)),
            mutex_wait: waits[1].map(|ns| wait(ns, 0.4)),
        }
    }

    fn read_shares(lock: &str, work_ns: f64, cheaper_from: Option<u64>) -> ReadShares {
        let steps = vec![
            read_share(0, 0.5, [None, None]),
            read_share(90, 1.4, [Some(2_500.0), Some(1_000.0)]),
            read_share(100, 2.2, [None, Some(1_000.0)]),
        ];
        ReadShares {
            lock: lock.to_owned(),
            mutex: "Mutex".to_owned(),
            work_ns,
            steps,
            cheaper_from,
        }
    }

    #[test]
    fn locks_are_advised_by_work_and_share_of_reads() {
        let found = locks(&[
            read_shares("RwLock", 130.0, None),
            read_shares("RwLock", 13_000.0, Some(90)),
            read_shares("RwLock", 130_000.0, Some(100)),
            read_shares("other", 130.0, None),
            read_shares("other", 13_000.0, Some(100)),
            read_shares("third", 130.0, Some(0)),
        ]);
        let expected = [
            "With 130 ns of work inside, keep Mutex: even with 100 % reads RwLock is not clearly \
             cheaper. With 13 µs of work inside, use RwLock from 90 % reads on: there Mutex takes 1.4 \
             times as long. With 130 µs of work inside, use RwLock only if all read: there Mutex takes \
             2.2 times as long.",
            "With 90 % reads and 130 µs of work inside, a writer waits 2.5 µs on average for RwLock (99th \
             percentile 100 µs), and 1 µs on average for Mutex (99 of 100 less than 400 ns).",
            "Other locks beat their mutex: other never with 130 ns of work, only if all read with 13 µs \
             of work; third with any share of reads.",
        ];
        let found: Vec<String> = found.iter().map(|text| text.replace('\u{a0}', " ")).collect();
        assert_eq!(found, expected);
        assert_eq!(locks(&[]), [""; 0]);
        let mut slower = read_shares("RwLock", 130.0, None);
        let interval = Some(Interval { low: 0.45, high: 0.55 });
        slower.steps[2].ratio = Estimate { value: 0.5, interval, count: 9 };
        let said = worth_it(&[&slower]).replace('\u{a0}', " ");
        assert!(said.contains("even with 100 % reads RwLock takes 2.0 times as long."), "{said}");
        let same = [130.0, 13_000.0].map(|work_ns| read_shares("RwLock", work_ns, Some(90)));
        let said = locks(&same)[0].replace('\u{a0}', " ");
        let expected = "Use RwLock from 90 % reads on: there Mutex takes 1.4 times as long with 130 ns of \
                        work inside, 1.4 times with 13 µs of work.";
        assert_eq!(said, expected);
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
