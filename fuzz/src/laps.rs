//! Handles a guest's output as `brigade` does: finds its marks and its laps, and builds a record.
//! The record is valid and survives a round trip; or there is a reason, in one line.

use brigade::measure::guest::Guest;
use brigade::store::consistency;
use harness::record::Record;
use harness::terminal;

/// Checks one input.
pub fn check(input: &[u8]) {
    match Guest::new("free", vec![0]).record(input) {
        Ok(record) => {
            let _ = consistency::verify(&record);
            let written = serde_json::to_string(&record).expect("serializes");
            assert_eq!(Record::parse(&written).expect("own writing"), record);
        }
        Err(reason) => assert!(!reason.is_empty() && !terminal::line(&reason).contains('\n')),
    }
}
