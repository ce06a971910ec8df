use proptest::prelude::*;

use super::*;
use crate::store::fixtures::without_record;
use crate::store::invocation::Outcome;
use crate::store::results::Procedure;

/// A run of cases `0`, `1` and so on.
fn run(cases: usize, rounds: u32, seconds: Option<f64>, partners: &[[usize; 2]]) -> RunDescription {
    let name = |case: &usize| case.to_string();
    let partners = partners.iter().map(|pair| pair.map(|case| name(&case))).collect();
    RunDescription {
        schema_version: String::new(),
        brigade_version: String::new(),
        started_at: String::new(),
        profile: String::new(),
        rounds,
        seed: 7,
        cases: (0..cases).map(|case| name(&case)).collect(),
        details: Vec::new(),
        skipped: Vec::new(),
        procedure: Some(Procedure { seconds, partners, ..Procedure::default() }),
        side: None,
    }
}

/// The invocation of a turn: it begins so many seconds after midnight and lasts one.
fn invocation(turn: Turn, at: usize) -> Invocation {
    let (minutes, seconds) = (at / 60, at % 60);
    Invocation {
        attempt: turn.attempt,
        duration_ns: 1_000_000_000,
        started_at: format!("2026-01-01T00:{minutes:02}:{seconds:02}Z"),
        ..without_record(&turn.case.to_string(), turn.round, Outcome::Measured)
    }
}

/// Takes at most `most` turns, one every `every` seconds.
fn take(schedule: &mut Schedule, most: usize, every: usize) -> Vec<(Turn, Invocation)> {
    let mut taken = Vec::new();
    while taken.len() < most
        && let Some(turn) = schedule.next_turn()
    {
        let invocation = invocation(turn, every * taken.len());
        schedule.record(turn.case, &invocation);
        taken.push((turn, invocation));
    }
    taken
}

fn turns(run: &RunDescription) -> Vec<Turn> {
    let taken = take(&mut Schedule::of(run, &[]), 10_000, 1);
    taken.into_iter().map(|(turn, _)| turn).collect()
}

proptest! {
    #[test]
    fn every_round_has_every_case_once(cases in 0_usize..20, rounds in 1_u32..9) {
        let turns = turns(&run(cases, rounds, None, &[]));
        prop_assert_eq!(turns.len(), cases * rounds as usize);
        for round in 1..=rounds {
            let of_round = turns.iter().filter(|turn| turn.round == round);
            let mut seen: Vec<usize> = of_round.map(|turn| turn.case).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..cases).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_run_resumes_where_it_stopped(cases in 1_usize..6, stop in 0_usize..40) {
        let run = run(cases, 0, Some(30.0), &[[0, cases - 1]]);
        let whole = turns(&run);
        let before = take(&mut Schedule::of(&run, &[]), stop, 1);
        let records: Vec<Invocation> = before.iter().map(|(_, record)| record.clone()).collect();
        let mut resumed = Schedule::of(&run, &records);
        // It resumes an hour later, which counts as a second at most.
        let after = take(&mut resumed, 100, 1).len();
        prop_assert_eq!((before.len(), before.len() + after), (stop.min(30), whole.len()));
    }
}

#[test]
fn the_seed_decides_and_rounds_differ() {
    let run = run(10, 3, None, &[]);
    let other = RunDescription { seed: 8, ..run.clone() };
    assert_eq!(turns(&run), turns(&run));
    assert_ne!(turns(&run), turns(&other));
    let cases = |round: &[Turn]| round.iter().map(|turn| turn.case).collect::<Vec<_>>();
    let rounds: Vec<_> = turns(&run).chunks(10).map(cases).collect();
    assert_ne!(rounds[0], rounds[1]);
}

/// Also if one round does not fit, or nothing does; pauses count up to a second.
#[test]
fn no_invocation_begins_after_the_time_is_up() {
    for (rounds, seconds, every, count) in [
        (0, Some(25.0), 1, 25),
        (0, Some(25.5), 1, 26),
        (0, Some(3.0), 1, 3),
        (0, Some(0.0), 1, 0),
        (2, Some(25.0), 1, 20),
        (0, Some(25.0), 2, 13),
        (0, Some(25.0), 100, 13),
        (2, Some(f64::NAN), 1, 20),
        (0, Some(f64::INFINITY), 1, 0),
    ] {
        let mut schedule = Schedule::of(&run(10, rounds, seconds, &[]), &[]);
        assert_eq!(take(&mut schedule, 10_000, every).len(), count, "{seconds:?} {every}");
        assert_eq!(schedule.next_turn(), None);
    }
}

#[test]
fn partners_follow_each_other_in_every_round() {
    let turns = turns(&run(12, 20, None, &[[3, 9], [9, 1], [5, 5], [7, 0]]));
    let mut orders = Vec::new();
    for round in turns.chunks(12) {
        let place = |case| round.iter().position(|turn| turn.case == case).unwrap();
        for cases in [vec![1, 3, 9], vec![0, 7]] {
            let places: Vec<usize> = cases.iter().map(|case| place(*case)).collect();
            let (first, last) = (places.iter().min(), places.iter().max());
            assert_eq!(last.unwrap() - first.unwrap(), cases.len() - 1, "{round:?}");
        }
        orders.push(place(0) < place(7));
    }
    assert!(orders.contains(&true) && orders.contains(&false), "one always comes first");
}

#[test]
fn interrupted_invocations_run_again() {
    let mut schedule = Schedule::of(&run(1, 3, None, &[]), &[]);
    for attempt in 1..=5 {
        let turn = Turn { round: 1, case: 0, attempt };
        assert_eq!(schedule.next_turn(), Some(turn));
        schedule.record(0, &Invocation { interrupted: true, ..invocation(turn, 0) });
    }
    assert_eq!(take(&mut schedule, 10_000, 1).len(), 3);
    assert!((schedule.share() - 1.0).abs() < 1e-9);
}

#[test]
fn the_time_left_follows_from_the_bound_or_the_turns_so_far() {
    let left = |rounds, seconds, taken| {
        let mut schedule = Schedule::of(&run(4, rounds, seconds, &[]), &[]);
        take(&mut schedule, taken, 1);
        schedule.time_left().as_secs_f64().round()
    };
    assert_eq!((left(0, Some(60.0), 0), left(0, Some(60.0), 10)), (60.0, 50.0));
    assert_eq!((left(5, None, 0), left(5, None, 10)), (0.0, 10.0));
}

#[test]
fn tasks_that_share_a_cpu_share_each_in_turn() {
    let of = |cpus: &[usize]| [1, 2, 3, 4].map(|round| shared_cpu(round, cpus));
    assert_eq!(of(&[0, 3, 5]), [Some(0), Some(3), Some(5), Some(0)]);
    assert_eq!(of(&[]), [None; 4]);
}

#[test]
fn of_two_rounds_each_side_is_first_in_one() {
    let mut order = Order::new(5, 3);
    let mut first_of_pair = |round| {
        let mut turns = order.turns(round, &[0, 1, 2, 3, 4]);
        turns.sort_by_key(|turn| turn.case);
        turns.iter().map(|turn| turn.sides[0]).collect::<Vec<_>>()
    };
    let mut seen = Vec::new();
    for round in (1..40).step_by(2) {
        let (one, other) = (first_of_pair(round), first_of_pair(round + 1));
        assert!(one.iter().zip(&other).all(|(one, other)| one + other == 1), "{one:?}");
        seen.extend(one);
    }
    let share = seen.iter().sum::<usize>() as f64 / seen.len() as f64;
    assert!((0.3..0.7).contains(&share), "one side comes first in {share}");
}

#[test]
fn a_round_has_every_open_case_once_in_a_new_order() {
    let mut order = Order::new(9, 3);
    let mut cases =
        |round| order.turns(round, &[1, 3, 5, 7, 8]).iter().map(|turn| turn.case).collect();
    let (one, other): (Vec<usize>, Vec<usize>) = (cases(1), cases(2));
    assert_ne!(one, other);
    for mut round in [one, other] {
        round.sort_unstable();
        assert_eq!(round, [1, 3, 5, 7, 8]);
    }
}
