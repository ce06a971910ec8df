//! What the environment of a run means: its label, its sentence, its facts, and in
//! what two of them differ.

pub mod difference;
mod label;
mod sentence;

use crate::store::environment::Environment;
use label::Kind;

impl Environment {
    /// A name for this kind of machine, such as `amd-epyc-25-17-2cpu`: the CPU's
    /// model, its family and number, or where it has none the size of a second-level
    /// cache, and the number of online CPUs, of `[a-z0-9-]`, at most
    /// [`label::LONGEST`] characters.
    pub fn label(&self) -> String {
        let processor = &self.processor;
        let model = processor.model.as_deref().unwrap_or(&processor.architecture);
        let second_level = processor.caches.iter().find(|cache| cache.level == 2);
        let kind = Kind {
            numbers: processor.family.zip(processor.model_number),
            second_level_bytes: second_level.map(|cache| cache.size_bytes),
        };
        label::label(model, kind, processor.online_cpus)
    }
}
