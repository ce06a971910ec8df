//! What makes one case take longer than another, where its records tell: the
//! time in which nobody ran, and the hops that cross CPUs.

use harness::statistics::{Estimate, differences};

use crate::judge::report::attribution::Attribution;
use crate::judge::report::quantity::{estimated_duration, percent};

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
    use crate::judge::report::estimate::estimate;
    use crate::store::sample::{self, Sample};
    use harness::paragraph::NO_BREAK_SPACE;

    /// What explains a difference of 10 µs, when the longer case waits for so
    /// long in each round, in µs, and this share of its hops crosses CPUs.
    fn of(waiting_us: [f64; 6], cross_cpu_share: f64) -> Option<String> {
        let attribution = |samples: [Sample; 6]| {
            estimate(&sample::samples("ring", samples)).remove(0).attribution.unwrap()
        };
        let busy = Sample { user_ns: 1000.0, system_ns: 1000.0, ..Sample::hop(2000.0) };
        let longer = waiting_us.map(|waiting| Sample {
            wall_ns: 2000.0 + 1000.0 * waiting,
            cross_cpu_share,
            ..busy
        });
        let difference = Estimate::of(&[10_000.0; 6]).unwrap();
        explanation(&attribution(longer), &attribution([busy; 6]), &difference)
            .map(|said| said.replace(NO_BREAK_SPACE, " "))
    }

    #[test]
    fn waiting_and_crossings_are_told_where_they_matter() {
        let both = " 4.00 µs [4.00, 4.00] of the difference is waiting; 97 % of the \
                    hops cross CPUs, against 0 %.";
        assert_eq!(of([4.0; 6], 0.97).as_deref(), Some(both));
        let waiting = " 4.00 µs [4.00, 4.00] of the difference is waiting.";
        assert_eq!(of([4.0; 6], 0.09).as_deref(), Some(waiting));
        let crossings = " 50 % of the hops cross CPUs, against 0 %.";
        assert_eq!(of([0.9; 6], 0.5).as_deref(), Some(crossings));
    }

    #[test]
    fn what_has_no_part_in_it_is_not_told() {
        assert_eq!(of([0.9; 6], 0.09), None);
        assert_eq!(of([-4.0; 6], 0.0), None);
        // Half of the difference by its median, and none of it by its interval.
        assert_eq!(of([-1.0, -1.0, 5.0, 5.0, 6.0, 7.0], 0.0), None);
    }
}
