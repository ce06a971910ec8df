//! What the environment of a run means: its label, its sentence, and in what
//! two of them differ.

pub mod difference;
mod label;
mod sentence;

use crate::store::environment::Environment;

impl Environment {
    /// A name for this kind of machine, such as `amd-epyc-2cpu`: the CPU's
    /// model and the number of online CPUs, of `[a-z0-9-]`, at most
    /// [`label::LONGEST`] characters.
    pub fn label(&self) -> String {
        let model = self.processor.model.as_deref().unwrap_or(&self.processor.architecture);
        label::label(model, self.processor.online_cpus)
    }
}
