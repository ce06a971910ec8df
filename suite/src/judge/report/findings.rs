//! The sentences under the table. `suite.toml` says what is set against what
//! and in which words; the figures come from the estimates alone, and a
//! sentence claims no more than its interval does. A finding whose case was
//! not measured says nothing.

use crate::judge::report::attribution::Attribution;
use crate::judge::report::estimate::{CaseEstimate, OperationEstimate};
use crate::judge::report::explanation::explanation;
use crate::judge::report::quantity::{duration, estimated_duration, estimated_ratio, percent};
use crate::manifest::finding::{Breakdown, Comparison, Condition, Finding, Remainder, Subject};
use harness::statistics::{Estimate, differences, ratios};

impl Finding {
    /// The finding in words, or nothing if a case that it needs was not
    /// measured.
    #[must_use]
    pub fn sentence(&self, cases: &[CaseEstimate]) -> Option<String> {
        let sentence = match self {
            Self::Comparison(comparison) => comparison.sentence(cases),
            Self::Remainder(remainder) => remainder.sentence(cases),
            Self::Attribution(breakdown) => breakdown.sentence(cases),
        };
        sentence.map(|sentence| capitalised(&sentence))
    }
}

impl Comparison {
    fn sentence(&self, cases: &[CaseEstimate]) -> Option<String> {
        let first = self.first.measured(cases)?;
        let second = self.second.measured(cases)?;
        Some(format!("{}: {}", both(&first, &second), verdict(&first, &second)?))
    }
}

/// How many times as long the longer one takes, if the rounds can tell, and
/// what has a part in it.
fn verdict(first: &Measured, second: &Measured) -> Option<String> {
    let ratio = ratio(first, second)?;
    if !ratio.excludes(1.0) {
        return Some(format!("the difference is not resolvable in {}.", rounds(ratio.count)));
    }
    let (longer, shorter) = if ratio.median < 1.0 { (second, first) } else { (first, second) };
    let ratio = self::ratio(longer, shorter)?;
    let name = &longer.subject.name;
    let why = why(longer, shorter).unwrap_or_default();
    Some(format!("{name} takes {} times as long.{why}", estimated_ratio(&ratio)))
}

fn ratio(first: &Measured, second: &Measured) -> Option<Estimate> {
    Estimate::cautious(&ratios(&first.operation.by_round, &second.operation.by_round))
}

fn why(longer: &Measured, shorter: &Measured) -> Option<String> {
    explanation(longer.attribution?, shorter.attribution?, &difference(longer, shorter)?)
}

impl Remainder {
    fn sentence(&self, cases: &[CaseEstimate]) -> Option<String> {
        let whole = self.of.measured(cases)?;
        let baseline = self.baseline.measured(cases)?;
        Some(format!("{}: {}.", both(&whole, &baseline), self.remaining(&whole, &baseline)?))
    }

    fn remaining(&self, whole: &Measured, baseline: &Measured) -> Option<String> {
        let difference = difference(whole, baseline)?;
        let count = rounds(difference.count);
        Some(if !difference.excludes(0.0) {
            format!("what remains for {} is not resolvable in {count}", self.remains)
        } else if difference.median < 0.0 {
            let difference = self::difference(baseline, whole)?;
            let longer = &baseline.subject.name;
            format!("{longer} takes {} longer", estimated_duration(&difference))
        } else {
            format!("{} remain for {}", estimated_duration(&difference), self.remains)
        })
    }
}

fn difference(first: &Measured, second: &Measured) -> Option<Estimate> {
    Estimate::cautious(&differences(&first.operation.by_round, &second.operation.by_round))
}

impl Breakdown {
    fn sentence(&self, cases: &[CaseEstimate]) -> Option<String> {
        let parts: Vec<String> = self.cases.iter().filter_map(|of| of.sentence(cases)).collect();
        (!parts.is_empty())
            .then(|| format!("where the time of {} goes: {}.", self.of, parts.join("; ")))
    }
}

impl Condition {
    fn sentence(&self, cases: &[CaseEstimate]) -> Option<String> {
        let attribution = find(cases, &self.case)?.attribution.as_ref()?;
        let Attribution { user_ns, system_ns, waiting_ns, crossing_share, .. } = attribution;
        let mut parts = vec![
            format!("{} in user space", duration(user_ns.median)),
            format!("{} in the kernel", duration(system_ns.median)),
            waiting(waiting_ns),
        ];
        parts.extend(crossing_share.map(|share| format!("{} of hops cross CPUs", percent(share))));
        Some(format!("{} {}", self.text, parts.join(", ")))
    }
}

fn waiting(waiting_ns: &Estimate) -> String {
    if !waiting_ns.excludes(0.0) {
        format!("waiting not resolvable in {}", rounds(waiting_ns.count))
    } else if waiting_ns.median < 0.0 {
        let excess = duration(-waiting_ns.median);
        format!("CPU time exceeds wall time by {excess} (tasks overlapped)")
    } else {
        format!("{} waiting", estimated_duration(waiting_ns))
    }
}

/// A subject with its estimate.
struct Measured<'a> {
    subject: &'a Subject,
    operation: &'a OperationEstimate,
    /// Where its time goes, if it is its case's principal one.
    attribution: Option<&'a Attribution>,
}

impl Subject {
    fn measured<'a>(&'a self, cases: &'a [CaseEstimate]) -> Option<Measured<'a>> {
        let case = find(cases, &self.case)?;
        let operation = case.operation(self.measurement.as_deref())?;
        let is_principal = case.operation(None) == Some(operation);
        let attribution = case.attribution.as_ref().filter(|_| is_principal);
        Some(Measured { subject: self, operation, attribution })
    }
}

impl Measured<'_> {
    /// The time, with a word of warning where one figure describes nothing.
    fn time(&self) -> String {
        let time = estimated_duration(&self.operation.time_ns);
        match self.operation.modes {
            Some(_) => format!("{time} (two modes)"),
            None => time,
        }
    }
}

fn both(first: &Measured, second: &Measured) -> String {
    let (one, other) = (&first.subject.text, &second.subject.text);
    format!("{one} takes {}, {other} {}", first.time(), second.time())
}

fn find<'a>(cases: &'a [CaseEstimate], name: &str) -> Option<&'a CaseEstimate> {
    cases.iter().find(|case| case.case == name)
}

fn rounds(count: usize) -> String {
    if count == 1 { "1 round".to_owned() } else { format!("{count} rounds") }
}

fn capitalised(sentence: &str) -> String {
    let mut characters = sentence.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::report::estimate::estimate;
    use crate::store::invocation::Invocation;
    use crate::store::sample::{self, Sample};
    use harness::paragraph::item;

    const COMPARISON: &str = r#"
        kind = "comparison"
        first = { case = "threads", text = "a hop between threads", name = "the threads' hop" }
        second = { case = "tasks", text = "between tasks", name = "the tasks' hop" }
    "#;
    const REMAINDER: &str = r#"
        kind = "remainder"
        of = { case = "threads", text = "a hop between threads", name = "the hop" }
        baseline = { case = "tasks", text = "the I/O alone", name = "the I/O alone" }
        remains = "the switch"
    "#;
    const ATTRIBUTION: &str = r#"
        kind = "attribution"
        of = "a hop"
        cases = [
            { case = "threads", text = "on one CPU" },
            { case = "tasks", text = "placed freely" },
        ]
    "#;

    fn say(finding: &str, invocations: &[Invocation]) -> Option<String> {
        let finding: Finding = toml::from_str(finding).unwrap();
        finding.sentence(&estimate(invocations)).map(|sentence| item(&sentence))
    }

    /// Threads' hops of 2 µs in five rounds that differ by up to 3 %, and
    /// tasks' hops `times` as long.
    fn run(times: [f64; 5]) -> Vec<Invocation> {
        let threads = [2000.0, 2030.0, 1970.0, 2010.0, 1990.0];
        let tasks: [f64; 5] = std::array::from_fn(|round| threads[round] * times[round]);
        [sample::case("threads", threads), sample::case("tasks", tasks)].concat()
    }

    #[test]
    fn the_longer_one_is_the_subject_whichever_it_is() {
        let first = say(COMPARISON, &run([0.50, 0.49, 0.51, 0.50, 0.50])).unwrap();
        insta::assert_snapshot!(first, @r"
        - A hop between threads takes 2.00 µs [1.97, 2.03], between tasks
          1.00 µs [0.99, 1.00]: the threads' hop takes 2.00 [1.96, 2.04] times as long.
          300 ns [290, 311] of the difference is waiting.
        ");
        let second = say(COMPARISON, &run([2.0, 2.1, 1.9, 2.0, 2.0])).unwrap();
        insta::assert_snapshot!(second, @r"
        - A hop between threads takes 2.00 µs [1.97, 2.03], between tasks
          4.00 µs [3.74, 4.26]: the tasks' hop takes 2.00 [1.90, 2.10] times as long.
          600 ns [532, 670] of the difference is waiting.
        ");
    }

    #[test]
    fn a_ratio_whose_interval_contains_one_is_not_resolvable() {
        let text = say(COMPARISON, &run([1.01, 1.02, 0.99, 1.03, 1.01])).unwrap();
        insta::assert_snapshot!(text, @r"
        - A hop between threads takes 2.00 µs [1.97, 2.03], between tasks
          2.02 µs [1.95, 2.07]: the difference is not resolvable in 5 rounds.
        ");
    }

    #[test]
    fn without_an_interval_nothing_is_resolvable() {
        let mut invocations = run([9.0; 5]);
        invocations.retain(|invocation| invocation.round <= 4);
        let text = say(COMPARISON, &invocations).unwrap();
        insta::assert_snapshot!(text, @r"
        - A hop between threads takes 2.00 µs [–], between tasks 18.0 µs [–]: the
          difference is not resolvable in 4 rounds.
        ");
    }

    #[test]
    fn a_case_that_is_missing_is_not_spoken_of() {
        let threads = sample::case("threads", [2000.0; 5]);
        assert_eq!(say(COMPARISON, &threads), None);
        assert_eq!(say(REMAINDER, &threads), None);
        assert_eq!(say(ATTRIBUTION, &[]), None);
        assert!(!say(ATTRIBUTION, &threads).unwrap().contains("freely"));
    }

    #[test]
    fn rounds_that_share_nothing_cannot_be_compared() {
        let mut invocations = run([2.0; 5]);
        invocations[5..].iter_mut().for_each(|invocation| invocation.round += 5);
        assert_eq!(say(COMPARISON, &invocations), None);
    }

    #[test]
    fn two_modes_are_marked() {
        let text = say(COMPARISON, &run([1.0, 10.0, 1.0, 10.0, 1.0])).unwrap();
        insta::assert_snapshot!(text, @r"
        - A hop between threads takes 2.00 µs [1.97, 2.03], between tasks
          2.00 µs [1.97, 20.3] (two modes): the difference is not resolvable in 5
          rounds.
        ");
    }

    #[test]
    fn what_remains_above_a_baseline_is_their_difference_by_round() {
        let text = say(REMAINDER, &run([0.40, 0.41, 0.39, 0.40, 0.40])).unwrap();
        insta::assert_snapshot!(text, @r"
        - A hop between threads takes 2.00 µs [1.97, 2.03], the I/O alone
          800 ns [768, 832]: 1.20 µs [1.19, 1.21] remain for the switch.
        ");
    }

    #[test]
    fn a_remainder_around_zero_is_not_resolvable() {
        let text = say(REMAINDER, &run([1.01, 1.02, 0.99, 1.03, 1.01])).unwrap();
        insta::assert_snapshot!(text, @r"
        - A hop between threads takes 2.00 µs [1.97, 2.03], the I/O alone
          2.02 µs [1.95, 2.07]: what remains for the switch is not resolvable in 5
          rounds.
        ");
    }

    #[test]
    fn a_baseline_that_takes_longer_is_said_so() {
        let text = say(REMAINDER, &run([1.5, 1.6, 1.5, 1.4, 1.5])).unwrap();
        insta::assert_snapshot!(text, @r"
        - A hop between threads takes 2.00 µs [1.97, 2.03], the I/O alone
          2.98 µs [2.81, 3.25]: the I/O alone takes 995 ns [804, 1218] longer.
        ");
    }

    #[test]
    fn the_time_of_a_hop_is_told_by_where_it_goes() {
        let apart = Sample { cross_cpu_share: 0.97, ..Sample::hop(22_000.0) };
        let runs = [sample::case("threads", [1700.0; 5]), sample::samples("tasks", [apart; 5])];
        insta::assert_snapshot!(say(ATTRIBUTION, &runs.concat()).unwrap(), @r"
        - Where the time of a hop goes: on one CPU 340 ns in user space, 850 ns in the
          kernel, 510 ns [510, 510] waiting, 0 % of hops cross CPUs; placed freely
          4.40 µs in user space, 11.0 µs in the kernel, 6.60 µs [6.60, 6.60] waiting,
          97 % of hops cross CPUs.
        ");
    }

    #[test]
    fn waiting_around_or_below_zero_is_not_shown_as_waiting() {
        let busy = |by: f64| Sample { system_ns: by, user_ns: 0.0, ..Sample::hop(1000.0) };
        let around = [990.0, 1010.0, 1000.0, 1005.0, 995.0].map(busy);
        let below = [1500.0, 1510.0, 1490.0, 1500.0, 1500.0].map(busy);
        let runs = [sample::samples("threads", around), sample::samples("tasks", below)];
        insta::assert_snapshot!(say(ATTRIBUTION, &runs.concat()).unwrap(), @r"
        - Where the time of a hop goes: on one CPU 0.00 ns in user space, 1.00 µs in the
          kernel, waiting not resolvable in 5 rounds, 0 % of hops cross CPUs; placed
          freely 0.00 ns in user space, 1.50 µs in the kernel, CPU time exceeds wall
          time by 500 ns (tasks overlapped), 0 % of hops cross CPUs.
        ");
    }

    #[test]
    fn a_misspelt_key_is_refused() {
        let finding = COMPARISON.replace("name", "nmae");
        assert!(toml::from_str::<Finding>(&finding).is_err());
    }
}
