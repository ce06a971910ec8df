//! Which pairs of CPUs a run measures: all on a small machine, a sample of each distance on a large
//! one.

use std::collections::BTreeMap;

use harness::record::Distance;

use crate::store::environment::CpuPlace;

/// The most CPUs whose pairs are all measured by default: 496 pairs.
pub const MOST_WITH_ALL: usize = 32;

/// The most pairs of one distance in a sample, unless there are more CPUs.
pub const SAMPLE: usize = 96;

/// The pairs of these CPUs to measure, the lower number first, in the order of the places. Above
/// [`MOST_WITH_ALL`] CPUs it is a sample, unless `all` is set: from the rounds of a round-robin
/// tournament, the first pairs of each distance in which no CPU exceeds its share.
pub fn pairs(places: &[CpuPlace], all: bool) -> Vec<[usize; 2]> {
    let mut chosen: Vec<[usize; 2]> = match all || places.len() <= MOST_WITH_ALL {
        true => tournament(places.len()).collect(),
        false => sample(places),
    };
    chosen.sort_unstable();
    let cpus = |pair: [usize; 2]| {
        let [first, second] = pair.map(|place| places[place].cpu);
        [first.min(second), first.max(second)]
    };
    chosen.into_iter().map(cpus).collect()
}

/// As many pairs of each distance as allowed, by the indices of their places.
fn sample(places: &[CpuPlace]) -> Vec<[usize; 2]> {
    let most = SAMPLE.max(places.len());
    let share = (2 * most).div_ceil(places.len());
    let mut taken: BTreeMap<Option<Distance>, (usize, Vec<usize>)> = BTreeMap::new();
    let has_room = |[first, second]: &[usize; 2]| {
        let distance = places[*first].distance(&places[*second]);
        let (count, of_cpu) = taken.entry(distance).or_insert((0, vec![0; places.len()]));
        let has_room = *count < most && of_cpu[*first].max(of_cpu[*second]) < share;
        if has_room {
            *count += 1;
            of_cpu[*first] += 1;
            of_cpu[*second] += 1;
        }
        has_room
    };
    tournament(places.len()).filter(has_room).collect()
}

/// The pairs of a round-robin tournament, round by round, by the circle method: one player stays
/// and the others rotate. With an odd number one rests in each round.
fn tournament(players: usize) -> impl Iterator<Item = [usize; 2]> {
    let seats = players + players % 2;
    let circle = seats.saturating_sub(1);
    (0..circle).flat_map(move |round| {
        let across = move |step: usize| match step {
            0 => [round, circle],
            step => [(round + step) % circle, (round + circle - step) % circle],
        };
        let both = (0..seats / 2).map(across).map(|[a, b]| [a.min(b), a.max(b)]);
        both.filter(move |[_, second]| *second < players)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::store::fixtures::{sixty_four_cpus, topology};

    fn places(count: usize) -> Vec<CpuPlace> {
        let place = |cpu| CpuPlace { cpu, node: Some(0), cache: Some(0), core: Some(cpu) };
        (0..count).map(place).collect()
    }

    #[test]
    fn few_cpus_have_all_their_pairs() {
        assert_eq!(pairs(&[], false), [[0; 2]; 0]);
        assert_eq!(pairs(&places(1), false), [[0; 2]; 0]);
        assert_eq!(pairs(&places(2), false), [[0, 1]]);
        assert_eq!(pairs(&places(3), false), [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(pairs(&places(4), false), [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
        assert_eq!(pairs(&places(32), false).len(), 496);
        assert_eq!(pairs(&places(33), true).len(), 528);
    }

    #[test]
    fn in_a_tournament_everybody_meets_everybody_once() {
        // By hand: 3 stays, and 0, 1 and 2 rotate.
        let four: Vec<[usize; 2]> = tournament(4).collect();
        assert_eq!(four, [[0, 3], [1, 2], [1, 3], [0, 2], [2, 3], [0, 1]]);
        for players in 0..20 {
            let all: Vec<[usize; 2]> = tournament(players).collect();
            let once: BTreeSet<_> = all.iter().collect();
            assert_eq!(
                (all.len(), once.len()),
                (players * players.saturating_sub(1) / 2, all.len())
            );
        }
    }

    #[test]
    fn the_order_is_that_of_the_places_and_a_pair_names_the_lower_cpu_first() {
        let mut places = places(3);
        places.reverse();
        assert_eq!(pairs(&places, false), [[1, 2], [0, 2], [0, 1]]);
    }

    #[test]
    fn of_64_cpus_each_distance_has_a_sample_in_which_every_cpu_occurs() {
        let places = sixty_four_cpus().places();
        let sample = pairs(&places, false);
        let place = |cpu: usize| places.iter().find(|place| place.cpu == cpu).unwrap();
        // 32 cores of two threads; 4 caches of 16 CPUs, less the siblings; two nodes.
        for (distance, there_are) in [
            (Distance::SmtSibling, 32),
            (Distance::SharedCache, 4 * (120 - 8)),
            (Distance::SameNode, 2 * 256),
            (Distance::OtherNode, 1024),
        ] {
            let of: Vec<_> = sample
                .iter()
                .filter(|[a, b]| place(*a).distance(place(*b)) == Some(distance))
                .collect();
            assert!(
                (SAMPLE.min(there_are) - 6..=SAMPLE).contains(&of.len()),
                "{distance:?}: {}",
                of.len()
            );
            let mut counts = [0; 64];
            of.iter().copied().flatten().for_each(|cpu| counts[*cpu] += 1);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(*least >= 1 && *most <= 3, "{distance:?}: {counts:?}");
        }
        assert_eq!(pairs(&places, true).len(), 64 * 63 / 2);
    }

    #[test]
    fn cpus_without_a_known_topology_have_a_sample_too() {
        assert_eq!(pairs(&topology("0-63", "", "", "").places(), false).len(), SAMPLE);
    }
}
