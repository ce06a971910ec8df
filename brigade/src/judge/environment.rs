//! Interprets an environment: a label for its folder, a line for its readers, and its differences
//! from another.

use std::collections::{BTreeMap, BTreeSet};

use harness::cpus::CpuList;
use harness::inherited::Facts;
use harness::record::Record;
use serde::{Deserialize, Serialize};

use crate::store::results::Environment;

/// The longest label, in characters.
const LONGEST_LABEL: usize = 48;

/// Words of model names that do not distinguish machines.
const NOISE: [&str; 4] = ["cpu", "processor", "core", "cores"];

/// How facts begin that identify the kind of CPU.
const OF_CPUS: [&str; 4] =
    ["processor.architecture", "processor.cache.", "processor.family", "processor.model"];

/// How facts begin about the boot and the programs, and about which CPUs share what, which older runs
/// have.
const NOT_OF_MACHINES: [&str; 4] = ["boot", "software.brigade", "software.git_", "topology."];

impl Environment {
    /// A name for this kind of machine, such as `amd-epyc-25-17-2cpu`: the CPU's model,
    /// its family and number or else the size of a second-level cache, and the number of
    /// online CPUs, of `[a-z0-9-]`, at most 48 characters.
    pub fn label(&self) -> String {
        let number = |name| self.number(name).filter(|number| *number < 10_000);
        let numbers = number("processor.family").zip(number("processor.model_number"));
        let cache = self.get("processor.cache.l2").and_then(|size| {
            let (number, unit) = size.split_once(' ')?;
            let number: u32 = number.parse().ok()?;
            Some(format!("l2-{number}{}", if unit == "MiB" { 'm' } else { 'k' }))
        });
        let kind = numbers.map(|(family, model)| format!("{family}-{model}")).or(cache);
        let online = self.number("processor.online_cpus");
        let count = online.map_or_else(|| "cpu".to_owned(), |count| format!("{count}cpu"));
        let end = kind.into_iter().chain([count]).collect::<Vec<_>>().join("-");
        let mut label = String::new();
        for word in significant_words(self.model()) {
            if label.len() + word.len() + end.len() + 1 > LONGEST_LABEL {
                break;
            }
            label += &format!("{word}-");
        }
        if label.is_empty() { format!("unknown-{end}") } else { label + &end }
    }

    /// The machine in a few words: its CPUs and its hypervisor.
    pub fn machine(&self) -> String {
        join([Some(self.cpu()), self.cpus(), self.host()].into_iter())
    }

    /// The conditions of the figures, most important first.
    pub fn sentence(&self) -> String {
        // `rustc 1.95.0 (59807616e 2026-04-14)` without its parentheses.
        let rustc = self.get("software.rustc");
        let rustc = rustc.map(|version| version.split(" (").next().unwrap_or(version).to_owned());
        let facts = [
            Some(self.machine()),
            self.fact("idle ", "processor.idle_driver"),
            self.fact("governor ", "processor.governor"),
            self.fact("clock ", "processor.clock_source"),
            self.fact("Linux ", "kernel.release"),
            self.fact("preemption ", "kernel.preemption"),
            rustc,
            self.revision().map(|revision| format!("revision {revision}")),
        ];
        format!("Measured on: {}.", join(facts.into_iter()))
    }

    /// The commit from which the programs were built, abbreviated, with `+` if files differed from
    /// it.
    pub fn revision(&self) -> Option<String> {
        let commit: String = self.get("software.git_revision")?.chars().take(12).collect();
        let is_dirty = self.get("software.git_dirty") == Some("true");
        Some(if is_dirty { commit + "+" } else { commit })
    }

    fn model(&self) -> &str {
        let architecture = || self.get("processor.architecture");
        self.get("processor.model").or_else(architecture).unwrap_or_default()
    }

    /// The model without words that every model has, its family and number, such as
    /// `AMD EPYC 25/17`.
    fn cpu(&self) -> String {
        let model = self.model().split('@').next().unwrap_or_default();
        let model = model.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
        let words = model.split_whitespace();
        let is_known = |word: &&str| ["CPU", "Processor"].contains(word) || word.ends_with("-Core");
        let words: Vec<&str> = words.filter(|word| !is_known(word)).collect();
        let known = self.get("processor.family").zip(self.get("processor.model_number"));
        let known = known.map(|(family, number)| format!(" {family}/{number}"));
        words.join(" ") + &known.unwrap_or_default()
    }

    /// The number of CPUs, and how many of them this process could use, if
    /// fewer.
    fn cpus(&self) -> Option<String> {
        let online = self.number("processor.online_cpus")?;
        let allowed = self.number("processor.allowed_cpus").filter(|allowed| *allowed < online);
        let allowed = allowed.map_or(String::new(), |allowed| format!("{allowed} of "));
        Some(format!("{allowed}{online} CPU{}", if online == 1 { "" } else { "s" }))
    }

    fn host(&self) -> Option<String> {
        match self.get("processor.virtualisation")? {
            "none" => Some("bare metal".to_owned()),
            "kvm" => Some("KVM virtual machine".to_owned()),
            hypervisor => Some(format!("{hypervisor} virtual machine")),
        }
    }

    fn fact(&self, what: &str, name: &str) -> Option<String> {
        self.get(name).map(|value| format!("{what}{value}"))
    }
}

fn join(facts: impl Iterator<Item = Option<String>>) -> String {
    facts.flatten().filter(|fact| !fact.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The words of a model name in lower case, without clock rate, trade marks, core counts and
/// built-in graphics.
fn significant_words(model: &str) -> Vec<String> {
    let mut model = model.to_ascii_lowercase();
    for end in ["@", "\n", " w/ ", " with "] {
        model.truncate(model.find(end).unwrap_or(model.len()));
    }
    let model = model.replace("(r)", " ").replace("(tm)", " ").replace("(c)", " ");
    let words = model.split_whitespace().filter(|word| !word.ends_with("-core"));
    let words = words.flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric()));
    words.filter(|word| !word.is_empty() && !NOISE.contains(word)).map(str::to_owned).collect()
}

/// Limits change no figure unless they refuse, and raising one is how a refused run goes on.
const LIMITS: &str = "limits.";

/// Only servers record these, so a run may have none.
const NETWORK: &str = "net.";

/// How facts begin that processes inherit; a run lacks them all if it is older than [`MARK`].
const INHERITED: [&str; 6] = ["cgroup.", LIMITS, NETWORK, "process.", "scheduling.", "variables."];
const MARK: &str = "scheduling.timer_slack_ns";

/// Variables that change no figures.
const HARMLESS: [&str; 5] = [
    "variables.GOFLAGS",
    "variables.GOTRACEBACK",
    "variables.NODE_ENV",
    "variables.PYTHONDONTWRITEBYTECODE",
    "variables.PYTHONUNBUFFERED",
];

/// An inherited fact that is unusual: an entry of `usual.toml`, which explains the keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unusual {
    pub name: String,
    #[serde(default)]
    pub now: String,
    pub usual: Vec<String>,
    pub does: String,
    #[serde(default, rename = "figures")]
    pub changes_figures: bool,
}

impl Environment {
    /// Inherited facts that are unusual, the most important first.
    ///
    /// # Panics
    /// Never: `usual.toml` is part of this program.
    pub fn unusual(&self) -> Vec<Unusual> {
        let table: BTreeMap<String, Vec<Unusual>> =
            toml::from_str(include_str!("usual.toml")).expect("a table that is tested");
        let mut found = Vec::new();
        for entry in table.into_values().flatten() {
            let is_named = |name: &str| name.starts_with(&entry.name) && !HARMLESS.contains(&name);
            let is_usual = |value: &str| entry.usual.iter().any(|usual| usual == value.trim());
            // Values of a group and its parents are separated by commas.
            let are_usual = |values: &str| values.split([',', ';']).all(is_usual);
            let facts = self.facts.iter().filter(|(name, now)| is_named(name) && !are_usual(now));
            found.extend(facts.map(|(name, now)| {
                let (name, now) = (name.clone(), now.clone());
                Unusual { name, now, ..entry.clone() }
            }));
        }
        found
    }
}

impl Unusual {
    /// Such as `timer slack 5 ms: sleepers wake later or earlier`.
    pub fn line(&self) -> String {
        let Self { name, now, does, .. } = self;
        let (kind, name) = name.split_once('.').unwrap_or(("", name));
        let (name, now) = match (name.strip_suffix("_ns"), now.parse::<f64>()) {
            (Some(name), Ok(ns)) if ns >= 1e6 => (name, format!("{} ms", ns / 1e6)),
            (Some(name), Ok(ns)) => (name, format!("{} µs", ns / 1e3)),
            _ => (name, now.clone()),
        };
        let name = if kind == "variables" { name.to_owned() } else { name.replace('_', " ") };
        format!("{name} {now}: {does}")
    }
}

/// What the processes of a run inherited.
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    /// Each different set of facts, in the order in which it was first inherited, and whether it is
    /// another one than `expected`. Nearly all processes inherit the same.
    sets: Vec<(Facts, bool)>,
    /// What processes should inherit: what the runner could pass on when the run began. Of a fact
    /// that a command around all processes changed, it is what the first process inherited.
    expected: Facts,
    /// These facts.
    changed_around: Vec<Difference>,
    /// The facts of the network of the first server.
    of_servers: Facts,
    /// All policies of threads, and the CPUs that they ran on.
    policies: BTreeSet<String>,
    ran_on: BTreeSet<usize>,
}

/// The most sets of facts that are kept, since a stranger's run may have a new one in each record.
/// Processes with others are not used.
const MOST_SETS: usize = 256;

impl Inherited {
    /// Adds what the process with this record inherited, and returns the place of its set. The run
    /// began in this environment.
    pub fn add(&mut self, record: &Record, began: &Environment) -> usize {
        if let Some(cpus) = record.cpus.as_ref().filter(|_| record.affinity.len() > 1) {
            if self.policies.len() < MOST_SETS {
                self.policies.extend(cpus.policies.iter().cloned());
            }
            self.ran_on.extend(&cpus.ran_on);
        }
        let own = &record.inherited;
        if let Some(place) = self.sets.iter().position(|(set, _)| set == own) {
            return place;
        }
        if self.sets.len() == MOST_SETS {
            return MOST_SETS;
        }
        if self.sets.is_empty() {
            self.expected.clone_from(own);
            self.changed_around = inherited_differently(&began.facts, own);
        }
        self.sets.push((own.clone(), false));
        self.expect_what_began(own);
        self.expect_of_servers(own);
        for (set, is_other) in &mut self.sets {
            *is_other = !inherited_differently(&self.expected, set).is_empty();
        }
        self.sets.len() - 1
    }

    /// A fact that a process inherited from the runner was not changed around all of them.
    fn expect_what_began(&mut self, own: &Facts) {
        let expected = &mut self.expected;
        self.changed_around.retain(|Difference { name, values: [began, _] }| {
            if own.get(name) != began.as_ref() {
                return true;
            }
            match began {
                Some(value) => _ = expected.insert(name.clone(), value.clone()),
                None => _ = expected.remove(name),
            }
            false
        });
    }

    /// Only servers have facts of the network, and the first process may be none.
    fn expect_of_servers(&mut self, own: &Facts) {
        let of_network = |facts: &Facts| -> Facts {
            let found = facts.iter().filter(|(name, _)| name.starts_with(NETWORK));
            found.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        if self.of_servers.is_empty() {
            self.of_servers = of_network(own);
            self.expected.extend(self.of_servers.clone());
        }
    }

    /// How many different sets of facts there are.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// Whether a process with the set at this place inherited something else than it should.
    pub fn is_other(&self, place: usize) -> bool {
        self.sets.get(place).is_none_or(|(_, is_other)| *is_other)
    }

    /// Facts that changed during the run: processes that inherited the second value are not used.
    pub fn changes(&self) -> Vec<Difference> {
        let mut found = BTreeMap::new();
        for (set, _) in &self.sets {
            for change in inherited_differently(&self.expected, set) {
                found.entry(change.name.clone()).or_insert(change);
            }
        }
        found.into_values().collect()
    }

    /// The values of each fact.
    pub fn values(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut values = BTreeMap::<&str, BTreeSet<&str>>::new();
        for (set, _) in &self.sets {
            for (name, value) in set {
                values.entry(name).or_default().insert(value);
            }
        }
        values
    }

    /// The environment in which the run began with what its processes inherited, which may not be
    /// what the runner did: a command around them, or the policy, may change it.
    pub fn environment(&self, began: &Environment) -> Environment {
        let mut values = self.values();
        if !self.policies.is_empty() {
            let policies = self.policies.iter().map(String::as_str);
            values.entry("scheduling.threads").or_default().extend(policies);
        }
        let mut environment = began.clone();
        for (name, values) in values {
            environment.set(name, Some(Vec::from_iter(values).join("; ")));
        }
        if let Some(cpus) = environment.facts.get_mut("process.unbalanced_cpus")
            && !self.ran_on.is_empty()
        {
            *cpus += &format!(" (all ran on {})", CpuList(Vec::from_iter(self.ran_on.clone())));
        }
        environment
    }
}

/// The facts but limits of which a process inherited another value, or only one of the two has any.
pub fn inherited_differently(expected: &Facts, process: &Facts) -> Vec<Difference> {
    // Nearly all processes of a run inherit the same.
    if expected == process {
        return Vec::new();
    }
    let mut found = differences(expected, process);
    found.retain(|fact| is_inherited_by_figures(&fact.name));
    found
}

/// Whether a fact is inherited.
fn is_inherited(name: &str) -> bool {
    begins_with_any(name, &INHERITED)
}

/// Whether a fact is inherited and no limit.
pub fn is_inherited_by_figures(name: &str) -> bool {
    is_inherited(name) && !name.starts_with(LIMITS)
}

/// A fact that differs between two environments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Difference {
    /// Its name in `environment.json`, such as `kernel.release`.
    pub name: String,
    /// Its values; `null` if unknown.
    pub values: [Option<String>; 2],
}

impl Difference {
    /// Such as `kernel.release: 6.1.0 → 6.18.0`.
    pub fn line(&self) -> String {
        let [first, second] = self.texts();
        format!("{}: {first} → {second}", self.name)
    }

    /// Its values; `–` if unknown.
    pub fn texts(&self) -> [&str; 2] {
        self.values.each_ref().map(|value| value.as_deref().unwrap_or("–"))
    }

    /// Whether every figure depends on this fact, since it identifies the kind
    /// of CPU.
    fn is_of_cpus(&self) -> bool {
        begins_with_any(&self.name, &OF_CPUS)
    }
}

/// The facts that differ, by name.
pub fn differences(first: &Facts, second: &Facts) -> Vec<Difference> {
    let are_known = first.contains_key(MARK) && second.contains_key(MARK);
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let names = names.into_iter().filter(|name| first.get(*name) != second.get(*name));
    let all = names.map(|name| {
        let values = [first, second].map(|side| side.get(name).cloned());
        Difference { name: name.clone(), values }
    });
    let is_known = |fact: &Difference| {
        let is_optional = fact.name.starts_with(NETWORK) || is_inherited(&fact.name) && !are_known;
        !is_optional || !fact.values.contains(&None)
    };
    all.filter(is_known).collect()
}

/// The facts that differ between two machines, apart from the programs.
pub fn between_machines(first: &Environment, second: &Environment) -> Vec<Difference> {
    let mut found = differences(&first.facts, &second.facts);
    found.retain(|Difference { name, .. }| {
        !begins_with_any(name, &NOT_OF_MACHINES) && !name.ends_with(".shared_by")
    });
    found
}

/// Whether two runs were of one machine, as far as facts without a host's name show: of one boot,
/// and so with one kernel, and with one kind of CPU.
pub fn same_machine(first: &Environment, second: &Environment) -> bool {
    let boot = first.get("boot");
    let is_of_cpus = between_machines(first, second).iter().any(Difference::is_of_cpus);
    boot.is_some() && boot == second.get("boot") && !is_of_cpus
}

fn begins_with_any(name: &str, stems: &[&str]) -> bool {
    stems.iter().any(|stem| name.starts_with(stem))
}

/// The differences between inherited facts, those between two known kinds of CPU, and all others,
/// one line each.
pub fn by_kind(differences: &[Difference]) -> [Vec<String>; 3] {
    let kind = |fact: &Difference| {
        if is_inherited(&fact.name) {
            0
        } else if fact.is_of_cpus() && !fact.values.contains(&None) {
            1
        } else {
            2
        }
    };
    [0, 1, 2].map(|wanted| {
        let of_kind = differences.iter().filter(|fact| kind(fact) == wanted);
        of_kind.map(Difference::line).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(facts: &[(&str, &str)]) -> Environment {
        let mut environment = Environment::default();
        for (name, value) in facts {
            environment.set(*name, Some(value));
        }
        environment
    }

    const MACHINE: [(&str, &str); 12] = [
        ("kernel.preemption", "dynamic"),
        ("kernel.release", "6.18.44"),
        ("processor.allowed_cpus", "2"),
        ("processor.cache.l1_data", "32 KiB"),
        ("processor.cache.l1_data.shared_by", "1"),
        ("processor.cache.l1_instruction", "64 KiB"),
        ("processor.cache.l2", "512 KiB"),
        ("processor.model", "AMD EPYC"),
        ("processor.online_cpus", "2"),
        ("processor.virtualisation", "kvm"),
        ("software.git_revision", "834c51a02d54abcdef"),
        ("software.rustc", "rustc 1.95.0 (59807616e 2026-04-14)"),
    ];

    /// The machine with other facts; empty ones are unknown.
    fn with(facts: &[(&str, &str)]) -> Environment {
        let mut environment = environment(&[&MACHINE, facts].concat());
        environment.facts.retain(|_, value| !value.is_empty());
        environment
    }

    #[test]
    fn a_machine_in_a_line() {
        assert_eq!(with(&[]).machine(), "AMD EPYC, 2 CPUs, KVM virtual machine");
        let polling = with(&[
            ("processor.family", "23"),
            ("processor.model_number", "49"),
            ("processor.idle_driver", "haltpoll"),
            ("processor.idle_poll_ns", "200000"),
            ("processor.allowed_cpus", "1"),
        ]);
        let machine = "AMD EPYC 23/49, 1 of 2 CPUs, KVM virtual machine";
        assert_eq!(polling.machine(), machine);
        assert!(polling.sentence().contains("idle haltpoll"));
        assert_eq!(Environment::default().machine(), "");
    }

    #[test]
    fn labels_leave_out_vendors_noise() {
        let family = [("processor.family", "25"), ("processor.model_number", "17")];
        let cache = [("processor.cache.l2", "1 MiB")];
        for (model, facts, expected) in [
            ("AMD EPYC", &[][..], "amd-epyc-4cpu"),
            ("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", &[], "intel-xeon-e5-2686-v4-4cpu"),
            ("Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz", &[], "intel-i7-8550u-4cpu"),
            ("", &[], "unknown-4cpu"),
            ("AMD EPYC", &cache, "amd-epyc-l2-1m-4cpu"),
            ("AMD EPYC", &[cache[0], family[0], family[1]], "amd-epyc-25-17-4cpu"),
        ] {
            let machine = [("processor.model", model), ("processor.online_cpus", "4")];
            assert_eq!(environment(&[&machine[..], facts].concat()).label(), expected);
        }
    }

    #[test]
    fn a_label_is_a_safe_folder_name_for_any_model() {
        let long = "very-long-model ".repeat(50);
        for model in ["", "../../etc", "a/b\0c", "Ω°", "@ 2 GHz", &long, &"x".repeat(500)] {
            for number in ["9999", "18446744073709551615", "-1", "x"] {
                let machine = environment(&[
                    ("processor.model", model),
                    ("processor.family", number),
                    ("processor.model_number", number),
                    ("processor.online_cpus", number),
                ]);
                let label = machine.label();
                assert!(label.len() <= LONGEST_LABEL, "{label}");
                let safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                assert!(label.chars().all(safe) && !label.starts_with('-'), "{label}");
            }
        }
    }

    #[test]
    fn every_fact_that_differs_is_a_line() {
        assert_eq!(differences(&with(&[]).facts, &with(&[]).facts), []);
        let second = with(&[
            ("kernel.release", ""),
            ("processor.cache.l1_data.shared_by", ""),
            ("processor.cache.l2", "1 MiB"),
            ("processor.family", "26"),
            ("software.git_revision", "0"),
            ("topology.cores", "0;1"),
        ]);
        assert_eq!(differences(&with(&[]).facts, &second.facts).len(), 6);
        let found = between_machines(&with(&[]), &second);
        let [_, cpus, others] = by_kind(&found);
        assert_eq!(cpus, ["processor.cache.l2: 512 KiB → 1 MiB"]);
        assert_eq!(others, ["kernel.release: 6.18.44 → –", "processor.family: – → 26"]);
    }

    #[test]
    fn a_fact_that_only_one_side_has_is_a_change_and_a_limit_is_none() {
        let process =
            |facts: &[(&str, &str)]| environment(&[facts, &[(MARK, "50000")]].concat()).facts;
        let usual = [("scheduling.nice", "0"), ("limits.open_files.soft", "1024")];
        let was = process(&usual);
        for (now, found) in [
            (process(&usual), None),
            (process(&usual[..1]), None),
            (process(&usual[1..]), Some("scheduling.nice")),
            (process(&[("scheduling.nice", "5")]), Some("scheduling.nice")),
            (
                process(&[usual[0], ("process.unbalanced_cpus", "0,1")]),
                Some("process.unbalanced_cpus"),
            ),
        ] {
            let changes = inherited_differently(&was, &now);
            assert_eq!(changes.first().map(|change| &*change.name), found);
        }
    }
}
