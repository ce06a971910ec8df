//! Known switches and known crossings: the counts that follow from a case's
//! construction, compared with those of the kernel and of the tracer.

use crate::judge::switches::{SWITCHES_TOLERANCE, decided_claim, verify_switches};
use crate::manifest::{Case, Crossing};
use crate::store::invocation::Invocation;

use super::proof::{Figure, trouble};

/// The least share of hops that must cross where neighbours are on different
/// CPUs, in percent: of an even number of tasks on two CPUs the last one is on the
/// driver's, so one hop does not cross.
const LEAST_CROSSING_PERCENT: f64 = 90.0;

/// The kernel's counts compared with the claim of each case.
pub fn switches(cases: &[(&Case, Invocation)]) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut claims = Claims::default();
    for (case, invocation) in cases {
        figures.extend(trouble(invocation));
        let record = invocation.record.as_ref();
        let Some(switches) = record.and_then(|record| record.switches) else { continue };
        let Some(claimed) = decided_claim(case.placement, &switches) else { continue };
        let blocked = switches.voluntary_per_operation;
        let counted = blocked + switches.involuntary_per_operation;
        if let Err(reason) = verify_switches(case.placement, case.may_block_more, &switches) {
            let what = format!("{}: switches per operation", case.name);
            figures.push(Figure::new(what, counted, "").must(reason, false));
        } else {
            claims.met += 1;
        }
        claims.add(&case.name, claimed, counted, blocked);
    }
    figures.extend(claims.figures());
    figures
}

/// The claims, and the counts that came nearest to breaking one.
#[derive(Default)]
struct Claims<'a> {
    count: usize,
    met: usize,
    /// The fewest switches beyond the claim, below 0 as a rule.
    fewest: Option<(f64, &'a str)>,
    /// The most switches beyond the claim of threads that blocked.
    most: Option<(f64, &'a str)>,
}

impl<'a> Claims<'a> {
    fn add(&mut self, case: &'a str, claimed: f64, counted: f64, blocked: f64) {
        self.count += 1;
        let (under, over) = (counted - claimed, blocked - claimed);
        if self.fewest.is_none_or(|(least, _)| under < least) {
            self.fewest = Some((under, case));
        }
        if self.most.is_none_or(|(most, _)| over > most) {
            self.most = Some((over, case));
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let (Some((fewest, fewest_case)), Some((most, most_case))) = (self.fewest, self.most)
        else {
            return vec![Figure::missing("switches", "no case claims any that can be decided")];
        };
        let extreme = |what: &str, value, case: &str| {
            Figure::new(format!("{what}, {case}"), value, "per operation")
        };
        let all = format!("all {}, within {SWITCHES_TOLERANCE} per operation", self.count);
        vec![
            Figure::new("claims that the kernel's counts confirm", self.met as f64, "")
                .must(all, self.met == self.count),
            extreme("fewest switches beyond the claim", fewest, fewest_case),
            extreme("most threads blocked beyond the claim", most, most_case),
        ]
    }
}

/// The share of hops that crossed, where all must and where none may.
pub fn crossings(pairs: &[Crossing], cases: &[(&Case, Invocation)]) -> Vec<Figure> {
    let of_pair = |pair: &Crossing| {
        let share = |name: &str| -> Option<f64> {
            let (_, invocation) = cases.iter().find(|(case, _)| case.name == name)?;
            let switches = invocation.record.as_ref()?.switches?;
            switches.cross_cpu_share.map(|share| 100.0 * share)
        };
        let figure = |name: &str, must: &str, holds: fn(f64) -> bool| {
            let what = format!("{name}: hops from one CPU to another");
            match share(name) {
                Some(percent) => Figure::new(what, percent, "%").must(must, holds(percent)),
                None => Figure::missing(what, "it cannot run here or does not trace"),
            }
        };
        let most = format!("{LEAST_CROSSING_PERCENT} % or more");
        [
            figure(&pair.same_cpu, "none", |percent| percent == 0.0),
            figure(&pair.spread, &most, |percent| percent >= LEAST_CROSSING_PERCENT),
        ]
    };
    pairs.iter().flat_map(of_pair).collect()
}
