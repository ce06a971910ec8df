//! Lines in which a coroutine misbehaves.

use super::*;

/// The error of a brigade of 20 tasks, whose task 7 runs `body`, and the
/// measurements so far.
fn error_of(body: fn(usize)) -> (String, u64) {
    let bench = Bench::standalone(20, 1000, 0, None).expect("affinity");
    let stack = || DefaultStack::new(64 << 10).expect("a stack");
    let mut line: Vec<_> = (0..20).map(|task| relay(bench.station(task), stack())).collect();
    line[7] = Coroutine::with_stack(stack(), move |yielder, mut upstream| {
        for lap in 0.. {
            let Some(token) = upstream else { return };
            if lap == 30 {
                return body(token);
            }
            upstream = yielder.suspend(token + 1);
        }
    });
    let error = named(&mut line, |line| drive(&bench, line)).expect_err("a fault");
    end(&mut line).expect("the others end");
    (format!("{error:#}"), bench.iterations())
}

#[test]
fn a_coroutine_that_misbehaves_is_named_and_the_others_end() {
    for body in [|_| panic!("on purpose"), |_| ()] {
        let (error, laps) = error_of(body);
        assert!(error.starts_with("task 7 ") && laps == 30, "{error} after {laps}");
    }
}
