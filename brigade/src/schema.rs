//! The committed schemas of what a results folder holds are those of the types.
//! After a change to a type, `UPDATE_SCHEMA=1 cargo test -p brigade schema` writes
//! them anew.

use std::fs;
use std::path::Path;

use schemars::{JsonSchema, schema_for};

use crate::judge::compare::comparison::Comparison;
use crate::judge::impact::Impact;
use crate::judge::prove::Proof;
use crate::judge::report::model::Report;
use crate::measure::settings::Advice;
use crate::plan::RunEnd;
use crate::show::limits::LimitsReport;
use crate::store::environment::Environment;
use crate::store::invocation::Invocation;
use crate::store::laps::Laps;
use crate::store::results::RunDescription;

fn check<T: JsonSchema>(file: &str) {
    let schema = schema_for!(T);
    let current = serde_json::to_string_pretty(&schema).expect("plain JSON") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, &current).expect("write the schema");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == current,
        "brigade/{file} is not the type's schema: run `UPDATE_SCHEMA=1 cargo test -p brigade schema`, \
         and raise the type's SCHEMA_VERSION"
    );
}

#[test]
fn the_schema_of_environment_json_is_committed() {
    check::<Environment>("environment.schema.json");
}

#[test]
fn the_schema_of_a_line_of_records_jsonl_is_committed() {
    check::<Invocation>("invocation.schema.json");
}

#[test]
fn the_schema_of_laps_is_committed() {
    check::<Laps>("laps.schema.json");
}

#[test]
fn the_schemas_of_run_json_and_run_end_json_are_committed() {
    check::<RunDescription>("run.schema.json");
    check::<RunEnd>("run-end.schema.json");
}

#[test]
fn the_schema_of_advice_is_committed() {
    check::<Advice>("advice.schema.json");
}

#[test]
fn the_schema_of_impact_is_committed() {
    check::<Impact>("impact.schema.json");
}

#[test]
fn the_schema_of_limits_is_committed() {
    check::<LimitsReport>("limits.schema.json");
}

#[test]
fn the_schema_of_a_comparison_is_committed() {
    check::<Comparison>("comparison.schema.json");
}

#[test]
fn the_schema_of_a_proof_is_committed() {
    check::<Proof>("proof.schema.json");
}

#[test]
fn the_schema_of_a_report_is_committed() {
    check::<Report>("report.schema.json");
}
