//! Words for the values of flags.

use clap::ValueEnum;

/// The name of a flag's value on the command line.
///
/// # Panics
/// If clap skips the value.
pub fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().expect("no value is skipped").get_name().to_owned()
}

/// The help of a flag's value, for the middle of a sentence.
pub fn description(value: &impl ValueEnum) -> String {
    let help = value.to_possible_value().and_then(|value| Some(value.get_help()?.to_string()));
    let (first, rest) = help.as_deref().unwrap_or(" ").split_at(1);
    first.to_lowercase() + rest
}
