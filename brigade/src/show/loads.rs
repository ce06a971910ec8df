//! What a group's table answers, and the table: a line for each thing and a column for each load.

use super::names::{Names, place_of};
use super::page::{ABSENT, NO_BREAK_SPACE, Table, left, right};
use super::quantity::{
    Unit, brief_ticks, duration, factor, shown, times, times_with_ends, with_ends,
};
use crate::judge::loads::{
    Cliff, Fastest, Late, LoadAdvice, LoadAnswer, LoadLine, Loads, Rival, Unfair, Waking, Woken,
};
use crate::judge::pinning::Pinning;
use crate::judge::read_shares::WRITE_TURN;
use crate::judge::report::Group;
use crate::judge::row::{Parts, Quantity, Row};
use crate::judge::statistics::Estimate;

/// The sentences that a table answers with.
pub fn answers(answer: &LoadAnswer) -> Vec<String> {
    match answer {
        LoadAnswer::Choose(advice) => {
            let unfair = advice.unfair.iter().map(unfair);
            std::iter::once(chosen(advice)).chain(unfair).collect()
        }
        LoadAnswer::Fastest(found) => vec![fastest(found)],
        LoadAnswer::Late(found) => vec![late(found)],
        LoadAnswer::Waking(found) => {
            let cliff = found.cliff.iter().map(cliff);
            std::iter::once(waking(found)).chain(cliff).collect()
        }
    }
}

/// Which line to choose.
fn chosen(advice: &LoadAdvice) -> String {
    let LoadAdvice {
        usual,
        better,
        load,
        better_ns,
        better_cpu_ns,
        ratio,
        cheaper,
        open,
        is_fair,
        ..
    } = advice;
    let Some((better, ratio)) = better.as_ref().zip(ratio.as_ref()) else {
        let as_fair = if *is_fair { " that is as fair" } else { "" };
        return match open.first() {
            None if *is_fair => format!("Keep {usual}: none{as_fair} is clearly cheaper."),
            None => format!("Keep {usual}: no other is clearly cheaper."),
            Some(rival) => format!(
                "This run cannot tell whether another{as_fair} is cheaper than {usual}: with {} {usual} \
                 takes {}.",
                rival.load,
                as_much_as(rival)
            ),
        };
    };
    let by = times(ratio.value);
    let brief = |ns: f64| brief_ticks(ns, Quantity::Nanoseconds);
    let cpu = better_cpu_ns.map_or(String::new(), |ns| format!(" ({} of CPU time)", brief(ns)));
    let takes = better_ns.map_or(String::new(), brief) + &cpu;
    if !cheaper.is_empty() {
        let elsewhere: Vec<String> = cheaper
            .iter()
            .map(|rival| format!("with {} {better} takes {}", rival.load, as_much_as(rival)))
            .collect();
        return format!(
            "It depends on the load: with {load}, {better} takes {takes}, {usual} {by} as long; but {}.",
            elsewhere.join(", ")
        );
    }
    let mut text = format!(
        "Use {better}: with {load} it takes {takes}, {usual} {by} as long. Under none of these loads is \
         another clearly cheaper"
    );
    let mut labels: Vec<&str> = Vec::new();
    for rival in open {
        if !labels.contains(&&*rival.label) {
            labels.push(&rival.label);
        }
    }
    if !labels.is_empty() {
        text += &format!(", but this run does not rule out {}", listed(&labels, "and"));
    }
    text + "."
}

/// How many times as much the advised line takes as another.
fn as_much_as(Rival { label, ratio, cpu_ratio, .. }: &Rival) -> String {
    let cpu = cpu_ratio
        .as_ref()
        .map_or(String::new(), |ratio| format!(" and {} its CPU time", times_with_ends(ratio)));
    format!("{} as long as {label}{cpu}", times_with_ends(ratio))
}

/// A list such as `a, b or c`.
fn listed(items: &[&str], word: &str) -> String {
    match items {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

/// A line that looks cheap.
fn unfair(Unfair { label, load, turn_ns }: &Unfair) -> String {
    let turn = brief_ticks(*turn_ns, Quantity::Nanoseconds);
    format!("{label} is cheap on average, but with {load} a task waits {turn} for its turn.")
}

/// The line with the lowest figure, those that the run does not separate from it, and how much more
/// others take.
fn fastest(Fastest { text, label, figure, others }: &Fastest) -> String {
    let is_slower = |ratio: &Estimate| ratio.value > 1.0 && ratio.excludes(1.0);
    let (slower, alike): (Vec<_>, Vec<_>) = others.iter().partition(|(_, ratio)| is_slower(ratio));
    let first = with_article(label);
    let slower: Vec<(String, String)> = slower
        .into_iter()
        .map(|(label, ratio)| (with_article(label), factor(ratio.value)))
        .collect();
    let takes = |at: usize, (line, by): &(String, String), verb: &str| {
        let long = if at == 0 { " times as long" } else { "" };
        format!("{line} {verb}{by}{long}")
    };
    if alike.is_empty() {
        let slower: Vec<String> = slower
            .iter()
            .enumerate()
            .map(|(at, line)| takes(at, line, if at == 0 { "takes " } else { "" }))
            .collect();
        let text = text.replacen("{}", &first, 1);
        return format!("{text}: {}. {}.", duration(figure.value), capital(&slower.join(", ")));
    }
    let lines: Vec<String> = std::iter::once(first.clone())
        .chain(alike.iter().map(|(label, _)| with_article(label)))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let text = text.replacen("{}", &listed(&lines, "or"), 1);
    let slower: String =
        slower.iter().enumerate().map(|(at, line)| format!(", {}", takes(at, line, ""))).collect();
    let which = if lines.len() == 2 { "which of the two" } else { "which of them" };
    format!(
        "{text}: this run cannot tell {which}. {} takes {}{slower}.",
        capital(&first),
        duration(figure.value)
    )
}

/// How late others are with each line, the first as the subject.
fn late(Late { text, load, lines }: &Late) -> String {
    let mut lines = lines
        .iter()
        .map(|(label, p99_ns)| (with_article(label), brief_ticks(*p99_ns, Quantity::Nanoseconds)));
    let (first, by) = lines.next().unwrap_or_default();
    let text = text.replacen("{}", &capital(&first), 1).replacen("{}", load, 1);
    let others: String = lines.map(|(line, by)| format!(", {line} by {by}")).collect();
    text.replacen("{}", &by, 1) + &others + "."
}

/// How long it takes until the last of many tasks runs, with the first choice as the subject.
fn waking(Waking { load, lines, .. }: &Waking) -> String {
    let all = |woken: &Woken| brief_ticks(woken.all_ns, Quantity::Nanoseconds);
    let mut lines = lines.iter();
    let Some(first) = lines.next() else { return String::new() };
    let mut text = format!("Waking {load} {} takes {}", first.label, all(first));
    text += &format!(", {} each", brief_ticks(first.each_ns, Quantity::Nanoseconds));
    if let Some(ns) = first.first_to_last_ns {
        let after = brief_ticks(ns, Quantity::Nanoseconds);
        text += &format!("; the last runs {after} after the first");
    }
    let others: Vec<String> =
        lines.map(|line| format!("{load} {}: {}", line.label, all(line))).collect();
    let others = if others.is_empty() { String::new() } else { format!(" {}.", others.join(", ")) };
    format!("{text}.{others}")
}

/// Where one woken task begins to take longer.
fn cliff(Cliff { label, from, to, ratio }: &Cliff) -> String {
    format!(
        "Of {to} {label} woken at once, each takes {} as long as with {from}.",
        times(ratio.value)
    )
}

/// A label as the subject of a sentence, such as `a goroutine`.
fn with_article(label: &str) -> String {
    let is_vowel = label.chars().next().is_some_and(|first| "aeiou".contains(first));
    format!("{} {label}", if is_vowel { "an" } else { "a" })
}

/// A sentence's beginning.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// A part of what a hop takes longer off one CPU.
struct PinningPart<'a> {
    ns: &'a Estimate,
    /// What it is for, after a figure.
    purpose: &'static str,
    /// The same without a figure.
    name: &'static str,
}

/// Why threads are faster on one CPU: what they take longer elsewhere. A part whose interval includes 0
/// has no figure.
pub fn pinned(pinning: &Pinning) -> String {
    let Pinning { one_cpu_ns, any_cpu_ns, difference, waking, interrupt, rest } = pinning;
    let unit = Unit::fitting(*any_cpu_ns, Quantity::Nanoseconds);
    let decimals: usize = match unit.amount(*any_cpu_ns) {
        99.5.. => 0,
        9.95.. => 1,
        _ => 2,
    };
    let written = |ns: f64| {
        // Adding 0 turns a rounded -0 into 0.
        let step = 10_f64.powi(decimals as i32);
        let rounded = (unit.amount(ns) * step).round() / step + 0.0;
        format!("{rounded:.decimals$}").replace('-', "−")
    };
    let with_ends = |ns: &Estimate| with_ends(&written(ns.value), ns, written);
    let hop = format!(
        "On one CPU a hop takes {}{NO_BREAK_SPACE}{}, on any CPU {}",
        written(*one_cpu_ns),
        unit.symbol,
        written(*any_cpu_ns)
    );
    if difference.interval.is_none_or(|ends| ends.low <= 0.0) {
        let is_slower = difference.interval.is_some_and(|ends| ends.high < 0.0);
        let text = if is_slower { "pinning makes it slower" } else { "no clear difference" };
        return format!("{hop}: {text}.");
    }
    let part = |ns, purpose, name| PinningPart { ns, purpose, name };
    let mut parts = vec![part(waking, "to wake a sleeping CPU", "waking a sleeping CPU")];
    if let Some(interrupt) = interrupt {
        parts.push(part(interrupt, "to interrupt an awake one", "interrupting an awake one"));
        parts.push(part(rest, "other", "the rest"));
    } else {
        parts.push(part(
            rest,
            "to reach another CPU, and other",
            "reaching another CPU, and the rest,",
        ));
    }
    let (clear, unclear): (Vec<_>, Vec<_>) =
        parts.into_iter().partition(|part| part.ns.excludes(0.0));
    let clear: Vec<String> =
        clear.iter().map(|part| format!("{} {}", with_ends(part.ns), part.purpose)).collect();
    let clear = if clear.is_empty() { String::new() } else { format!(": {}", clear.join(", ")) };
    let unclear: Vec<&str> = unclear.iter().map(|part| part.name).collect();
    let unclear = if unclear.is_empty() {
        String::new()
    } else {
        let verb = if unclear.len() == 1 { "takes" } else { "take" };
        format!(" What {} {verb} of it is not resolved.", listed(&unclear, "and"))
    };
    format!("{hop}. Round by round, the difference is {}{clear}.{unclear}", with_ends(difference))
}

/// Figures by load, with factors to the cheapest, or with CPU time; or 99th percentiles.
pub fn table(loads: &Loads) -> Table {
    let has_turns = loads.lines.iter().any(|line| line.turn_ns.iter().any(Option::is_some));
    let has_cpu = has_cpu(loads);
    let heading = match (&*loads.heading, has_cpu) {
        ("", true) => format!("one {}: time/CPU", loads.operation),
        ("", false) => format!("one {}", loads.operation),
        (heading, _) => heading.to_owned(),
    };
    let mut columns = vec![left(&heading)];
    for load in &loads.loads {
        columns.push(right(load));
        if has_factors(loads) {
            columns.push(right("×"));
        }
    }
    if has_turns {
        columns.push(right(if loads.turn == WRITE_TURN { "writer" } else { &loads.turn }));
    }
    let mut table = Table::new(columns);
    for line in &loads.lines {
        let exclusive = if line.is_exclusive { " (exclusive)" } else { "" };
        let mut cells = vec![format!("{}{exclusive}", line.label)];
        for at in 0..loads.loads.len() {
            cells.extend(load_cells(loads, line, at));
        }
        if has_turns {
            // Under the last load that has turns.
            let turn = line.turn_ns.iter().rev().find_map(|turn| *turn);
            cells.push(turn.map_or(ABSENT.to_owned(), duration));
        }
        table.push(cells);
    }
    table
}

/// The most loads with room for factors in a terminal.
const MOST_WITH_FACTORS: usize = 4;

/// Whether the table shows how many times as long as the shortest under its load each figure is.
fn has_factors(loads: &Loads) -> bool {
    !loads.tails && !has_cpu(loads) && loads.loads.len() <= MOST_WITH_FACTORS
}

/// Whether the table shows CPU time next to time.
fn has_cpu(loads: &Loads) -> bool {
    loads.lines.iter().any(|line| !line.cpu_ns.is_empty())
}

/// A time and the CPU time, in one unit: `95.0/181 ns`.
fn with_cpu(time_ns: f64, cpu_ns: Option<f64>) -> String {
    let unit = Unit::fitting(time_ns, Quantity::Nanoseconds);
    let cpu = cpu_ns.map_or(ABSENT.to_owned(), |ns| unit.show(ns));
    format!("{}/{cpu}{NO_BREAK_SPACE}{}", unit.show(time_ns), unit.symbol)
}

/// A figure and its factor or its CPU time, or a percentile.
fn load_cells(loads: &Loads, line: &LoadLine, at: usize) -> Vec<String> {
    if loads.tails {
        let late = line.p99_ns.get(at).copied().flatten();
        return vec![late.map_or(ABSENT.to_owned(), duration)];
    }
    let figure = line.figures.get(at).copied().flatten();
    let factor_of = line.factors.get(at).copied().flatten();
    if has_cpu(loads) {
        let cpu_ns = line.cpu_ns.get(at).copied().flatten();
        return vec![figure.map_or(ABSENT.to_owned(), |time| with_cpu(time.value, cpu_ns))];
    }
    let unit = loads.units.get(at).copied().unwrap_or_default();
    let mut cells = vec![figure.map_or(ABSENT.to_owned(), |figure| shown(figure.value, unit))];
    if has_factors(loads) {
        cells.push(factor_of.map_or(String::new(), |ratio| factor(ratio.value)));
    }
    cells
}

/// A column for a part of a row's time.
struct TimeColumn {
    heading: &'static str,
    /// The part, unless the kernel did not count it.
    ns: fn(&Parts) -> Option<f64>,
}

impl TimeColumn {
    const fn new(heading: &'static str, ns: fn(&Parts) -> Option<f64>) -> Self {
        Self { heading, ns }
    }
}

/// The parts of a row's time, which add up to it. Without the kernel's counts all waiting is in the last.
const TIME_COLUMNS: [TimeColumn; 6] = [
    TimeColumn::new("user", |parts| Some(parts.user_ns)),
    TimeColumn::new("kernel", |parts| Some(parts.kernel_ns)),
    TimeColumn::new("asleep", |parts| Some(parts.waiting_for?.idle_ns)),
    TimeColumn::new("waking", |parts| Some(parts.waiting_for?.waking_ns)),
    TimeColumn::new("queued", |parts| Some(parts.waiting_for?.queued_ns)),
    TimeColumn::new("other", |parts| {
        let rest = parts.waiting_for.map(|why| why.stolen_ns + why.rest_ns);
        Some(rest.unwrap_or(parts.waiting_ns))
    }),
];

/// Where the time of each case goes: shares that add up to the whole. The lines are those of the
/// group's table.
pub fn parts_table(group: &Group, names: &Names) -> Table {
    let headings = TIME_COLUMNS.map(|column| right(column.heading));
    let mut table = Table::new([left("where the time goes")].into_iter().chain(headings));
    let mut rows: Vec<&Row> = group.cases().collect();
    rows.sort_by_key(|row| place_of(group, row).map(|(line, _)| line.letter));
    for row in rows {
        let Some(parts) = row.parts else { continue };
        let times = TIME_COLUMNS.map(|column| (column.ns)(&parts));
        let shares = percentages(times.map(|ns| ns.unwrap_or(0.0)));
        let mut cells = vec![names.name(row)];
        for (ns, share) in times.iter().zip(shares) {
            let shown = format!("{share}{NO_BREAK_SPACE}%");
            cells.push(if ns.is_some() { shown } else { ABSENT.to_owned() });
        }
        table.push(cells);
    }
    table
}

/// Whole percentages that add up to 100: those with the largest remainders are rounded up.
fn percentages<const COUNT: usize>(times: [f64; COUNT]) -> [u32; COUNT] {
    let whole: f64 = times.iter().sum();
    if whole <= 0.0 {
        return [0; COUNT];
    }
    let exact = times.map(|ns| 100.0 * ns / whole);
    let mut shares = exact.map(|share| share.floor() as u32);
    let lacking = 100_u32.saturating_sub(shares.iter().sum());
    let mut by_remainder: Vec<usize> = (0..COUNT).collect();
    by_remainder.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
    for at in by_remainder.into_iter().take(lacking as usize) {
        shares[at] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::statistics::Interval;

    fn plain(text: &str) -> String {
        text.replace(NO_BREAK_SPACE, " ")
    }

    /// A figure with this distance to both ends.
    fn within(value: f64, by: f64) -> Estimate {
        let interval = Some(Interval { low: value - by, high: value + by });
        Estimate { value, interval, count: 9 }
    }

    /// A hop on one CPU and on any, and the parts of the difference.
    fn pinning(times: [f64; 2], parts: [f64; 3], by: f64) -> Pinning {
        let [waking, interrupt, rest] = parts.map(|ns| within(ns, by));
        Pinning {
            one_cpu_ns: times[0],
            any_cpu_ns: times[1],
            difference: within(parts.iter().sum(), by),
            waking,
            interrupt: Some(interrupt),
            rest,
        }
    }

    #[test]
    fn a_part_of_the_difference_has_a_figure_only_if_it_is_not_zero() {
        let all = pinning([3_960.0, 12_740.0], [5_940.0, 1_650.0, 1_210.0], 1_000.0);
        let hop = "On one CPU a hop takes 4.0 µs, on any CPU 12.7";
        let difference = "Round by round, the difference is 8.8 [7.8, 9.8]";
        assert_eq!(
            plain(&pinned(&all)),
            format!(
                "{hop}. {difference}: 5.9 [4.9, 6.9] to wake a sleeping CPU, 1.7 [0.7, 2.7] to interrupt \
                 an awake one, 1.2 [0.2, 2.2] other."
            )
        );
        let two = Pinning { interrupt: None, rest: within(2_840.0, 1_000.0), ..all };
        assert_eq!(
            plain(&pinned(&two)),
            format!(
                "{hop}. {difference}: 5.9 [4.9, 6.9] to wake a sleeping CPU, 2.8 [1.8, 3.8] to reach \
                 another CPU, and other."
            )
        );
        let unclear = Pinning { waking: within(200.0, 300.0), rest: within(900.0, 950.0), ..all };
        assert_eq!(
            plain(&pinned(&unclear)),
            format!(
                "{hop}. {difference}: 1.7 [0.7, 2.7] to interrupt an awake one. What waking a sleeping CPU \
                 and the rest take of it is not resolved."
            )
        );
        let found = pinned(&pinning([12_800.0, 13_600.0], [500.0, 200.0, 100.0], 900.0));
        assert_eq!(
            plain(&found),
            "On one CPU a hop takes 12.8 µs, on any CPU 13.6: no clear difference."
        );
        let found = pinned(&pinning([13_600.0, 12_800.0], [-800.0, 0.0, 0.0], 100.0));
        assert_eq!(
            plain(&found),
            "On one CPU a hop takes 13.6 µs, on any CPU 12.8: pinning makes it slower."
        );
    }

    #[test]
    fn shares_add_up_to_a_hundred() {
        assert_eq!(percentages([1.0, 1.0, 1.0]), [34, 33, 33]);
        assert_eq!(percentages([0.0, 0.0]), [0, 0], "nothing has no shares");
        assert_eq!(percentages([2.0, 1.0, 5.0, 0.4]).iter().sum::<u32>(), 100);
    }

    #[test]
    fn labels_are_subjects_of_sentences() {
        let ratio = |value: f64| {
            let interval = Some(Interval { low: value - 0.2, high: value + 0.2 });
            Estimate { value, interval, count: 9 }
        };
        let interval = Some(Interval { low: 0.8, high: 9.0 });
        let unknown = Estimate { value: 1.1, interval, count: 9 };
        let found = fastest(&Fastest {
            text: "Of these, {} hands over fastest".to_owned(),
            label: "async task (tokio)".to_owned(),
            figure: ratio(171.0),
            others: vec![
                ("coroutine".to_owned(), ratio(1.1)),
                ("thread".to_owned(), unknown),
                ("goroutine".to_owned(), ratio(1.6)),
                ("virtual thread".to_owned(), ratio(4.2)),
            ],
        });
        let expected = "Of these, an async task (tokio), a coroutine or a thread hands over fastest: this \
                        run cannot tell which of them. An async task (tokio) takes 171 ns, a goroutine 1.6 \
                        times as long, a virtual thread 4.2.";
        assert_eq!(plain(&found), expected);
        let alone = fastest(&Fastest {
            text: "Of these, {} hands over fastest".to_owned(),
            label: "async task (tokio)".to_owned(),
            figure: ratio(171.0),
            others: vec![
                ("goroutine".to_owned(), ratio(1.6)),
                ("virtual thread".to_owned(), ratio(4.2)),
            ],
        });
        let expected = "Of these, an async task (tokio) hands over fastest: 171 ns. A goroutine takes 1.6 \
                        times as long, a virtual thread 4.2.";
        assert_eq!(plain(&alone), expected);
        let found = late(&Late {
            text: "{} that computes for {} delays others by {}".to_owned(),
            load: "50 ms".to_owned(),
            lines: vec![("async task".to_owned(), 4.96e7), ("thread".to_owned(), 2.11e6)],
        });
        let expected =
            "An async task that computes for 50 ms delays others by 50 ms, a thread by 2.1 ms.";
        assert_eq!(plain(&found), expected);
    }

    #[test]
    fn waking_many_is_told_for_all_and_for_each_with_a_cliff_if_there_is_one() {
        let woken = |label: &str, all_ns: f64| Woken {
            label: label.to_owned(),
            all_ns,
            each_ns: all_ns / 1000.0,
            first_to_last_ns: Some(all_ns - 1e5),
        };
        let ratio = Estimate { value: 3.4, interval: None, count: 9 };
        let [from, to] = ["1,000", "10,000"].map(str::to_owned);
        let cliff = Cliff { label: "tasks of tokio".to_owned(), from, to, ratio };
        let found = Waking {
            load: "1,000".to_owned(),
            lines: vec![woken("threads", 4.1e6), woken("tasks of tokio", 2.1e5)],
            cliff: Some(cliff),
        };
        let shown: Vec<String> =
            answers(&LoadAnswer::Waking(found.clone())).iter().map(|text| plain(text)).collect();
        let expected = [
            "Waking 1,000 threads takes 4.1 ms, 4.1 µs each; the last runs 4 ms after the first. \
             1,000 tasks of tokio: 210 µs.",
            "Of 10,000 tasks of tokio woken at once, each takes 3.4 times as long as with 1,000.",
        ];
        assert_eq!(shown, expected);
        let smooth = Waking { cliff: None, ..found };
        assert_eq!(answers(&LoadAnswer::Waking(smooth)).len(), 1);
    }

    /// Five columns of figures leave no room for factors.
    #[test]
    fn a_table_of_many_loads_has_figures_only() {
        let figures: Vec<_> = (1..=5).map(|ns| Estimate::of(&[f64::from(ns)])).collect();
        let line = LoadLine { label: "A".to_owned(), figures, ..LoadLine::default() };
        let loads: Vec<String> = (1..=5).map(|load| load.to_string()).collect();
        let of = |loads: &[String]| {
            let loads =
                Loads { loads: loads.to_vec(), lines: vec![line.clone()], ..Loads::default() };
            table(&loads).headings.len()
        };
        assert_eq!((of(&loads[..4]), of(&loads)), (9, 6));
    }

    /// Lines stay in place, whatever their figures.
    #[test]
    fn a_table_by_load_shows_cpu_time_where_it_counts() {
        let line = |letter: char, times: &[f64], cpu_ns: &[f64]| LoadLine {
            letter,
            label: letter.to_string(),
            figures: times.iter().map(|ns| Estimate::of(&[*ns])).collect(),
            cpu_ns: cpu_ns.iter().copied().map(Some).collect(),
            ..LoadLine::default()
        };
        let lines = vec![
            line('A', &[70.0], &[140.0]),
            line('B', &[95.0, 1230.0], &[181.0, 2450.0]),
            line('C', &[99.0, 1010.0], &[181.0]),
        ];
        let loads = ["1→1", "4→1"].map(str::to_owned).to_vec();
        let operation = "message".to_owned();
        let table = table(&Loads { operation, loads, lines, ..Loads::default() });
        assert_eq!(table.headings, ["one message: time/CPU", "1→1", "4→1"]);
        let rows = table.rows.iter().map(|row| plain(&row.join(" ")));
        let expected = ["A 70.0/140 ns –", "B 95.0/181 ns 1.23/2.45 µs", "C 99.0/181 ns 1.01/– µs"];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_choice_names_what_is_as_fair_and_what_only_looks_cheap() {
        let advice = LoadAdvice {
            usual: "std".to_owned(),
            better: None,
            load: String::new(),
            better_ns: None,
            better_cpu_ns: None,
            ratio: None,
            depends: false,
            cheaper: Vec::new(),
            open: Vec::new(),
            is_fair: true,
            unfair: vec![Unfair {
                label: "async-lock".to_owned(),
                load: "8 tasks".to_owned(),
                turn_ns: 5.96e7,
            }],
        };
        let found = answers(&LoadAnswer::Choose(advice.clone()));
        assert_eq!(found[0], "Keep std: none that is as fair is clearly cheaper.");
        let better = LoadAdvice {
            better: Some("other".to_owned()),
            load: "4→1".to_owned(),
            better_ns: Some(80.2),
            better_cpu_ns: Some(157.0),
            ratio: Some(Estimate { value: 2.4, interval: None, count: 9 }),
            ..advice.clone()
        };
        let by = "with 4→1 it takes 80 ns (157 ns of CPU time), std 2.4 times as long";
        assert_eq!(
            plain(&chosen(&better)),
            format!("Use other: {by}. Under none of these loads is another clearly cheaper.")
        );
        let rival = |label: &str, load: &str| Rival {
            label: label.to_owned(),
            load: load.to_owned(),
            ratio: within(1.8, 0.9),
            cpu_ratio: Some(within(3.2, 1.5)),
        };
        let open = vec![rival("third", "1→1"), rival("fourth", "4→1"), rival("third", "4→1")];
        let unclear = LoadAdvice { open: open.clone(), ..better.clone() };
        let end = "clearly cheaper, but this run does not rule out third and fourth.";
        assert!(plain(&chosen(&unclear)).ends_with(end), "{}", chosen(&unclear));
        let depends = LoadAdvice { cheaper: vec![rival("third", "1→1")], ..better };
        let takes =
            "takes 1.8 [0.90, 2.7] times as long as third and 3.2 [1.7, 4.7] times its CPU time";
        assert_eq!(
            plain(&chosen(&depends)),
            "It depends on the load: with 4→1, other takes 80 ns (157 ns of CPU time), std 2.4 times as \
             long; but with 1→1 other "
                .to_owned()
                + takes
                + "."
        );
        let unclear = LoadAdvice { open, ..advice };
        assert_eq!(
            plain(&chosen(&unclear)),
            format!(
                "This run cannot tell whether another that is as fair is cheaper than std: with 1→1 std {takes}."
            )
        );
        let expected =
            "async-lock is cheap on average, but with 8 tasks a task waits 60 ms for its turn.";
        assert_eq!(plain(&found[1]), expected);
    }
}
