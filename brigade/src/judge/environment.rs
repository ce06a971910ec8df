//! Interprets an environment: a label for its folder, the facts that its readers need, and its
//! differences from another.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::LazyLock;

use harness::cpus::CpuList;
use harness::inherited::{EMULATED_ON, Facts};
use harness::record::Record;
use serde::Serialize;

use crate::store::results::Environment;

/// The longest label, in characters.
const LONGEST_LABEL: usize = 48;

/// Words of model names that do not distinguish machines.
const NOISE: [&str; 4] = ["cpu", "processor", "core", "cores"];

/// How facts begin that identify the kind of CPU.
const OF_CPUS: [&str; 5] = [
    "processor.architecture",
    "processor.cache.",
    EMULATED_ON,
    "processor.family",
    "processor.model",
];

/// How facts begin about the boot and the programs, and about which CPUs share what, which older runs
/// have.
const NOT_OF_MACHINES: [&str; 4] = ["boot", "software.brigade", "software.git_", "topology."];

/// A machine's CPUs and its hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Machine {
    /// The CPU's model without words that every model has, such as `AMD EPYC`; empty if unknown.
    pub cpu: String,
    /// The CPU's family.
    pub family: Option<String>,
    /// The number of its model.
    pub model_number: Option<String>,
    /// The number of online CPUs.
    pub online_cpus: Option<u64>,
    /// How many of them the run could use; `null` if all.
    pub allowed_cpus: Option<u64>,
    /// The hypervisor, such as `kvm`; `none` on bare metal, `null` if unknown.
    pub virtualisation: Option<String>,
    /// The architecture of the machine on which an emulator ran the programs; `null` if none did.
    #[serde(default)]
    pub emulated_on: Option<String>,
}

/// Further conditions of a run's figures; `null` if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Conditions {
    /// What puts idle CPUs to sleep.
    pub idle_driver: Option<String>,
    /// What chooses a CPU's frequency.
    pub governor: Option<String>,
    /// What the kernel reads the time from.
    pub clock_source: Option<String>,
    /// The kernel's version.
    pub kernel: Option<String>,
    /// When the kernel lets one thread interrupt another.
    pub preemption: Option<String>,
    /// The Rust compiler and its version.
    pub compiler: Option<String>,
    /// The commit of the programs, with `+` if files differed from it.
    pub revision: Option<String>,
}

impl Environment {
    /// A name for this kind of machine, such as `amd-epyc-25-17-2cpu`: the CPU's model,
    /// its family and number or else the size of a second-level cache, and the number of
    /// online CPUs, of `[a-z0-9-]`, at most 48 characters. It begins with `emulated` if it is emulated.
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
        let emulated = self.get(EMULATED_ON).map(|_| "emulated".to_owned());
        for word in emulated.into_iter().chain(significant_words(self.model())) {
            if label.len() + word.len() + end.len() + 1 > LONGEST_LABEL {
                break;
            }
            label += &format!("{word}-");
        }
        if label.is_empty() { format!("unknown-{end}") } else { label + &end }
    }

    /// The machine's CPUs and its hypervisor.
    pub fn machine(&self) -> Machine {
        let online_cpus = self.number("processor.online_cpus");
        let allowed = self.number("processor.allowed_cpus");
        Machine {
            cpu: self.cpu(),
            family: self.fact("processor.family"),
            model_number: self.fact("processor.model_number"),
            online_cpus,
            allowed_cpus: allowed.filter(|allowed| online_cpus.is_some_and(|all| *allowed < all)),
            virtualisation: self.fact("processor.virtualisation"),
            emulated_on: self.fact(EMULATED_ON),
        }
    }

    /// The other conditions of the figures.
    pub fn conditions(&self) -> Conditions {
        // `rustc 1.95.0 (59807616e 2026-04-14)` without its parentheses.
        let compiler = self.get("software.rustc");
        let compiler = compiler.map(|version| version.split(" (").next().unwrap_or(version));
        Conditions {
            idle_driver: self.fact("processor.idle_driver"),
            governor: self.fact("processor.governor"),
            clock_source: self.fact("processor.clock_source"),
            kernel: self.fact("kernel.release"),
            preemption: self.fact("kernel.preemption"),
            compiler: compiler.map(str::to_owned),
            revision: self.revision(),
        }
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

    /// The model without words that every model has, such as `AMD EPYC`.
    fn cpu(&self) -> String {
        // A hypervisor may append a second name in another line.
        let model = self.model().split(['@', '\n']).next().unwrap_or_default();
        let model = model.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
        let words = model.split_whitespace();
        let is_known = |word: &&str| ["CPU", "Processor"].contains(word) || word.ends_with("-Core");
        let words: Vec<&str> = words.filter(|word| !is_known(word)).collect();
        words.join(" ")
    }

    /// A fact, if it is known.
    fn fact(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }
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

/// How facts of the kernel and of its boot begin.
const KERNEL: &str = "kernel.";

/// Only servers record these, so a run may have none.
const NETWORK: &str = "net.";

/// How facts begin that processes inherit.
const INHERITED: [&str; 6] = ["cgroup.", LIMITS, NETWORK, "process.", "scheduling.", "variables."];
/// A fact of every run that recorded what its processes inherited.
const ALWAYS_INHERITED: &str = "scheduling.timer_slack_ns";

/// CPUs between which the kernel moves no threads.
const UNBALANCED_CPUS: &str = "process.unbalanced_cpus";
/// The CPUs that the processes of a run used, recorded if there are unbalanced ones.
const RAN_ON: &str = "process.ran_on_cpus";

/// Variables that change no figures.
const HARMLESS: [&str; 5] = [
    "variables.GOFLAGS",
    "variables.GOTRACEBACK",
    "variables.NODE_ENV",
    "variables.PYTHONDONTWRITEBYTECODE",
    "variables.PYTHONUNBUFFERED",
];

/// An inherited fact that is unusual: an entry of `usual.toml`, which explains the keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unusual {
    /// Its name in `environment.json`.
    pub name: String,
    /// What readers call it; a variable's name.
    #[serde(default)]
    pub what: String,
    /// Its value.
    #[serde(default)]
    pub now: String,
    /// Whether the value is a time in nanoseconds.
    #[serde(default)]
    pub is_ns: bool,
    /// The CPUs that all processes ran on, if the fact is about CPUs.
    #[serde(default)]
    pub ran_on: Option<String>,
    /// Its usual values; usually it is absent if there are none.
    pub usual: Vec<String>,
    /// What an unusual value does.
    pub does: String,
    /// Whether that changes figures.
    #[serde(default, rename = "figures")]
    pub changes_figures: bool,
}

/// What a reader of figures should know of what processes inherited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum InheritedFact {
    /// A fact that changed during the run: processes with the second value are not used.
    Changed(Difference),
    /// A fact that is unusual, and changes figures.
    Unusual(Unusual),
}

/// The entries of `usual.toml`, by the kind of fact.
static USUAL: LazyLock<BTreeMap<String, Vec<Unusual>>> =
    LazyLock::new(|| toml::from_str(include_str!("usual.toml")).expect("a table that is tested"));

impl Environment {
    /// Inherited facts that are unusual, the most important first.
    pub fn unusual(&self) -> Vec<Unusual> {
        let mut found = Vec::new();
        for entry in USUAL.values().flatten() {
            let is_named = |name: &str| name.starts_with(&entry.name) && !HARMLESS.contains(&name);
            let is_usual = |value: &str| entry.usual.iter().any(|usual| usual == value.trim());
            // Values of a group and its parents are separated by commas.
            let are_usual = |values: &str| values.split([',', ';']).all(is_usual);
            let facts = self.facts.iter().filter(|(name, now)| is_named(name) && !are_usual(now));
            found.extend(facts.map(|(name, now)| self.unusual_fact(entry, name, now)));
        }
        found
    }

    /// The fact of an entry, whose name may be the beginning of several facts' names.
    fn unusual_fact(&self, entry: &Unusual, name: &str, now: &str) -> Unusual {
        let what = match name.strip_prefix(&entry.name) {
            Some(own_name) if entry.what.is_empty() => own_name,
            _ => &entry.what,
        };
        Unusual {
            name: name.to_owned(),
            what: what.to_owned(),
            now: now.to_owned(),
            ran_on: if name == UNBALANCED_CPUS { self.fact(RAN_ON) } else { None },
            ..entry.clone()
        }
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
    /// The facts that a command around all processes changed, so far.
    changed_around: Vec<Difference>,
    /// The facts of the network of the first server.
    of_servers: Facts,
    /// All policies of threads, and the CPUs that they ran on.
    policies: BTreeSet<String>,
    ran_on: BTreeSet<usize>,
}

/// The most sets of facts that are kept, since a stranger's run may have a new one in each record.
/// A process with a further set is not used.
const MOST_SETS: usize = 256;

impl Inherited {
    /// Adds what the process with this record inherited, and returns the place of its set. The run
    /// began in this environment.
    pub fn add(&mut self, record: &Record, began: &Environment) -> usize {
        if let Some(cpus) = &record.cpus
            && record.affinity.len() > 1
        {
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
        let is_unchanged = |fact: &Difference| own.get(&fact.name) == fact.values[0].as_ref();
        let facts = mem::take(&mut self.changed_around).into_iter();
        let (unchanged, changed) = facts.partition::<Vec<_>, _>(is_unchanged);
        self.changed_around = changed;
        for Difference { name, values: [began, _] } in unchanged {
            if let Some(value) = began {
                self.expected.insert(name, value);
            } else {
                self.expected.remove(&name);
            }
        }
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

    /// Whether a process has this fact.
    pub fn has(&self, name: &str) -> bool {
        self.sets.iter().any(|(set, _)| set.contains_key(name))
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

    /// Whether two runs inherited the same, as far as both recorded it. Facts of the network matter only
    /// if both have servers, and what changed for single processes does not.
    pub fn is_like(&self, other: &Self) -> bool {
        inherited_differently(&self.expected, &other.expected).is_empty()
    }

    /// The values of each fact.
    fn values(&self) -> BTreeMap<&str, BTreeSet<&str>> {
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
        if environment.get(UNBALANCED_CPUS).is_some() && !self.ran_on.is_empty() {
            environment.set(RAN_ON, Some(CpuList(Vec::from_iter(self.ran_on.clone()))));
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub struct Difference {
    /// Its name in `environment.json`, such as `kernel.release`.
    pub name: String,
    /// Its values; `null` if unknown.
    pub values: [Option<String>; 2],
}

impl Difference {
    /// Whether every figure depends on this fact, since it identifies the kind
    /// of CPU.
    fn is_of_cpus(&self) -> bool {
        begins_with_any(&self.name, &OF_CPUS)
    }
}

/// The facts that differ, by name.
pub fn differences(first: &Facts, second: &Facts) -> Vec<Difference> {
    let are_known = first.contains_key(ALWAYS_INHERITED) && second.contains_key(ALWAYS_INHERITED);
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

/// Differences by what they are about.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DifferencesByKind<'a> {
    /// Differences of what processes inherited.
    pub inherited: Vec<&'a Difference>,
    /// Differences between two known kinds of CPU.
    pub cpus: Vec<&'a Difference>,
    /// Differences of the kernel and of its boot.
    pub kernels: Vec<&'a Difference>,
    /// All others.
    pub others: Vec<&'a Difference>,
}

/// Differences by what they are about.
pub fn by_kind(differences: &[Difference]) -> DifferencesByKind<'_> {
    let mut found = DifferencesByKind::default();
    for fact in differences {
        // Limits change no figure of what ran.
        let of_kind = if is_inherited(&fact.name) && !fact.name.starts_with(LIMITS) {
            &mut found.inherited
        } else if fact.is_of_cpus() && !fact.values.contains(&None) {
            &mut found.cpus
        } else if fact.name.starts_with(KERNEL) {
            &mut found.kernels
        } else {
            &mut found.others
        };
        of_kind.push(fact);
    }
    found
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
    fn machine_with(facts: &[(&str, &str)]) -> Environment {
        let mut environment = environment(&[&MACHINE, facts].concat());
        environment.facts.retain(|_, value| !value.is_empty());
        environment
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

    /// Also of one boot: the kernel is the same.
    #[test]
    fn an_emulated_machine_is_another_one() {
        let boot = ("boot", "0af37c11");
        let real = machine_with(&[boot]);
        let emulated = machine_with(&[boot, (EMULATED_ON, "x86_64")]);
        assert!(same_machine(&real, &real) && same_machine(&emulated, &emulated));
        assert!(!same_machine(&real, &emulated));
        assert_eq!(emulated.label(), "emulated-amd-epyc-l2-512k-2cpu");
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
    fn every_fact_that_differs_is_found() {
        assert_eq!(differences(&machine_with(&[]).facts, &machine_with(&[]).facts), []);
        let second = machine_with(&[
            ("kernel.release", ""),
            ("processor.cache.l1_data.shared_by", ""),
            ("processor.cache.l2", "1 MiB"),
            ("processor.family", "26"),
            ("software.git_revision", "0"),
            ("topology.cores", "0;1"),
        ]);
        assert_eq!(differences(&machine_with(&[]).facts, &second.facts).len(), 6);
        let found = between_machines(&machine_with(&[]), &second);
        let names =
            |facts: &[&Difference]| facts.iter().map(|fact| fact.name.clone()).collect::<Vec<_>>();
        let found = by_kind(&found);
        assert_eq!(names(&found.cpus), ["processor.cache.l2"]);
        assert_eq!(names(&found.kernels), ["kernel.release"]);
        assert_eq!(names(&found.others), ["processor.family"]);
    }

    #[test]
    fn a_fact_that_only_one_side_has_is_a_change_and_a_limit_is_none() {
        let process = |facts: &[(&str, &str)]| {
            environment(&[facts, &[(ALWAYS_INHERITED, "50000")]].concat()).facts
        };
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
