//! Claims about context switches, held against the kernel's counts.

use harness::record::Switches;

use crate::manifest::Placement;

/// How far the kernel's counts of switches per operation may lie from what the
/// program claims, as a share of the claim, or of 1 where the claim is less: a
/// run this short is not all steady state.
pub const SWITCHES_TOLERANCE: f64 = 0.1;

/// Verifies the claim about switches where the kernel's counts can decide it:
/// on one CPU every hand-over is a switch, and a claim of none holds
/// everywhere; elsewhere a wake-up may find its thread still awake.
///
/// Switches of both kinds together must not be fewer than claimed, and threads
/// must not have blocked more often, unless the case says so. How often the
/// scheduler preempts them on top of that is its own affair: on some kernels a
/// woken thread preempts the one that woke it at every third hop.
///
/// # Errors
/// What the kernel counted instead.
pub fn verify_switches(
    placement: Placement,
    may_block_more: bool,
    switches: &Switches,
) -> Result<(), String> {
    let Some(expected) = decided_claim(placement, switches) else { return Ok(()) };
    let tolerance = SWITCHES_TOLERANCE * expected.max(1.0);
    let blocked = switches.voluntary_per_operation;
    let all = blocked + switches.involuntary_per_operation;
    if all < expected - tolerance {
        return Err(format!("the kernel counted {all:.3} switches per operation, not {expected}"));
    }
    if blocked > expected + tolerance && !may_block_more {
        return Err(format!(
            "its threads blocked {blocked:.3} times per operation, not {expected}"
        ));
    }
    Ok(())
}

/// The claim of switches per operation, where the kernel's counts can decide it.
pub fn decided_claim(placement: Placement, switches: &Switches) -> Option<f64> {
    let can_be = |claim: &f64| placement == Placement::SameCpu || *claim == 0.0;
    switches.expected_per_operation.filter(can_be)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Placement::{Free, SameCpu, Spread};

    #[test]
    fn threads_must_switch_and_block_as_often_as_claimed_where_the_kernel_can_tell() {
        for (placement, may_block_more, voluntary, involuntary, expected, is_ok) in [
            (SameCpu, false, 1.0, 0.0, Some(1.0), true),
            (SameCpu, false, 0.5, 0.45, Some(1.0), true),
            (SameCpu, false, 0.5, 0.35, Some(1.0), false),
            (SameCpu, false, 1.85, 0.0, Some(2.0), true),
            (SameCpu, false, 1.05, 0.0, Some(1.0), true),
            (SameCpu, false, 1.15, 0.0, Some(1.0), false),
            // Preempted on top of blocking.
            (SameCpu, false, 1.0, 0.35, Some(1.0), true),
            (SameCpu, true, 1.7, 0.0, Some(1.0), true),
            (SameCpu, true, 0.5, 0.35, Some(1.0), false),
            (SameCpu, false, 0.2, 0.0, None, true),
            (Free, false, 0.05, 0.0, Some(0.0), true),
            (Free, false, 0.2, 0.0, Some(0.0), false),
            (Spread, false, 0.2, 0.0, Some(1.0), true),
        ] {
            let counted = Switches {
                voluntary_per_operation: voluntary,
                involuntary_per_operation: involuntary,
                expected_per_operation: expected,
                migrations: None,
                cross_cpu_share: None,
            };
            let result = verify_switches(placement, may_block_more, &counted);
            assert_eq!(result.is_ok(), is_ok, "{placement:?} {counted:?}: {result:?}");
        }
    }
}
