//! The CPUs: model, topology, caches, mitigations, frequency and clock.

use std::collections::{BTreeMap, BTreeSet};

use super::virtualisation;
use crate::store::environment::{Cache, IdleState, Processor, Sharing, Topology};
use harness::cpus::CpuList;
use harness::system_files::{SystemFiles, field, recordable};

/// Where the kernel shows the CPUs.
const CPUS: &str = "sys/devices/system/cpu";

/// Where it shows the NUMA nodes.
const NODES: &str = "sys/devices/system/node";

/// What one CPU says of its place in the machine. The lists of CPUs serve as
/// names: CPUs of one core name the same list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    socket: String,
    core: String,
}

/// What one CPU says of one of its caches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CacheView {
    level: u64,
    holds: String,
    size_bytes: u64,
    sharers: String,
}

impl Processor {
    /// Reads what the kernel shows of the CPUs.
    pub(super) fn read(files: &SystemFiles) -> Self {
        let online = files.text(&format!("{CPUS}/online")).and_then(|list| cpu_list(&list));
        let allowed = files
            .text("proc/self/status")
            .and_then(|status| cpu_list(field(&status, "Cpus_allowed_list")?));
        let cpus = online.clone().unwrap_or_default();
        let cpuinfo = files.text("proc/cpuinfo").unwrap_or_default();
        let idle_driver = files.line(&format!("{CPUS}/cpuidle/current_driver"));
        let polls = idle_driver.as_deref() == Some("haltpoll");
        Self {
            model: model(&cpuinfo),
            family: number(&cpuinfo, "cpu family"),
            model_number: number(&cpuinfo, "model"),
            architecture: std::env::consts::ARCH.to_owned(),
            online_cpus: online.map(|cpus| cpus.len() as u64),
            allowed_cpus: allowed.map(|cpus| cpus.len() as u64),
            topology: topology(&read_places(files, &cpus)),
            caches: caches(read_caches(files, &cpus)),
            mitigations: read_mitigations(files),
            governor: governor(read_governors(files, &cpus)),
            clock_source: files
                .line("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            virtualisation: virtualisation::detect(files),
            idle_poll_ns: polls
                .then(|| files.number("sys/module/haltpoll/parameters/guest_halt_poll_ns"))
                .flatten(),
            idle_driver: idle_driver.filter(|driver| driver != "none"),
            idle_governor: files.line(&format!("{CPUS}/cpuidle/current_governor")),
            idle_states: idle_states(files),
            smt: files.line(&format!("{CPUS}/smt/control")),
            microcode: field(&cpuinfo, "microcode").map(recordable),
            sharing: Sharing::read(files),
        }
    }
}

impl Sharing {
    /// Which CPUs share what, by what the kernel shows; `None` where it does not show
    /// which this process may run on.
    pub fn read(files: &SystemFiles) -> Option<Self> {
        let status = files.text("proc/self/status")?;
        let allowed = recordable(field(&status, "Cpus_allowed_list")?);
        let online = files.text(&format!("{CPUS}/online")).and_then(|list| cpu_list(&list));
        let online = online.unwrap_or_default();
        let core = |cpu: &usize| {
            let list = |name| files.line(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
            // The second name is that of kernels before 5.3.
            list("core_cpus_list").or_else(|| list("thread_siblings_list"))
        };
        let last_cache = |cpu: &usize| {
            let views = read_caches(files, &[*cpu]);
            views.into_iter().max_by_key(|view| view.level).map(|view| view.sharers)
        };
        let names = files.names(NODES);
        let nodes = names.iter().filter_map(|node| files.line(&format!("{NODES}/{node}/cpulist")));
        Some(Self {
            allowed,
            cores: each_once(online.iter().filter_map(core)),
            caches: each_once(online.iter().filter_map(last_cache)),
            nodes: each_once(nodes.filter(|list| !list.is_empty())),
        })
    }
}

/// Every list once, in the order in which they come.
fn each_once(lists: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    lists.filter(|list| seen.insert(list.clone())).collect()
}

/// The idle states of the first CPU.
fn idle_states(files: &SystemFiles) -> Vec<IdleState> {
    let folder = format!("{CPUS}/cpu0/cpuidle");
    let state = |name: String| {
        let file = |of: &str| format!("{folder}/{name}/{of}");
        Some(IdleState {
            name: files.line(&file("name"))?,
            latency_us: files.number(&file("latency")),
            disabled: files.number(&file("disable")).map(|disabled| disabled != 0),
        })
    };
    files.names(&folder).into_iter().filter_map(state).collect()
}

fn read_places(files: &SystemFiles, cpus: &[usize]) -> Vec<Place> {
    let place = |cpu| {
        let list = |name| files.line(&format!("{CPUS}/cpu{cpu}/topology/{name}_cpus_list"));
        Some(Place { socket: list("package")?, core: list("core")? })
    };
    cpus.iter().filter_map(place).collect()
}

fn read_caches(files: &SystemFiles, cpus: &[usize]) -> Vec<CacheView> {
    let view = |directory: String| {
        Some(CacheView {
            level: files.number(&format!("{directory}/level"))?,
            holds: files.line(&format!("{directory}/type"))?.to_ascii_lowercase(),
            size_bytes: size_bytes(&files.line(&format!("{directory}/size"))?)?,
            sharers: files.line(&format!("{directory}/shared_cpu_list"))?,
        })
    };
    cpus.iter()
        .map(|cpu| format!("{CPUS}/cpu{cpu}/cache"))
        .flat_map(|directory| {
            let names = files.names(&directory);
            names.into_iter().map(move |name| format!("{directory}/{name}"))
        })
        .filter_map(view)
        .collect()
}

fn read_mitigations(files: &SystemFiles) -> BTreeMap<String, String> {
    let directory = format!("{CPUS}/vulnerabilities");
    let state =
        |name: String| files.line(&format!("{directory}/{name}")).map(|state| (name, state));
    files.names(&directory).into_iter().filter_map(state).collect()
}

fn read_governors(files: &SystemFiles, cpus: &[usize]) -> BTreeSet<String> {
    let governor = |cpu| files.line(&format!("{CPUS}/cpu{cpu}/cpufreq/scaling_governor"));
    cpus.iter().filter_map(governor).collect()
}

/// The first CPU's name in `/proc/cpuinfo`, where the architecture has one.
fn model(cpuinfo: &str) -> Option<String> {
    ["model name", "Model", "cpu"]
        .iter()
        .find_map(|name| field(cpuinfo, name))
        .map(recordable)
        .filter(|model| !model.is_empty())
}

/// The first CPU's number of this name in `/proc/cpuinfo`.
fn number(cpuinfo: &str, name: &str) -> Option<u64> {
    field(cpuinfo, name)?.parse().ok()
}

/// The CPUs of a list such as `0-3,8`; `None` if it is not one.
fn cpu_list(list: &str) -> Option<Vec<usize>> {
    list.trim().parse().ok().map(|list: CpuList| list.numbers().to_vec())
}

/// `32K` in bytes.
fn size_bytes(size: &str) -> Option<u64> {
    let split = size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len());
    let (number, unit) = size.split_at(split);
    let factor = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

fn topology(places: &[Place]) -> Option<Topology> {
    let mut cores_of_socket = BTreeMap::<_, BTreeSet<_>>::new();
    let mut threads_of_core = BTreeMap::<_, u64>::new();
    for place in places {
        cores_of_socket.entry(&place.socket).or_default().insert(&place.core);
        *threads_of_core.entry(&place.core).or_default() += 1;
    }
    Some(Topology {
        sockets: cores_of_socket.len() as u64,
        cores_per_socket: cores_of_socket.values().map(|cores| cores.len() as u64).max()?,
        threads_per_core: threads_of_core.into_values().max()?,
    })
}

/// The kinds of cache in what all CPUs see: a view that is seen by several
/// CPUs is one instance, and instances that differ in nothing are one kind.
fn caches(views: Vec<CacheView>) -> Vec<Cache> {
    let mut seen_by = BTreeMap::<CacheView, u64>::new();
    for view in views {
        *seen_by.entry(view).or_default() += 1;
    }
    let mut instances = BTreeMap::<_, u64>::new();
    for (CacheView { level, holds, size_bytes, .. }, cpus) in seen_by {
        *instances.entry((level, holds, size_bytes, cpus)).or_default() += 1;
    }
    instances
        .into_iter()
        .map(|((level, holds, size_bytes, shared_by_cpus), instances)| Cache {
            level,
            holds,
            size_bytes,
            shared_by_cpus,
            instances,
        })
        .collect()
}

fn governor(governors: BTreeSet<String>) -> String {
    if governors.is_empty() {
        return "unknown".to_owned();
    }
    governors.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_that_a_file_says_ends_the_runner(text in ".*|[0-9,-]{0,60}|[0-9]{0,30}[KMG]") {
            let _ = (model(&text), size_bytes(&text), cpu_list(&text));
        }
    }

    fn place(socket: &str, core: &str) -> Place {
        Place { socket: socket.to_owned(), core: core.to_owned() }
    }

    #[test]
    fn the_model_is_found_where_there_is_one() {
        assert_eq!(model("processor\t: 0\nmodel name\t: AMD EPYC\n"), Some("AMD EPYC".to_owned()));
        assert_eq!(model("processor\t: 0\ncpu\t\t: POWER9\n"), Some("POWER9".to_owned()));
        assert_eq!(model("processor\t: 0\nCPU implementer\t: 0x41\n"), None);
        assert_eq!(model("model name\t:\n"), None);
    }

    #[test]
    fn family_and_number_tell_models_of_one_name_apart() {
        let cpuinfo = "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n";
        assert_eq!(number(cpuinfo, "cpu family"), Some(25));
        assert_eq!(number(cpuinfo, "model"), Some(17));
        assert_eq!(number("model name\t: AMD EPYC\n", "model"), None);
    }

    #[test]
    fn the_kernels_lists_end_in_a_line_feed() {
        assert_eq!(cpu_list("0,2-3\n"), Some(vec![0, 2, 3]));
        assert_eq!(cpu_list("\n"), None);
    }

    #[test]
    fn cache_sizes_have_units() {
        assert_eq!(size_bytes("32K"), Some(32 << 10));
        assert_eq!(size_bytes("8M"), Some(8 << 20));
        assert_eq!(size_bytes("512"), Some(512));
        assert_eq!(size_bytes("1T"), None);
        assert_eq!(size_bytes("K"), None);
    }

    #[test]
    fn cpus_that_name_the_same_list_share_a_core() {
        let two_way =
            [place("0-3", "0,2"), place("0-3", "1,3"), place("0-3", "0,2"), place("0-3", "1,3")];
        let expected = Topology { sockets: 1, cores_per_socket: 2, threads_per_core: 2 };
        assert_eq!(topology(&two_way), Some(expected));
        let uneven = [place("0-2", "0-1"), place("0-2", "0-1"), place("0-2", "2"), place("3", "3")];
        let expected = Topology { sockets: 2, cores_per_socket: 2, threads_per_core: 2 };
        assert_eq!(topology(&uneven), Some(expected));
        assert_eq!(topology(&[]), None);
    }

    #[test]
    fn caches_are_told_apart_by_who_shares_them() {
        let view = |level, sharers: &str| CacheView {
            level,
            holds: "unified".to_owned(),
            size_bytes: 1 << 20,
            sharers: sharers.to_owned(),
        };
        let kinds = caches(vec![view(2, "0"), view(3, "0-1"), view(2, "1"), view(3, "0-1")]);
        let summary: Vec<_> =
            kinds.iter().map(|kind| (kind.level, kind.shared_by_cpus, kind.instances)).collect();
        assert_eq!(summary, [(2, 1, 2), (3, 2, 1)]);
    }

    #[test]
    fn governors_are_named_once_each_or_unknown() {
        assert_eq!(governor(BTreeSet::new()), "unknown");
        let two = BTreeSet::from(["schedutil".to_owned(), "performance".to_owned()]);
        assert_eq!(governor(two), "performance, schedutil");
    }

    #[test]
    fn a_machine_that_shows_nothing_has_no_figures() {
        let processor = Processor::read(&SystemFiles::made_up(&[]));
        assert_eq!(processor.online_cpus, None);
        assert_eq!(processor.topology, None);
        assert!(processor.caches.is_empty() && processor.mitigations.is_empty());
        assert_eq!(processor.governor, "unknown");
    }

    /// Two cores of two threads, whose level 3 cache and node are one.
    #[test]
    fn cpus_that_share_are_listed_once() {
        let cpu = "sys/devices/system/cpu";
        let made = SystemFiles::made_up(&[
            (&format!("{cpu}/online"), "0-3\n"),
            ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-2\n"),
            ("sys/devices/system/node/node0/cpulist", "0-3\n"),
            ("sys/devices/system/node/node1/cpulist", "\n"),
            ("sys/devices/system/node/online", "0\n"),
        ]);
        let made = (0..4).fold(made, |files, number| {
            let siblings = format!("{},{}\n", number % 2, number % 2 + 2);
            let folder = format!("{cpu}/cpu{number}");
            let files = files.with(&format!("{folder}/topology/thread_siblings_list"), &siblings);
            [("index0", "1", "32K", &*siblings), ("index3", "3", "8M", "0-3\n")].iter().fold(
                files,
                |files, (index, level, size, sharers)| {
                    let file = |of| format!("{folder}/cache/{index}/{of}");
                    files
                        .with(&file("level"), level)
                        .with(&file("type"), "Unified\n")
                        .with(&file("size"), size)
                        .with(&file("shared_cpu_list"), sharers)
                },
            )
        });
        let sharing = Sharing::read(&made).expect("the CPUs that may be used are known");
        assert_eq!(sharing.allowed, "0-2");
        assert_eq!(sharing.cores, ["0,2", "1,3"]);
        assert_eq!(
            (sharing.caches, sharing.nodes),
            (vec!["0-3".to_owned()], vec!["0-3".to_owned()])
        );
        assert_eq!(Sharing::read(&SystemFiles::made_up(&[])), None);
    }

    #[test]
    fn the_kernels_files_are_read() {
        let cpu = "sys/devices/system/cpu";
        let made = SystemFiles::made_up(&[
            (&format!("{cpu}/online"), "0\n"),
            (&format!("{cpu}/cpu0/topology/package_cpus_list"), "0\n"),
            (&format!("{cpu}/cpu0/topology/core_cpus_list"), "0\n"),
            (&format!("{cpu}/cpu0/cache/index0/level"), "1\n"),
            (&format!("{cpu}/cpu0/cache/index0/type"), "Data\n"),
            (&format!("{cpu}/cpu0/cache/index0/size"), "32K\n"),
            (&format!("{cpu}/cpu0/cache/index0/shared_cpu_list"), "0\n"),
            (&format!("{cpu}/cpu0/cache/uevent"), ""),
            (&format!("{cpu}/vulnerabilities/meltdown"), "Mitigation: PTI\n"),
            (&format!("{cpu}/cpu0/cpufreq/scaling_governor"), "performance\n"),
            (&format!("{cpu}/cpuidle/current_driver"), "haltpoll\n"),
            ("sys/module/haltpoll/parameters/guest_halt_poll_ns", "200000\n"),
            ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0\n"),
        ]);
        let processor = Processor::read(&made);
        assert_eq!((processor.online_cpus, processor.allowed_cpus), (Some(1), Some(1)));
        assert_eq!(processor.caches.len(), 1);
        assert_eq!(processor.caches[0].size_bytes, 32 << 10);
        assert_eq!(processor.mitigations["meltdown"], "Mitigation: PTI");
        assert_eq!(processor.governor, "performance");
        assert_eq!(processor.idle_driver.as_deref(), Some("haltpoll"));
        assert_eq!(processor.idle_poll_ns, Some(200_000));
        let sharing = processor.sharing.expect("the CPUs that may be used are known");
        assert_eq!((sharing.allowed.as_str(), sharing.cores.len()), ("0", 1));
        assert_eq!((sharing.caches, sharing.nodes), (vec!["0".to_owned()], vec![]));
    }
}
