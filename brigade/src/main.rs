//! `brigade`, the runner: runs the programs in `suite.toml` as separate
//! processes, in fair order, and saves their records.
//!
//! The layers, from the outside in:
//!
//! - [`commands`] one module per command; the only layer that knows all others
//! - [`measure`] builds, starts and watches processes; reads the machine
//! - [`plan`] which invocation comes next; pure
//! - [`show`] turns what `judge` returns into text
//! - [`judge`] statistics and conclusions; pure
//! - [`store`] a run's folder, written and read back
//! - [`manifest`] `suite.toml` as data
//!
//! It also contains every program of the workspace; see `programs`.

mod bounds;
mod commands;
#[cfg(test)]
mod damage;
mod exit;
#[cfg(test)]
mod fixtures;
mod judge;
mod manifest;
mod measure;
mod plan;
mod programs;
mod shell;
mod show;
mod store;

/// Runs the program or the command on the command line.
fn main() -> std::process::ExitCode {
    programs::run().unwrap_or_else(commands::main)
}

#[cfg(test)]
mod tests {
    //! The committed schemas of a results folder match the types. After a change to a type,
    //! `UPDATE_SCHEMA=1 cargo test -p brigade schema` rewrites them.

    use std::fs;
    use std::path::Path;

    use schemars::{JsonSchema, schema_for};

    use crate::judge::compare::Comparison;
    use crate::judge::report::Report;
    use crate::measure::guest::GuestLaps;
    use crate::show::json::{Advice, ImpactOfProgram, Limits};
    use crate::store::results::{Environment, Invocation, RunDescription};

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
            "brigade/{file} differs from the type's schema: run `UPDATE_SCHEMA=1 cargo test -p brigade \
             schema`, and raise the type's SCHEMA_VERSION"
        );
    }

    #[test]
    fn every_schema_is_committed() {
        check::<Environment>("environment.schema.json");
        check::<Invocation>("invocation.schema.json");
        check::<GuestLaps>("laps.schema.json");
        check::<RunDescription>("run.schema.json");
        check::<Comparison>("comparison.schema.json");
        check::<Report>("report.schema.json");
        check::<Limits<'_>>("limits.schema.json");
        check::<Advice<'_>>("advice.schema.json");
        check::<ImpactOfProgram<'_>>("impact.schema.json");
    }
}
