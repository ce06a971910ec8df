//! Student's t distribution, as far as tests need it.

/// Steps of the continued fraction at most; some dozens are usual.
const MOST_STEPS: usize = 500;

/// What stands for a zero that would be divided by.
const TINY: f64 = 1e-300;

/// The probability that a value of Student's t distribution with `freedom` degrees of
/// freedom, which are above 0, lies `t` or further from 0, on either side.
///
/// It is the regularized incomplete beta function Iₓ(ν/2, ½) at x = ν / (ν + t²)
/// (Abramowitz and Stegun, *Handbook of Mathematical Functions* (1964), 26.7.1),
/// by its continued fraction (26.5.8).
pub fn student_tails(t: f64, freedom: f64) -> f64 {
    let (a, b) = (freedom / 2.0, 0.5);
    let x = freedom / (freedom + t * t);
    if x >= 1.0 {
        return 1.0;
    }
    let log_front = a * x.ln() + b * (-x).ln_1p() + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
    let front = log_front.exp();
    // The fraction converges fast on one side of the mean, and the function is
    // symmetric.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, from its head on by the
/// method of Lentz (1976).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut numerator = 1.0;
    let mut denominator = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = denominator;
    for step in 1..MOST_STEPS {
        let m = step as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for term in [even, odd] {
            denominator = 1.0 / not_zero(1.0 + term * denominator);
            numerator = not_zero(1.0 + term / numerator);
            value *= denominator * numerator;
        }
        if (value / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function of a number above 0: Stirling's series
/// (Abramowitz and Stegun 6.1.41), from where four of its terms are exact enough.
pub(super) fn log_gamma(x: f64) -> f64 {
    let mut below = 0.0;
    let mut x = x;
    while x < 15.0 {
        below += x.ln();
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square)
        / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(actual: f64, expected: f64) {
        assert!((actual / expected - 1.0).abs() < 1e-9, "{actual}, not {expected}");
    }

    // (n − 1)!, and Γ(½) = √π.
    #[test]
    fn gamma_is_the_factorial() {
        check(log_gamma(5.0), 24_f64.ln());
        check(log_gamma(0.5), std::f64::consts::PI.sqrt().ln());
        check(log_gamma(21.0), 2_432_902_008_176_640_000_f64.ln());
    }

    // With one degree the tails are 1 − 2 atan(t) / π; with two 1 − t / √(2 + t²).
    #[test]
    fn one_and_two_degrees_have_tails_in_closed_form() {
        for t in [0.1, 1.0, 3.0, 50.0] {
            check(student_tails(t, 1.0), 2.0 * (1.0 / t).atan() / std::f64::consts::PI);
            let root = (2.0 + t * t).sqrt();
            check(student_tails(t, 2.0), 2.0 / (root * (root + t)));
            check(student_tails(-t, 2.0), student_tails(t, 2.0));
        }
        check(student_tails(0.0, 7.0), 1.0);
    }

    // As every table has them, to the digits of tables.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (t, freedom, tails) in
            [(2.571, 5.0, 0.05), (4.032, 5.0, 0.01), (2.086, 20.0, 0.05), (1.962, 1000.0, 0.05)]
        {
            let actual = student_tails(t, freedom);
            assert!((actual / tails - 1.0).abs() < 2e-3, "{t} {freedom}: {actual}, not {tails}");
        }
    }

    // Of a normal value, beyond 6.109 lies 1e-9 on both sides.
    #[test]
    fn far_tails_are_neither_zero_nor_negative() {
        let tails = student_tails(6.109, 1e7);
        assert!((tails / 1e-9 - 1.0).abs() < 0.01, "{tails}");
        assert!(student_tails(1e3, 800.0) >= 0.0);
    }
}
