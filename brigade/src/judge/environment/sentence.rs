//! The environment in one sentence, for the readers of a table.

use crate::store::environment::{Cache, Environment, Processor};

impl Environment {
    /// What the figures hold for, in the order in which it matters; what is
    /// not known is left out.
    pub fn sentence(&self) -> String {
        let (processor, kernel) = (&self.processor, &self.kernel);
        let model = processor.model.as_deref().unwrap_or(&processor.architecture);
        let host = host(processor);
        // `rustc 1.95.0 (59807616e 2026-04-14)` without its parentheses.
        let rustc = self.software.rustc.as_deref();
        let rustc = rustc.map(|version| version.split(" (").next().unwrap_or(version));
        let facts = [
            Some(model.to_owned()),
            cpus(processor.allowed_cpus, processor.online_cpus),
            host,
            known("governor ", Some(&processor.governor)),
            known("clock ", processor.clock_source.as_deref()),
            known("Linux ", kernel.release.as_deref()),
            known("preemption ", kernel.preemption.as_deref()),
            known("", rustc),
            known("revision ", self.software.revision().as_deref()),
        ];
        format!("Measured on: {}.", facts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl Environment {
    /// The machine in one line: its CPUs, their caches, whether it is virtual, how
    /// an idle CPU waits and how the kernel preempts.
    pub fn machine(&self) -> String {
        let processor = &self.processor;
        let mut facts = vec![kind(processor)];
        facts.extend(cpus(processor.allowed_cpus, processor.online_cpus));
        facts.extend(caches(processor));
        facts.extend(host(processor));
        facts.extend(idle(processor));
        facts.extend(known("preemption ", self.kernel.preemption.as_deref()));
        facts.join(", ")
    }

    /// The kind of CPU: model, family and number, and the sizes of its caches.
    pub fn cpu(&self) -> String {
        let facts = [kind(&self.processor)].into_iter().chain(caches(&self.processor));
        facts.collect::<Vec<_>>().join(", ")
    }

    /// The caches for data, nearest first, such as `L2 2 MiB`.
    pub fn caches(&self) -> Vec<String> {
        caches(&self.processor).collect()
    }
}

/// The model, such as `AMD EPYC family 25 model 17`.
fn kind(processor: &Processor) -> String {
    let model = processor.model.as_deref().unwrap_or(&processor.architecture);
    let numbers = processor.family.zip(processor.model_number);
    let numbers = numbers.map(|(family, number)| format!(" family {family} model {number}"));
    format!("{model}{}", numbers.unwrap_or_default())
}

/// The caches that hold data.
fn caches(processor: &Processor) -> impl Iterator<Item = String> {
    let caches = processor.caches.iter().filter(|cache| cache.holds != "instruction");
    caches.map(Cache::words)
}

impl Cache {
    /// Level and size, such as `L2 512 KiB`.
    pub(super) fn words(&self) -> String {
        format!("L{} {}", self.level, size(self.size_bytes))
    }
}

/// How an idle CPU waits, such as `idle haltpoll (polls 200 µs)`.
fn idle(processor: &Processor) -> Option<String> {
    let idle = known("idle ", processor.idle_driver.as_deref())?;
    let polls = processor.idle_poll_ns.map(|ns| match ns {
        0 => " (without polling)".to_owned(),
        ns => format!(" (polls {} µs)", ns / 1000),
    });
    Some(idle + &polls.unwrap_or_default())
}

/// A power of two of bytes, such as `512 KiB`.
fn size(bytes: u64) -> String {
    match bytes {
        mebibytes if mebibytes.is_multiple_of(1 << 20) => format!("{} MiB", mebibytes >> 20),
        bytes => format!("{} KiB", bytes >> 10),
    }
}

fn known(what: &str, value: Option<&str>) -> Option<String> {
    let value = value.filter(|value| !value.is_empty() && *value != "unknown");
    value.map(|value| format!("{what}{value}"))
}

/// What the kernel runs on, as far as that is known.
fn host(processor: &Processor) -> Option<String> {
    match processor.virtualisation.as_str() {
        "none" => Some("bare metal".to_owned()),
        hypervisor => known("", Some(hypervisor)).map(|hypervisor| hypervisor + " guest"),
    }
}

/// How many CPUs there were, and for this process, if those are fewer.
fn cpus(allowed: Option<u64>, online: Option<u64>) -> Option<String> {
    let counted = |count| format!("{count} CPU{}", if count == 1 { "" } else { "s" });
    match (allowed, online?) {
        (Some(allowed), online) if allowed < online => {
            Some(format!("{allowed} of {}", counted(online)))
        }
        (_, online) => Some(counted(online)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An environment that is recorded in this repository.
    fn recorded() -> Environment {
        let text = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../results/2026-11-21-amd-epyc-2cpu-3/environment.json"
        ));
        serde_json::from_str(text).expect("an environment")
    }

    #[test]
    fn a_machine_is_told_from_others() {
        assert_eq!(
            recorded().sentence(),
            "Measured on: AMD EPYC, 2 CPUs, kvm guest, clock tsc, Linux 6.18.44-fc-v595, \
             preemption dynamic, rustc 1.95.0, revision 834c51a02d54."
        );
    }

    #[test]
    fn a_machine_is_its_processors_and_caches() {
        let expected = "AMD EPYC, 2 CPUs, L1 32 KiB, L2 512 KiB, L3 32 MiB, kvm guest, \
                        preemption dynamic";
        assert_eq!(recorded().machine(), expected);
        let mut machine = recorded();
        let processor = &mut machine.processor;
        (processor.family, processor.model_number) = (Some(23), Some(49));
        processor.idle_driver = Some("haltpoll".to_owned());
        let shown = |ns| {
            let mut machine = machine.clone();
            machine.processor.idle_poll_ns = ns;
            machine.machine()
        };
        assert_eq!(
            shown(Some(200_000)),
            "AMD EPYC family 23 model 49, 2 CPUs, L1 32 KiB, L2 512 KiB, L3 32 MiB, kvm guest, \
             idle haltpoll (polls 200 µs), preemption dynamic"
        );
        assert!(shown(Some(0)).contains("idle haltpoll (without polling), "));
        assert!(shown(None).contains("idle haltpoll, "));
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut machine = recorded();
        machine.processor.model = None;
        machine.processor.online_cpus = None;
        machine.processor.virtualisation = "unknown".into();
        machine.processor.governor = "unknown".into();
        machine.processor.clock_source = None;
        machine.kernel.release = None;
        machine.kernel.preemption = None;
        machine.software.rustc = None;
        machine.software.git_revision = None;
        assert_eq!(machine.sentence(), "Measured on: x86_64.");
        machine.processor.virtualisation = "none".into();
        machine.processor.governor = "powersave".into();
        let told = "Measured on: x86_64, bare metal, governor powersave.";
        assert_eq!(machine.sentence(), told);
    }

    #[test]
    fn cpus_that_may_not_be_used_are_told() {
        assert_eq!(cpus(Some(1), Some(4)).as_deref(), Some("1 of 4 CPUs"));
        assert_eq!(cpus(Some(1), Some(1)).as_deref(), Some("1 CPU"));
        assert_eq!(cpus(None, Some(64)).as_deref(), Some("64 CPUs"));
        assert_eq!(cpus(Some(2), None), None);
    }
}
