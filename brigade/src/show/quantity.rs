//! Figures for readers: three significant digits, in a unit that needs at most
//! three before the decimal point.

use crate::judge::statistics::Estimate;

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

    /// An estimate and its interval in this unit, such as `1.79 [1.77, 1.81]`.
    pub fn estimated(self, ns: &Estimate) -> String {
        format!("{}{NO_BREAK_SPACE}{}", self.show(ns.value), interval(ns, |ns| self.show(ns)))
    }
}

/// `ns` nanoseconds with a unit, such as `1.79 µs`.
pub fn duration(ns: f64) -> String {
    let unit = Unit::of(ns);
    format!("{}{NO_BREAK_SPACE}{}", unit.show(ns), unit.symbol)
}

/// `ns` nanoseconds as an axis label, such as `10 µs`.
pub fn tick(ns: f64) -> String {
    let unit = Unit::of(ns);
    format!("{}{NO_BREAK_SPACE}{}", brief(ns / unit.ns), unit.symbol)
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

/// An estimated ratio with its interval, such as `2.03 [1.98, 2.11]`.
pub fn estimated_ratio(ratio: &Estimate) -> String {
    format!("{}{NO_BREAK_SPACE}{}", three_digits(ratio.value), interval(ratio, three_digits))
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
        of => format!("{of:.1}{NO_BREAK_SPACE}%"),
    }
}

/// `value` with three significant digits and at most two decimals; four columns
/// wide, or five below zero.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        0.0..0.005 => "0.00".to_owned(),
        0.005..9.995 => format!("{value:.2}"),
        9.995..99.95 => format!("{value:.1}"),
        99.95..9999.5 => format!("{value:.0}"),
        _ => format!("{value:.0e}"),
    }
}

/// A run's column: `A`, `B` … `Z`, `A2` and so on.
pub fn letter(index: usize) -> String {
    let letter = char::from(b'A' + (index % 26) as u8);
    match index / 26 {
        0 => letter.to_string(),
        turn => format!("{letter}{}", turn + 1),
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
    fn three_digits_fill_at_most_four_columns() {
        let pairs = [
            (0.0, "0.00"),
            (-0.001, "0.00"),
            (0.3, "0.30"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.96, "100"),
            (-12.34, "-12.3"),
            (1234.4, "1234"),
            (9999.6, "1e4"),
            (1e12, "1e12"),
        ];
        check(three_digits, &pairs);
    }

    #[test]
    fn a_duration_is_shown_in_the_unit_that_keeps_it_below_a_thousand() {
        let pairs = [
            (0.3, "0.30 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (-2_500.0, "-2.50 µs"),
            (4.567e7, "45.7 ms"),
            (9.999e11, "1000 s"),
        ];
        check(duration, &pairs);
    }
}
