//! Sets of CPUs: the list that a flag names and the mask of a thread.

use std::fmt;
use std::str::FromStr;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// An ordered list of CPU numbers, written like `0,2-3`. Numbers start at 0;
/// none occurs twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(Vec<usize>);

impl CpuList {
    /// The CPU numbers, in the order in which they were named.
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut numbers = Vec::new();
        for part in text.split(',') {
            for number in range(part)? {
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
        }
        Ok(Self(numbers))
    }
}

/// The numbers of `3` or of `2-5`.
fn range(part: &str) -> Result<std::ops::RangeInclusive<usize>, String> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let number = |digits: &str| match digits.parse::<usize>() {
        Ok(number) if number < CpuSet::count() => Ok(number),
        Ok(number) => Err(format!("CPU {number} is beyond the {} supported", CpuSet::count())),
        Err(_) => Err(format!("'{part}' is not a CPU number or a range such as 2-3")),
    };
    let (first, last) = (number(first)?, number(last)?);
    if first > last {
        return Err(format!("the range '{part}' runs backwards"));
    }
    Ok(first..=last)
}

impl fmt::Display for CpuList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.0.iter().map(usize::to_string).collect();
        out.write_str(&numbers.join(","))
    }
}

impl serde::Serialize for CpuList {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The CPUs that the calling thread may run on, in ascending order.
///
/// # Errors
/// When the kernel refuses, as it does on machines with more CPUs than
/// [`CpuSet::count`].
pub fn allowed() -> nix::Result<Vec<usize>> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect())
}

/// Confines the calling thread, and the threads that it will create, to
/// `cpus`.
///
/// # Errors
/// When a number is too large or none of them may be used.
pub fn confine(cpus: &[usize]) -> nix::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    sched_setaffinity(Pid::from_raw(0), &set)
}

/// The CPU that the calling thread runs on at this moment.
#[inline]
pub fn current() -> u32 {
    // SAFETY: sched_getcpu takes nothing and writes nothing.
    let cpu = unsafe { libc::sched_getcpu() };
    cpu as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Result<Vec<usize>, String> {
        text.parse::<CpuList>().map(|list| list.numbers().to_vec())
    }

    proptest! {
        #[test]
        fn whatever_is_given_names_supported_cpus_once_or_is_refused(text in ".*|[0-9,-]{0,40}") {
            if let Ok(numbers) = parsed(&text) {
                let mut unique = numbers.clone();
                unique.sort_unstable();
                unique.dedup();
                prop_assert_eq!(unique.len(), numbers.len());
                prop_assert!(unique.last() < Some(&CpuSet::count()));
            }
        }
    }

    #[test]
    fn lists_and_ranges_are_read_in_order_and_once() {
        assert_eq!(parsed("0"), Ok(vec![0]));
        assert_eq!(parsed("3,0-1"), Ok(vec![3, 0, 1]));
        assert_eq!(parsed("1,0-2"), Ok(vec![1, 0, 2]));
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        assert_eq!(parsed("x"), Err("'x' is not a CPU number or a range such as 2-3".into()));
        assert_eq!(parsed(""), Err("'' is not a CPU number or a range such as 2-3".into()));
        assert_eq!(parsed("3-1"), Err("the range '3-1' runs backwards".into()));
        assert!(parsed("99999").is_err());
        assert!(parsed("0-").is_err());
    }

    #[test]
    fn a_confined_thread_runs_where_it_was_told() {
        std::thread::spawn(|| {
            let cpu = *allowed().expect("affinity").last().expect("at least one CPU");
            confine(&[cpu]).expect("confine");
            assert_eq!(allowed().expect("affinity"), [cpu]);
            assert_eq!(current() as usize, cpu);
        })
        .join()
        .expect("the assertions above");
    }
}
