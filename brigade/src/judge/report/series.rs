//! Series: cases that differ in one number alone, such as the number of tasks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::Case;

/// The cases that are alike but for one number, in ascending order of that.
pub type Series<'a> = Vec<(f64, &'a Case)>;

/// The series of a parameter among `cases`, in the order of their first cases. A case
/// without the parameter has 0 of it.
pub fn of<'a>(parameter: &str, cases: impl IntoIterator<Item = &'a Case>) -> Vec<Series<'a>> {
    let mut found: Vec<(String, Series)> = Vec::new();
    for case in cases {
        let Some(number) = number(parameter, case) else { continue };
        let id = without(parameter, case);
        match found.iter_mut().find(|(known, _)| *known == id) {
            Some((_, series)) => series.push((number, case)),
            None => found.push((id, vec![(number, case)])),
        }
    }
    let sorted = found.into_iter().map(|(_, mut series)| {
        series.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        series
    });
    sorted.collect()
}

/// `None` for a parameter that is no number.
fn number(parameter: &str, case: &Case) -> Option<f64> {
    case.key.parameters.get(parameter).map_or(Some(0.0), Value::as_f64)
}

/// What identifies a case but for one of its parameters.
pub fn without(parameter: &str, case: &Case) -> String {
    let mut others: BTreeMap<String, Value> = case.key.parameters.clone();
    others.remove(parameter);
    format!("{} {}", case.key.program, Value::from_iter(others))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::invocation::RecordedCase;

    fn case(name: &str, parameters: Value) -> Case {
        let key = RecordedCase {
            program: "ring".to_owned(),
            parameters: serde_json::from_value(parameters).unwrap(),
        };
        Case { key, name: name.to_owned(), kind: None, estimates: Vec::new() }
    }

    #[test]
    fn cases_that_differ_in_one_number_are_a_series() {
        let cases = [
            case("b", json!({ "tasks": 20, "via": "pipe" })),
            case("c", json!({ "tasks": 2, "via": "futex" })),
            case("a", json!({ "tasks": 5, "via": "pipe" })),
            case("d", json!({ "tasks": "many", "via": "pipe" })),
            case("e", json!({ "via": "pipe" })),
        ];
        let series = of("tasks", &cases);
        let names = |series: &Series| -> String {
            series.iter().map(|(number, case)| format!("{}{number} ", case.name)).collect()
        };
        assert_eq!(series.iter().map(names).collect::<Vec<_>>(), ["e0 a5 b20 ", "c2 "]);
    }
}
