//! Sets of CPUs: lists in flags, and affinity masks.

use std::fmt;
use std::str::FromStr;

use nix::errno::Errno;

/// The most CPUs of any kernel build (`NR_CPUS` of x86 with `MAXSMP`).
const MOST: usize = 8192;
/// CPUs per word of a mask.
const PER_WORD: usize = libc::c_ulong::BITS as usize;

/// Words of a mask of all CPUs; the kernel refuses one with fewer bits than CPUs.
const WORDS: usize = MOST / PER_WORD;

/// An ordered list of CPU numbers, written like `0,2-3`. Numbers start at 0 and
/// are unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.matches(',').count() >= MOST {
            return Err(format!("the list has more than {MOST} parts"));
        }
        let mut numbers = Vec::new();
        let mut seen = [false; MOST];
        for part in text.split(',') {
            for number in range(part)? {
                if !seen[number] {
                    seen[number] = true;
                    numbers.push(number);
                }
            }
        }
        Ok(Self(numbers))
    }
}

/// The CPUs of a list that the kernel prints, such as `0-3,8`; none if it is no list.
pub fn listed(text: &str) -> Vec<usize> {
    text.trim().parse().map_or_else(|_| Vec::new(), |list: CpuList| list.0)
}

/// Parses `3` or `2-5`.
fn range(part: &str) -> Result<std::ops::RangeInclusive<usize>, String> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let number = |digits: &str| match digits.parse::<usize>() {
        Ok(number) if number < MOST => Ok(number),
        Ok(number) => Err(format!("CPU {number} is beyond the {MOST} supported")),
        Err(_) => Err(format!("'{part}' is not a CPU number or a range such as 2-3")),
    };
    let first = number(first)?;
    let last = number(last)?;
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

/// A kernel CPU set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask(pub(crate) [libc::c_ulong; WORDS]);

impl Mask {
    /// The mask of these CPUs.
    pub fn new(cpus: &[usize]) -> Self {
        let mut mask = [0; WORDS];
        for cpu in cpus {
            mask[cpu / PER_WORD] |= 1 << (cpu % PER_WORD);
        }
        Self(mask)
    }

    /// The CPUs of the mask, in ascending order.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        let used = self.0.iter().enumerate().filter(|(_, word)| **word != 0);
        let cpus = used.flat_map(|(index, _)| index * PER_WORD..(index + 1) * PER_WORD);
        cpus.filter(|cpu| self.0[cpu / PER_WORD] & (1 << (cpu % PER_WORD)) != 0).collect()
    }

    /// Confines the calling thread and its future children to the CPUs of the mask, without
    /// allocations or locks.
    ///
    /// # Errors
    /// If none of the CPUs may be used.
    pub fn confine(&self) -> nix::Result<()> {
        let mask = self.0.as_ptr().cast();
        // SAFETY: the kernel reads this many bytes from the words.
        let result = unsafe { libc::sched_setaffinity(0, size_of_val(&self.0), mask) };
        Errno::result(result).map(drop)
    }
}

/// The CPUs that the calling thread may run on, in ascending order.
///
/// # Errors
/// If the kernel refuses, as on machines with more CPUs than [`CpuList`]
/// supports.
pub fn allowed() -> nix::Result<Vec<usize>> {
    of_thread(0)
}

/// The CPUs that the thread with this number, or the first of a process, may run on.
///
/// # Errors
/// If [`allowed`] would fail, or there is no such thread.
pub fn of_thread(tid: u32) -> nix::Result<Vec<usize>> {
    let mut mask = Mask([0; WORDS]);
    let words = mask.0.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most this many bytes to the words.
    let result = unsafe { libc::sched_getaffinity(tid.cast_signed(), size_of_val(&mask.0), words) };
    Errno::result(result).map(|_| mask.numbers())
}

/// Confines the calling thread and its future children to `cpus`.
///
/// # Errors
/// If none of them may be used.
pub fn confine(cpus: &[usize]) -> nix::Result<()> {
    Mask::new(cpus).confine()
}

/// A CPU that the kernel does not name.
pub const UNKNOWN: u32 = u32::MAX;

/// The calling thread's current CPU, or [`UNKNOWN`].
#[inline]
pub fn current() -> u32 {
    // SAFETY: sched_getcpu takes nothing and writes nothing.
    let cpu = unsafe { libc::sched_getcpu() };
    cpu as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<usize>, String> {
        text.parse::<CpuList>().map(|list| list.0)
    }

    #[test]
    fn lists_and_ranges_are_read_in_order_and_once() {
        assert_eq!(parsed("0"), Ok(vec![0]));
        assert_eq!(parsed("3,0-1"), Ok(vec![3, 0, 1]));
        assert_eq!(parsed("1,0-2"), Ok(vec![1, 0, 2]));
        for wrong in ["", "a", "2-1", "-1", "9999", "0-999999999"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    /// However long the list is that they are read from.
    #[test]
    fn numbers_are_as_many_as_there_can_be_cpus() {
        let all = |times: usize| parsed(&vec!["0-8191"; times].join(","));
        assert_eq!(all(1000).map(|numbers| numbers.len()), Ok(MOST));
        assert!(all(10_000).is_err());
    }

    #[test]
    fn a_mask_has_the_cpus_that_it_was_made_of() {
        assert_eq!(Mask::new(&[1500, 0, 2]).numbers(), [0, 2, 1500]);
    }
}
