//! What a host is called: as its folders are, without the date and without the number
//! that a further run of a day gets.

use std::collections::BTreeSet;

/// The hosts of folders of these names, in their order. A number at the end is left out
/// where a folder has the name without it: `2026-11-22-node-1-2` is of `node-1` where
/// there is `2026-11-22-node-1`, and otherwise of `node-1-2`.
pub fn names(folders: &[&str]) -> Vec<String> {
    let all: BTreeSet<&str> = folders.iter().copied().collect();
    let host = |folder: &&str| {
        let first = without_number(folder).filter(|first| all.contains(first));
        without_date(first.unwrap_or(folder)).to_owned()
    };
    folders.iter().map(host).collect()
}

fn without_number(name: &str) -> Option<&str> {
    let (first, number) = name.rsplit_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(first)
}

fn without_date(name: &str) -> &str {
    let is_date = |date: &[u8]| {
        let mut places = date.iter().enumerate();
        places.all(|(place, byte)| match place {
            4 | 7 | 10 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
    };
    let dated = name.as_bytes().get(..11).is_some_and(is_date);
    if dated { &name[11..] } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_its_folder_without_date_and_number() {
        let folders = [
            "2026-11-22-node-1",
            "2026-11-22-node-1-2",
            "2026-11-23-node-1",
            "2026-11-22-node-2",
            "without-a-date",
            "2026-11-22",
            "é",
        ];
        let hosts = ["node-1", "node-1", "node-1", "node-2", "without-a-date", "2026-11-22", "é"];
        assert_eq!(names(&folders), hosts);
    }
}
