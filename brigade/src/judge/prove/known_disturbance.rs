//! A known disturbance: a thread that takes a tenth of the case's CPU must be
//! noticed in every invocation.

use crate::judge::interference::{Verdict, assess};
use crate::store::invocation::Invocation;

use super::proof::{Figure, trouble};

/// How many invocations are disturbed.
pub const INVOCATIONS: u32 = 5;

/// How long each of them measures, in seconds: the kernel counts others' CPU time
/// in ticks of 10 ms, and two of them are no evidence.
pub const SECONDS: f64 = 0.6;

/// The figures of invocations of `case`, all of them disturbed.
pub fn figures(case: &str, invocations: &[Invocation]) -> Vec<Figure> {
    let what = format!("{case}: flagged beside a thread with 10 % of its CPU");
    let mut figures: Vec<Figure> = invocations.iter().filter_map(trouble).take(1).collect();
    let seen = |invocation: &&Invocation| {
        let record = invocation.record.as_ref();
        record.is_some_and(|record| record.interference.others_cpu_ns.is_some())
    };
    let seen: Vec<&Invocation> = invocations.iter().filter(seen).collect();
    if seen.is_empty() {
        figures.push(Figure::missing(what, "the CPU time of others cannot be read here"));
        return figures;
    }
    let is_flagged = |invocation: &&&Invocation| assess(invocation).verdict != Verdict::Clean;
    let flagged = seen.iter().filter(is_flagged).count();
    let all = format!("all {}", seen.len());
    figures.push(Figure::new(what, flagged as f64, "").must(all, flagged == seen.len()));
    figures
}

#[cfg(test)]
mod tests {
    use super::super::proof::Standing;
    use super::*;
    use crate::store::sample::{self, Sample};

    #[test]
    fn one_that_goes_unnoticed_fails() {
        let by = |others_share| Sample { others_share, ..Sample::hop(1000.0) };
        let standing = |shares: [f64; 2]| {
            figures("x", &sample::samples("x", shares.map(by))).last().unwrap().standing
        };
        assert_eq!(standing([0.1, 0.12]), Standing::Holds);
        assert_eq!(standing([0.1, 0.0]), Standing::Fails);
        assert_eq!(figures("x", &[])[0].standing, Standing::Unjudged);
    }
}
