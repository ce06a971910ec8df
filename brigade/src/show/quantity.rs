//! Figures for readers: three significant digits, in a unit that needs at most
//! three before the decimal point.

use crate::judge::row::{Quantity, Row};
use crate::judge::statistics::{Estimate, Interval};

pub use super::page::{ABSENT, NO_BREAK_SPACE};

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// The unit's symbol, one or two columns wide.
    pub symbol: &'static str,
    ns: f64,
}

impl Unit {
    const ALL: [Self; 4] = [
        Self { symbol: "ns", ns: 1.0 },
        Self { symbol: "µs", ns: 1e3 },
        Self { symbol: "ms", ns: 1e6 },
        Self { symbol: "s", ns: 1e9 },
    ];

    /// The unit in which `ns` nanoseconds, of either sign, show as less than
    /// 1000; at most seconds.
    pub fn of(ns: f64) -> Self {
        let [.., seconds] = Self::ALL;
        let fits = |unit: &Self| (ns / unit.ns).abs() < 999.5;
        Self::ALL.into_iter().find(fits).unwrap_or(seconds)
    }

    /// `ns` nanoseconds in this unit, without its symbol.
    pub fn show(self, ns: f64) -> String {
        three_digits(ns / self.ns)
    }
}

/// `ns` nanoseconds with a unit, such as `1.79 µs`.
pub fn duration(ns: f64) -> String {
    let unit = Unit::of(ns);
    format!("{}{NO_BREAK_SPACE}{}", unit.show(ns), unit.symbol)
}

/// `value` with three significant digits, without trailing zeros.
pub fn brief(value: f64) -> String {
    let digits = three_digits(value);
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits,
    }
}

/// An estimated duration in nanoseconds with its interval in the same unit,
/// such as `1.79 µs [1.77, 1.81]`.
pub fn estimated_duration(ns: &Estimate) -> String {
    let unit = Unit::of(ns.value);
    format!("{}{NO_BREAK_SPACE}{}", duration(ns.value), interval(ns, |ns| unit.show(ns)))
}

/// An estimated number of bytes with its interval, such as
/// `9.72 KiB [9.70, 9.75]`.
pub fn estimated_bytes(bytes: &Estimate) -> String {
    let (symbol, unit) = unit_of_bytes(bytes.value);
    let show = |bytes: f64| three_digits(bytes / unit);
    let shown = interval(bytes, show);
    format!("{}{NO_BREAK_SPACE}{symbol}{NO_BREAK_SPACE}{shown}", show(bytes.value))
}

/// A number of bytes, such as `9.72 KiB`.
pub fn bytes(bytes: f64) -> String {
    let (symbol, unit) = unit_of_bytes(bytes);
    format!("{}{NO_BREAK_SPACE}{symbol}", three_digits(bytes / unit))
}

fn unit_of_bytes(bytes: f64) -> (&'static str, f64) {
    match bytes.abs() {
        0.0..1023.5 => ("B", 1.0),
        1023.5..1_048_064.0 => ("KiB", 1024.0),
        1_048_064.0..1_073_217_536.0 => ("MiB", 1_048_576.0),
        _ => ("GiB", 1_073_741_824.0),
    }
}

/// An interval with each end shown likewise, such as `[1.77, 1.81]`.
pub fn interval(estimate: &Estimate, show: impl Fn(f64) -> String) -> String {
    match estimate.interval {
        Some(interval) => {
            format!("[{},{NO_BREAK_SPACE}{}]", show(interval.low), show(interval.high))
        }
        None => format!("[{ABSENT}]"),
    }
}

/// A share of 0 to 1 as a whole percentage, such as `40 %`.
pub fn percent(share: f64) -> String {
    // Adding 0 turns a rounded -0 into 0.
    format!("{:.0}{NO_BREAK_SPACE}%", (share * 100.0).round() + 0.0)
}

/// A share likewise, with a decimal below a tenth, such as `1.4 %`.
pub fn small_share(share: f64) -> String {
    match share * 100.0 {
        of if of >= 9.95 => percent(share),
        of if of < 0.05 => format!("less than 0.1{NO_BREAK_SPACE}%"),
        of => format!("{of:.1}{NO_BREAK_SPACE}%"),
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

/// A ratio with two significant digits, three from 100 on; below a tenth such as `1/25`.
pub fn factor(ratio: f64) -> String {
    match ratio {
        99_950.0.. => ">99999".to_owned(),
        999.5.. => {
            let unit = if ratio < 9995.0 { 10.0 } else { 100.0 };
            format!("{:.0}", (ratio / unit).round() * unit)
        }
        9.95.. => format!("{ratio:.0}"),
        0.995..9.95 => format!("{ratio:.1}"),
        0.0995..0.995 => format!("{ratio:.2}"),
        0.0009..0.0995 => format!("1/{:.0}", 1.0 / ratio),
        _ => "<1/1000".to_owned(),
    }
}

/// A ratio in a sentence, such as `2.5 times` or `the same`.
pub fn times(ratio: f64) -> String {
    match factor(ratio).as_str() {
        "1.0" | "1.00" => "the same".to_owned(),
        digits => format!("{digits} times"),
    }
}

/// A range in one unit, such as `5.25–6.06 ns`, or in two if it spans several powers of ten, such as
/// `5.3ns–1.2µs`.
pub fn range(of: Interval, quantity: Quantity) -> String {
    let (symbol, unit) = unit_of(of.high, quantity);
    if of.low.abs() < 0.1 * unit && unit_of(of.low, quantity).1 < unit {
        let ends = [of.low, of.high].map(|end| brief_ticks(end, quantity));
        return ends.join("–").replace(NO_BREAK_SPACE, "");
    }
    let [low, high] = [of.low, of.high].map(|end| three_digits(end / unit));
    format!("{low}–{high}{NO_BREAK_SPACE}{symbol}")
}

/// The unit in which a value has at most three digits before the decimal point.
fn unit_of(value: f64, quantity: Quantity) -> (&'static str, f64) {
    match quantity {
        Quantity::Bytes => unit_of_bytes(value),
        Quantity::Nanoseconds => {
            let unit = Unit::of(value);
            (unit.symbol, unit.ns)
        }
        Quantity::Ratio => ("", 1.0),
    }
}

/// The end of an axis with two significant digits, such as `20 µs`.
pub fn brief_ticks(value: f64, quantity: Quantity) -> String {
    let (symbol, unit) = unit_of(value, quantity);
    let shown = value / unit;
    let digits = if shown < 9.95 { format!("{shown:.1}") } else { format!("{shown:.0}") };
    let digits = digits.strip_suffix(".0").unwrap_or(&digits);
    format!("{digits}{NO_BREAK_SPACE}{symbol}")
}

/// A figure without its interval.
pub fn figure(row: &Row) -> String {
    row.figure.map_or(ABSENT.to_owned(), |of| shown(of.value, row.unit))
}

/// A value in its unit.
pub fn shown(value: f64, unit: Quantity) -> String {
    match unit {
        Quantity::Bytes => bytes(value),
        Quantity::Nanoseconds => duration(value),
        Quantity::Ratio => factor(value),
    }
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

    #[test]
    fn a_factor_has_two_digits_and_three_from_a_hundred_on() {
        let pairs = [
            (29.4, "29"),
            (468.2, "468"),
            (1.26, "1.3"),
            (0.64, "0.64"),
            (0.04, "1/25"),
            (0.001, "1/1000"),
            (0.0, "<1/1000"),
            (12_345.0, "12300"),
            (1e9, ">99999"),
        ];
        check(factor, &pairs);
        let ends = Interval { low: 5.25, high: 1206.0 };
        assert_eq!(range(ends, Quantity::Nanoseconds).replace(NO_BREAK_SPACE, " "), "5.2ns–1.2µs");
        let ends = Interval { low: 525.0, high: 1206.0 };
        assert_eq!(range(ends, Quantity::Nanoseconds).replace(NO_BREAK_SPACE, " "), "0.53–1.21 µs");
        check(times, &[(1.02, "the same"), (0.999, "the same"), (2.52, "2.5 times")]);
    }
}
