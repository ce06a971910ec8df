//! System calls per hop: a hop through a pipe is one `write` and one `read`, as the
//! kernel counts them.

use super::proof::Figure;

/// By how much the counts per hop may differ from 1. They are exact, but for what
/// a runtime does beside the hops.
const TOLERANCE: f64 = 0.01;

/// What the kernel counted of a process that made so many hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Hops, in all laps.
    pub hops: u64,
    /// Calls that read.
    pub reads: u64,
    /// Calls that write.
    pub writes: u64,
}

/// The figures of a case, from a process with few laps and one with many: what both
/// do besides drops out of the difference.
pub fn figures(case: &str, [few, many]: [Counts; 2]) -> Vec<Figure> {
    let hops = many.hops as f64 - few.hops as f64;
    let of = |what: &str, few: u64, many: u64| {
        let per_hop = (many as f64 - few as f64) / hops;
        Figure::new(format!("{case}: calls that {what}, per hop"), per_hop, "")
            .must("1", (per_hop - 1.0).abs() <= TOLERANCE)
    };
    vec![of("read", few.reads, many.reads), of("write", few.writes, many.writes)]
}

#[cfg(test)]
mod tests {
    use super::super::proof::Standing;
    use super::*;

    fn standings(reads: u64, writes: u64, hops: u64) -> Vec<Standing> {
        let few = Counts { hops: 8_610, reads: 10_181, writes: 9_283 };
        let many =
            Counts { hops: few.hops + hops, reads: few.reads + reads, writes: few.writes + writes };
        figures("x", [few, many]).iter().map(|figure| figure.standing).collect()
    }

    #[test]
    fn a_call_too_many_or_a_hop_that_was_not_made_fails() {
        assert_eq!(standings(42_000, 42_000, 42_000), [Standing::Holds, Standing::Holds]);
        assert_eq!(standings(84_000, 42_000, 42_000), [Standing::Fails, Standing::Holds]);
        assert_eq!(standings(42_000, 42_000, 44_520), [Standing::Fails, Standing::Fails]);
        assert_eq!(standings(0, 0, 0), [Standing::Fails, Standing::Fails]);
    }
}
