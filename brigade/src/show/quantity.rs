//! Figures for readers: three significant digits, in a unit that needs at most
//! three before the decimal point.

use crate::judge::report::ScreenBlock;
use crate::judge::row::{ProcessOutcome, Quantity, Row};
use crate::judge::statistics::{Estimate, Interval};

pub use super::page::{ABSENT, NO_BREAK_SPACE};

/// A unit of time or memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// The unit's symbol, at most three columns wide.
    pub symbol: &'static str,
    size: f64,
}

impl Unit {
    /// The unit in which a value, of either sign, has at most three digits before the decimal point
    /// (bytes: is below 1024), or else the largest.
    pub fn fitting(value: f64, quantity: Quantity) -> Self {
        let (step, symbols): (f64, &[_]) = match quantity {
            Quantity::Nanoseconds => (1000.0, &["ns", "µs", "ms", "s"]),
            Quantity::Bytes => (1024.0, &["B", "KiB", "MiB", "GiB"]),
            Quantity::Ratio => (1.0, &[""]),
        };
        let size = |at: usize| step.powi(at as i32);
        let fits = |at: &usize| (value / size(*at)).abs() < step - 0.5;
        let at = (0..symbols.len()).find(fits).unwrap_or(symbols.len() - 1);
        Self { symbol: symbols[at], size: size(at) }
    }

    /// How many of this unit a value is.
    pub fn amount(self, value: f64) -> f64 {
        value / self.size
    }

    /// `value` in this unit with two significant digits, without its symbol.
    pub fn show_roughly(self, value: f64) -> String {
        two_digits(value / self.size)
    }

    /// `value` in this unit, without its symbol.
    pub fn show(self, value: f64) -> String {
        three_digits(value / self.size)
    }
}

/// A value with its unit, such as `1.79 µs` or `9.72 KiB`.
pub fn shown(value: f64, quantity: Quantity) -> String {
    match Unit::fitting(value, quantity) {
        Unit { symbol: "", .. } => factor(value),
        unit => format!("{}{NO_BREAK_SPACE}{}", unit.show(value), unit.symbol),
    }
}

/// `ns` nanoseconds with a unit, such as `1.79 µs`.
pub fn duration(ns: f64) -> String {
    shown(ns, Quantity::Nanoseconds)
}

/// A fact that is a number of nanoseconds, such as `5 ms`; as it is, if it is none.
pub fn duration_of_fact(fact: &str) -> String {
    match fact.parse::<f64>() {
        Ok(ns) if ns >= 1e6 => format!("{} ms", ns / 1e6),
        Ok(ns) => format!("{} µs", ns / 1e3),
        Err(_) => fact.to_owned(),
    }
}

/// `value` with three significant digits, without trailing zeros.
pub fn brief(value: f64) -> String {
    let digits = three_digits(value);
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        digits
    }
}

/// An estimate with its interval in the same unit, such as `1.79 µs [1.77, 1.81]`.
pub fn estimate(estimate: &Estimate, quantity: Quantity) -> String {
    let unit = Unit::fitting(estimate.value, quantity);
    match quantity {
        Quantity::Ratio => with_ends(&times(estimate.value), estimate, precise_factor),
        _ => with_ends(&shown(estimate.value, quantity), estimate, |end| unit.show(end)),
    }
}

/// A figure with its interval.
pub fn with_ends(figure: &str, estimate: &Estimate, show: impl Fn(f64) -> String) -> String {
    format!("{figure}{NO_BREAK_SPACE}{}", ends(estimate, show))
}

/// The interval of an estimate, such as `[0.93, 1.12]`.
pub fn ends(estimate: &Estimate, show: impl Fn(f64) -> String) -> String {
    let ends = estimate.interval.map_or(ABSENT.to_owned(), |ends| {
        format!("{},{NO_BREAK_SPACE}{}", show(ends.low), show(ends.high))
    });
    format!("[{ends}]")
}

/// A share of 0 to 1 as a whole percentage, such as `40 %`.
pub fn percent(share: f64) -> String {
    // Adding 0 turns a rounded -0 into 0.
    format!("{:.0}{NO_BREAK_SPACE}%", (share * 100.0).round() + 0.0)
}

/// A share of 0 to 1 as a percentage, with a decimal below a tenth, such as `1.4 %`.
pub fn small_share(share: f64) -> String {
    match share * 100.0 {
        value if value >= 9.95 => percent(share),
        value if value < 0.05 => format!("less than 0.1{NO_BREAK_SPACE}%"),
        value => format!("{value:.1}{NO_BREAK_SPACE}%"),
    }
}

/// `value` with three significant digits and at most two decimals.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        0.0..0.005 => if value > 0.0 { "<0.01" } else { "0" }.to_owned(),
        0.005..9.995 => format!("{value:.2}"),
        9.995..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// `value` with two significant digits and at most two decimals.
fn two_digits(value: f64) -> String {
    match value.abs() {
        0.0..0.995 => three_digits(value),
        0.995..9.95 => format!("{value:.1}"),
        9.95..99.5 => format!("{value:.0}"),
        size => {
            let unit = if size < 995.0 { 10.0 } else { 100.0 };
            format!("{:.0}", (value / unit).round() * unit)
        }
    }
}

/// A ratio with two significant digits, three from 100 on and near 1, where they are as fine above it
/// as below; down to a thousandth.
pub fn factor(ratio: f64) -> String {
    match ratio {
        99_950.0.. => ">99999".to_owned(),
        999.5.. => {
            let unit = if ratio < 9995.0 { 10.0 } else { 100.0 };
            format!("{:.0}", (ratio / unit).round() * unit)
        }
        9.95.. => format!("{ratio:.0}"),
        1.095..9.95 => format!("{ratio:.1}"),
        0.0995..1.095 => format!("{ratio:.2}"),
        0.00995..0.0995 => format!("{ratio:.3}"),
        0.00095..0.00995 => format!("{ratio:.4}"),
        _ => "<0.001".to_owned(),
    }
}

/// A ratio with enough digits to see whether it is 1, such as `0.997`.
fn precise_factor(ratio: f64) -> String {
    match factor(ratio) {
        one if one == "1.00" && (ratio - 1.0).abs() >= 5e-4 => format!("{ratio:.3}"),
        other => other,
    }
}

/// A row's factor on the first screen; `None` without a figure.
pub fn factor_of(row: &Row, block: &ScreenBlock) -> Option<String> {
    if row.case == block.reference {
        return Some("1".to_owned());
    }
    row.factor.map(|ratio| factor(ratio.value))
}

/// A row's factor to the cheapest of its group, which has 1; `None` without a figure.
pub fn factor_in_group(row: &Row) -> Option<String> {
    let ratio = row.factor?;
    // The cheapest over itself.
    let is_cheapest = ratio.value == 1.0 && ratio.interval.is_none_or(|ends| ends.low == ends.high);
    Some(if is_cheapest { "1".to_owned() } else { factor(ratio.value) })
}

/// A ratio in a sentence, such as `2.5 times` or `the same`.
pub fn times(ratio: f64) -> String {
    match precise_factor(ratio).as_str() {
        "1.00" => "the same".to_owned(),
        digits => format!("{digits} times"),
    }
}

/// A ratio with its interval, such as `1.8 [1.2, 2.3] times`.
pub fn times_with_ends(ratio: &Estimate) -> String {
    format!("{} times", with_ends(&factor(ratio.value), ratio, factor))
}

/// A range in one unit, such as `5.25–6.06 ns`, or in two if it spans several powers of ten, such as
/// `5.3ns–1.2µs`.
pub fn range(ends: Interval, quantity: Quantity) -> String {
    let unit = Unit::fitting(ends.high, quantity);
    if ends.low.abs() < 0.1 * unit.size && Unit::fitting(ends.low, quantity) != unit {
        let ends = [ends.low, ends.high].map(|end| brief_ticks(end, quantity));
        return ends.join("–").replace(NO_BREAK_SPACE, "");
    }
    format!("{}–{}{NO_BREAK_SPACE}{}", unit.show(ends.low), unit.show(ends.high), unit.symbol)
}

/// The end of an axis with two significant digits, such as `20 µs`.
pub fn brief_ticks(value: f64, quantity: Quantity) -> String {
    let Unit { symbol, size } = Unit::fitting(value, quantity);
    let shown = value / size;
    let digits = if shown < 9.95 { format!("{shown:.1}") } else { format!("{shown:.0}") };
    let digits = digits.strip_suffix(".0").unwrap_or(&digits);
    format!("{digits}{NO_BREAK_SPACE}{symbol}")
}

/// A figure without its interval.
pub fn figure(row: &Row) -> String {
    row.figure.map_or(ABSENT.to_owned(), |figure| shown(figure.value, row.unit))
}

/// How many processes are behind a row's figure, such as `1 of 12`, if others ended, too, and are
/// not used.
pub fn used_of_ended(row: &Row) -> Option<String> {
    let used = row.count(ProcessOutcome::Used);
    let ended = row.ended();
    (used < ended).then(|| format!("{used} of {ended}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(show: impl Fn(f64) -> String, pairs: &[(f64, &str)]) {
        for (value, expected) in pairs {
            assert_eq!(show(*value).replace(NO_BREAK_SPACE, " "), *expected, "{value}");
        }
    }

    #[test]
    fn a_duration_is_shown_in_the_unit_that_keeps_it_below_a_thousand() {
        let pairs = [
            (0.3, "0.30 ns"),
            (0.001, "<0.01 ns"),
            (0.0, "0 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (-2_500.0, "-2.50 µs"),
            (4.567e7, "45.7 ms"),
            (9.999e11, "1000 s"),
        ];
        check(duration, &pairs);
    }

    /// Whether an interval contains 1 is seen as printed.
    #[test]
    fn ratios_keep_what_excludes_one() {
        for (value, low, high, expected) in [
            (0.99, 0.976, 1.030, "0.99 times [0.98, 1.03]"),
            (1.0012, 1.0006, 1.004, "1.001 times [1.001, 1.004]"),
            (0.996, 0.9913, 0.9991, "0.996 times [0.99, 0.999]"),
            (1.0, 0.9997, 1.0003, "the same [1.00, 1.00]"),
            (3.26, 1.004, 5.0, "3.3 times [1.004, 5.0]"),
        ] {
            let interval = Some(Interval { low, high });
            let ratio = Estimate { value, interval, count: 9 };
            let text = estimate(&ratio, Quantity::Ratio).replace(NO_BREAK_SPACE, " ");
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn a_factor_has_two_digits_and_three_from_a_hundred_on() {
        let pairs = [
            (29.4, "29"),
            (468.2, "468"),
            (1.26, "1.3"),
            (0.64, "0.64"),
            (0.976, "0.98"),
            (1.03, "1.03"),
            (1.094, "1.09"),
            (1.096, "1.1"),
            (0.056, "0.056"),
            (0.04, "0.040"),
            (0.00512, "0.0051"),
            (0.001, "0.0010"),
            (0.0, "<0.001"),
            (12_345.0, "12300"),
            (1e9, ">99999"),
        ];
        check(factor, &pairs);
        let ends = Interval { low: 5.25, high: 1206.0 };
        assert_eq!(range(ends, Quantity::Nanoseconds).replace(NO_BREAK_SPACE, " "), "5.2ns–1.2µs");
        let ends = Interval { low: 525.0, high: 1206.0 };
        assert_eq!(range(ends, Quantity::Nanoseconds).replace(NO_BREAK_SPACE, " "), "0.53–1.21 µs");
        let rough = [(0.0, "0"), (0.314, "0.31"), (1.04, "1.0"), (17.6, "18"), (176.0, "180")];
        check(two_digits, &rough);
        check(two_digits, &[(996.0, "1000"), (994.0, "990"), (99.4, "99"), (9.96, "10")]);
        check(times, &[(1.0004, "the same"), (0.9996, "the same"), (2.52, "2.5 times")]);
    }
}
