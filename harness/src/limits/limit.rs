//! One limit of the machine.

use serde::{Deserialize, Serialize};

use super::Resource;

/// One limit of this machine, as it holds for this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct Limit {
    /// What it counts.
    pub resource: Resource,
    /// Its name, as an administrator knows it.
    pub name: String,
    /// Where it was read: a file, or a resource limit.
    pub source: String,
    /// Its value; `null` where none is set.
    pub value: Option<u64>,
    /// How much of it is in use already.
    pub in_use: u64,
    /// The greatest value that the kernel takes; `null` where nothing bounds
    /// it that tasks could meet.
    pub greatest: Option<u64>,
    /// Commands that raise it, with `{}` for the new value: each of them is
    /// enough. None where no command does.
    pub raise: Vec<String>,
    /// Why it does not bind this process; `null` where it does.
    pub exempt: Option<String>,
}

impl Limit {
    /// A limit with nothing in use that nothing raises.
    pub fn new(resource: Resource, name: &str, source: &str, value: Option<u64>) -> Self {
        Self {
            resource,
            name: name.to_owned(),
            source: source.to_owned(),
            value,
            in_use: 0,
            greatest: None,
            raise: Vec::new(),
            exempt: None,
        }
    }

    /// The same with so much in use.
    pub fn in_use(self, in_use: u64) -> Self {
        Self { in_use, ..self }
    }

    /// The same with one more command that raises it.
    pub fn raised_by(mut self, command: &str) -> Self {
        self.raise.push(command.to_owned());
        self
    }

    /// The same with a reason why it does not bind, if there is one.
    pub fn exempt(self, reason: Option<&str>) -> Self {
        Self { exempt: reason.map(str::to_owned), ..self }
    }

    /// How much is left of it; `None` where it does not bind.
    pub fn available(&self) -> Option<u64> {
        let value = self.value.filter(|_| self.exempt.is_none())?;
        Some(value.saturating_sub(self.in_use))
    }

    /// The commands that make room for `amount` more than is in use; none
    /// where no command can.
    pub fn commands_for(&self, amount: u64) -> Vec<String> {
        let enough = amount.saturating_add(self.in_use);
        if self.greatest.is_some_and(|greatest| enough > greatest) {
            return Vec::new();
        }
        self.raise.iter().map(|command| command.replace("{}", &enough.to_string())).collect()
    }
}
