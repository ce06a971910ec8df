//! What `brigade` does with all that a guest prints: finds its marks and its laps,
//! and makes a record of them. That record is sound, and is read back as it was
//! written; or there is a reason, on one line.

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
