//! What makes one case take longer than another, where its records tell: the
//! time in which nobody ran, and the hops that cross CPUs.

use harness::statistics::{Estimate, differences};

use crate::report::attribution::Attribution;
use crate::report::quantity::{estimated_duration, percent};

/// The least share of a difference that is worth a word.
const LEAST_SHARE: f64 = 0.1;
/// By how much the share of crossing hops has to differ.
const LEAST_CROSSING: f64 = 0.1;

/// Behind the sentence that says that one case takes longer, by `difference_ns`:
/// what part waiting and crossings have in it, if they have one.
#[must_use]
pub fn explanation(
    longer: &Attribution,
    shorter: &Attribution,
    difference_ns: &Estimate,
) -> Option<String> {
    let parts = [waiting(longer, shorter, difference_ns), crossings(longer, shorter)];
    let said: Vec<String> = parts.into_iter().flatten().collect();
    (!said.is_empty()).then(|| format!(" {}.", said.join("; ")))
}

fn waiting(
    longer: &Attribution,
    shorter: &Attribution,
    difference_ns: &Estimate,
) -> Option<String> {
    let by_round = differences(&longer.waiting_by_round, &shorter.waiting_by_round);
    let more_ns = Estimate::cautious(&by_round)?;
    let matters = more_ns.median >= LEAST_SHARE * difference_ns.median;
    (matters && more_ns.excludes(0.0))
        .then(|| format!("{} of the difference is waiting", estimated_duration(&more_ns)))
}

fn crossings(longer: &Attribution, shorter: &Attribution) -> Option<String> {
    let (more, less) = (longer.crossing_share?, shorter.crossing_share?);
    (more - less >= LEAST_CROSSING)
        .then(|| format!("{} of the hops cross CPUs, against {}", percent(more), percent(less)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::estimate::estimate;
    use crate::report::quantity::JOINT;
    use crate::report::sample::{self, Sample};

    /// What explains that hops take 10 µs more than 2 µs, when so much of the
    /// longer ones is waiting and this share of them crosses CPUs.
    fn of(waiting_ns: f64, cross_cpu_share: f64) -> Option<String> {
        let attribution = |factor: f64, like: Sample| {
            let samples = [0.99, 1.0, 1.01, 1.0, 0.99, 1.01]
                .map(|by| Sample { wall_ns: like.wall_ns + 1000.0 * factor * by, ..like });
            estimate(&sample::samples("ring", samples)).remove(0).attribution.unwrap()
        };
        let none = Sample { user_ns: 1000.0, system_ns: 1000.0, ..Sample::hop(2000.0) };
        let shorter = attribution(0.0, none);
        let wall_ns = 2000.0 + waiting_ns;
        let longer = attribution(0.1, Sample { wall_ns, cross_cpu_share, ..none });
        let difference = Estimate::of(&[10_000.0; 6]).unwrap();
        explanation(&longer, &shorter, &difference).map(|said| said.replace(JOINT, " "))
    }

    #[test]
    fn waiting_and_crossings_are_told_where_they_matter() {
        let both = " 4.10 µs [4.10, 4.10] of the difference is waiting; 97 % of the \
                    hops cross CPUs, against 0 %.";
        assert_eq!(of(4000.0, 0.97).as_deref(), Some(both));
        let waiting = " 4.10 µs [4.10, 4.10] of the difference is waiting.";
        assert_eq!(of(4000.0, 0.09).as_deref(), Some(waiting));
        let crossings = " 50 % of the hops cross CPUs, against 0 %.";
        assert_eq!(of(800.0, 0.5).as_deref(), Some(crossings));
    }

    #[test]
    fn what_has_no_part_in_it_is_not_told() {
        assert_eq!(of(800.0, 0.09), None);
        assert_eq!(of(-4000.0, 0.0), None);
    }
}
