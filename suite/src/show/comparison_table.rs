//! The table of a comparison, never wider than 80 columns. Plain padding does
//! what is needed: the columns are fixed, and every character that a cell can
//! hold is one column wide.

use harness::terminal;

use super::quantity::{ABSENT, Unit};

use crate::judge::compare::comparison::{CaseComparison, RatioRecord};

/// What stands at the end of a text that was cut to its column.
const CUT: char = '…';

/// A column: its heading, its width in characters and whether it is set to the
/// right. The widths and one space between two columns make 80.
struct Column(&'static str, usize, bool);

const TABLE: [Column; 8] = [
    Column("case", 18, false),
    Column("placed", 8, false),
    Column("time", 6, true),
    Column("ratio [interval]", 19, false),
    Column("p50", 4, true),
    Column("p90", 4, true),
    Column("p99", 4, true),
    Column("verdict", 10, false),
];

/// The table: a heading, then one line per case, each ended by a newline.
#[must_use]
pub fn table(cases: &[CaseComparison]) -> String {
    let headings = TABLE.map(|Column(heading, ..)| heading.to_owned());
    std::iter::once(headings).chain(cases.iter().map(cells)).map(|cells| line(&cells)).collect()
}

/// A case's name without the placement, which has a column of its own.
#[must_use]
pub fn short_case(case: &CaseComparison) -> &str {
    let placement = case.placement.as_deref().unwrap_or_default();
    let name = case.case.strip_suffix(placement).and_then(|name| name.strip_suffix('/'));
    name.unwrap_or(&case.case)
}

fn cells(case: &CaseComparison) -> [String; 8] {
    let [first_ns, _] = case.ns_per_operation;
    let unit = Unit::of(first_ns);
    let percentile = |name| {
        let ratio = case.percentiles.get(name);
        ratio.map_or_else(|| ABSENT.to_owned(), |ratio| two_decimals(ratio.estimate))
    };
    [
        short_case(case).to_owned(),
        case.placement.clone().unwrap_or_else(|| ABSENT.to_owned()),
        format!("{}{}", unit.show(first_ns), unit.symbol),
        ratio(&case.ratio),
        percentile("p50"),
        percentile("p90"),
        percentile("p99"),
        case.verdict.as_str().to_owned(),
    ]
}

/// A ratio and its interval, such as `1.051 [1.012,1.093]`, at most 19 columns
/// wide.
#[must_use]
pub fn ratio(ratio: &RatioRecord) -> String {
    let interval = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{},{}", three_decimals(low), three_decimals(high)),
        _ => ABSENT.to_owned(),
    };
    format!("{} [{interval}]", three_decimals(ratio.estimate))
}

/// A ratio in five columns: a thousandth matters near 1, and nowhere else.
fn three_decimals(ratio: f64) -> String {
    match ratio {
        0.0..9.9995 => format!("{ratio:.3}"),
        9.9995..99.995 => format!("{ratio:.2}"),
        99.995..99_999.5 => format!("{ratio:.0}"),
        _ => format!("{ratio:.0e}"),
    }
}

/// A ratio in four columns.
fn two_decimals(ratio: f64) -> String {
    match ratio {
        0.0..9.995 => format!("{ratio:.2}"),
        9.995..99.95 => format!("{ratio:.1}"),
        99.95..9999.5 => format!("{ratio:.0}"),
        _ => format!("{ratio:.0e}"),
    }
}

fn line(cells: &[String; 8]) -> String {
    let fitted: Vec<String> =
        TABLE.iter().zip(cells).map(|(column, text)| fit(&terminal::line(text), column)).collect();
    fitted.join(" ").trim_end().to_owned() + "\n"
}

/// `text` at exactly the width of its column, visibly cut if it is wider.
fn fit(text: &str, Column(_, width, to_the_right): &Column) -> String {
    let text = if text.chars().count() <= *width {
        text.to_owned()
    } else {
        text.chars().take(width - 1).chain([CUT]).collect()
    };
    if *to_the_right { format!("{text:>width$}") } else { format!("{text:<width$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_shown_as_closely_as_it_matters() {
        let shown = |estimate, low, high| {
            ratio(&RatioRecord { estimate, low: Some(low), high: Some(high) })
        };
        assert_eq!(shown(1.0514, 1.0121, 1.093), "1.051 [1.012,1.093]");
        assert_eq!(shown(12.3456, 9.9996, 217.4), "12.35 [10.00,217]");
        assert_eq!(shown(1e-5, 1e-9, 1e9), "0.000 [0.000,1e9]");
        let without = RatioRecord { estimate: 2.0, low: None, high: None };
        assert_eq!(ratio(&without), "2.000 [–]");
    }

    #[test]
    fn whatever_the_ratio_it_fits_its_column() {
        for exponent in -12..12 {
            for digits in [1.0, 9.9949, 9.99951, 4.4444] {
                let value = digits * 10.0_f64.powi(exponent);
                let shown =
                    ratio(&RatioRecord { estimate: value, low: Some(value), high: Some(value) });
                assert!(shown.chars().count() <= 19, "{shown}");
                assert!(two_decimals(value).chars().count() <= 4, "{value}");
            }
        }
    }
}
