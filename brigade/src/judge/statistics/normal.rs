//! The normal distribution, as far as intervals need it.

/// How many standard deviations above its mean a normal value lies with
/// probability `tail`, which is above 0 and at most a half.
///
/// Abramowitz and Stegun, *Handbook of Mathematical Functions* (1964), 26.2.23:
/// within 0.00045.
pub fn normal_deviate(tail: f64) -> f64 {
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}

#[cfg(test)]
mod tests {
    use super::*;

    // As every table has them.
    #[test]
    fn deviates_are_those_of_the_tables() {
        for (tail, deviate) in [
            (0.5, 0.0),
            (0.158_655, 1.0),
            (0.025, 1.959_964),
            (0.001, 3.090_232),
            (1e-6, 4.753_424),
        ] {
            let actual = normal_deviate(tail);
            assert!((actual - deviate).abs() < 4.5e-4, "{tail}: {actual}, not {deviate}");
        }
    }
}
