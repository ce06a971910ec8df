//! The filter for text from outside on its way into a record: it names no host, user, address or
//! folder, since people share their results. A path keeps its last part, `brigade.py` of
//! `/home/alice/brigade.py`, and those of `/proc` and `/sys`, which are alike on all machines, stay.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::LazyLock;
use std::{env, fs};

use nix::unistd::{geteuid, getuid};

/// What replaces a name.
const WITHHELD: &str = "[withheld]";

/// Names of users and hosts that identify nobody.
const COMMON: [&str; 16] = [
    "admin",
    "build",
    "builder",
    "debian",
    "fedora",
    "host",
    "linux",
    "localhost",
    "node",
    "nobody",
    "pc",
    "root",
    "runner",
    "ubuntu",
    "user",
    "vm",
];

/// Folders of every machine. What lies right in another one, as `alice` in `/home`, may be a name.
const SYSTEM: [&str; 14] = [
    "bin", "boot", "dev", "etc", "lib", "lib64", "opt", "proc", "run", "sbin", "sys", "tmp", "usr",
    "var",
];

/// Controllers of control groups: a file's name begins with one, a group's name may be a user's.
const CONTROLLERS: [&str; 6] = ["cgroup.", "cpu.", "cpuset.", "io.", "memory.", "pids."];

/// What identifies this machine and its user.
#[derive(Debug)]
struct Names {
    /// The names in lower case, longest first.
    names: Vec<String>,
    /// The user's folders, longest first. They may contain spaces.
    folders: Vec<String>,
}

static HERE: LazyLock<Names> = LazyLock::new(|| {
    let variables = |names: &[&str]| names.iter().flat_map(env::var).collect::<Vec<String>>();
    let file = |path| fs::read_to_string(path).unwrap_or_default();
    let host = file("/proc/sys/kernel/hostname");
    let mut names = variables(&["USER", "LOGNAME", "SUDO_USER"]);
    let mut folders = variables(&["HOME", "TMPDIR"]);
    if let Ok(folder) = env::current_dir()
        && let Ok(folder) = folder.into_os_string().into_string()
    {
        folders.push(folder);
    }
    let host = host.trim();
    names.push(host.to_owned());
    if let Some(label) = host.split('.').next() {
        names.push(label.to_owned());
    }
    // Without asking a server for users.
    for line in file("/etc/passwd").lines() {
        let fields: Vec<&str> = line.split(':').collect();
        if let [name, _, user, _, _, home, ..] = fields[..]
            && [getuid(), geteuid()].iter().any(|own| own.to_string() == user)
        {
            names.push(name.to_owned());
            folders.push(home.to_owned());
        }
    }
    Names::new(names, folders)
});

impl Names {
    fn new(names: Vec<String>, folders: Vec<String>) -> Self {
        let names = names.into_iter().map(|name| name.to_ascii_lowercase());
        let folders = folders.iter().map(|folder| folder.trim_end_matches('/').to_owned());
        Self {
            // A single letter is a word of most sentences.
            names: longest_first(
                names.filter(|name| name.len() > 1 && !COMMON.contains(&name.as_str())),
            ),
            folders: longest_first(folders.filter(|folder| folder.len() > 1)),
        }
    }
}

fn longest_first(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.collect::<BTreeSet<_>>().into_iter().collect();
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    texts
}

/// Any text, such as an error.
pub fn text(text: &str) -> String {
    HERE.without_places(text)
}

/// A name of what is measured: plain words stay, even if somebody is called so.
pub fn name(name: &str) -> String {
    if name.split(' ').all(is_plain) { name.to_owned() } else { text(name) }
}

/// A command line, or one of its words: plain words stay, since they are names of programs, flags and
/// their values.
pub fn command(line: &str) -> String {
    let shown = |word: &str| if is_plain(word) { word.to_owned() } else { text(&last_part(word)) };
    line.split(' ').map(shown).collect::<Vec<_>>().join(" ")
}

fn is_plain(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=,".contains(c))
}

/// The last part of a relative path, also behind `name=`; anything else as it is.
fn last_part(word: &str) -> String {
    let (name, value) = word.split_at(word.find('=').map_or(0, |equals| equals + 1));
    let parts: Vec<&str> = value.split('/').filter(|part| !part.is_empty()).collect();
    match parts[..] {
        [_, .., last] if !value.starts_with('/') => format!("{name}{last}"),
        _ => word.to_owned(),
    }
}

impl Names {
    /// `text` without absolute paths, names and addresses.
    fn without_places(&self, text: &str) -> String {
        let mut safe = String::with_capacity(text.len());
        let mut done = 0;
        while let Some((start, end)) = self.next_path(text, done) {
            safe += &self.without_names(&text[done..start]);
            safe += &self.shown(&text[start..end]);
            done = end;
        }
        safe + &self.without_names(&text[done..])
    }

    /// Where the next absolute path begins, from `from` on, and where it ends.
    fn next_path(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        let begins = |at: usize| {
            let before = text[..at].chars().next_back();
            let after = text[at + 1..].chars().next();
            !before.is_some_and(is_of_path) && after.is_some_and(is_of_path)
        };
        let slashes = text[from..].match_indices('/').map(|(at, _)| from + at);
        let start = slashes.into_iter().find(|at| begins(*at))?;
        let rest = &text[start..];
        let known =
            self.folders.iter().find(|folder| is_inside(rest, folder)).map_or(0, String::len);
        let length = rest[known..].find(|c| !is_of_path(c)).map_or(rest.len(), |end| known + end);
        Some((start, start + length))
    }

    /// What a record shows of an absolute path.
    fn shown(&self, path: &str) -> String {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
            return path.to_owned();
        };
        let is_of_group = parts.starts_with(&["sys", "fs", "cgroup"]);
        let is_alike = ["proc", "sys"].contains(first) && !is_of_group;
        let whole = path.trim_end_matches('/');
        let is_name = self.folders.iter().any(|folder| folder == whole)
            || (parts.len() <= 2 && !SYSTEM.contains(first))
            || (is_of_group && !CONTROLLERS.iter().any(|name| last.starts_with(name)));
        if is_alike {
            self.without_names(path)
        } else if is_name {
            WITHHELD.to_owned()
        } else {
            self.without_names(last)
        }
    }

    /// `text` without names of users and hosts, and addresses.
    fn without_names(&self, text: &str) -> String {
        let is_between = |c: char| c.is_whitespace() || "\"'`,;()[]<>{}=".contains(c);
        let shown = |part: &str| {
            let word = part.trim_end_matches(is_between);
            let rest = &part[word.len()..];
            let is_address = is_address(word.trim_end_matches(['.', ':']));
            let word = if is_address { WITHHELD.to_owned() } else { self.without_own(word) };
            word + rest
        };
        text.split_inclusive(is_between).map(shown).collect()
    }

    /// A word without this user's and this host's name, as whole words.
    fn without_own(&self, word: &str) -> String {
        let is_letter = |c: char| c.is_alphanumeric() || c == '_';
        let mut word = word.to_owned();
        for name in &self.names {
            let lower = word.to_ascii_lowercase();
            let is_whole = |at: &usize| {
                !lower[..*at].ends_with(is_letter)
                    && !lower[at + name.len()..].starts_with(is_letter)
            };
            let found = lower.match_indices(name.as_str()).map(|(at, _)| at).filter(is_whole);
            for at in found.collect::<Vec<_>>().into_iter().rev() {
                word.replace_range(at..at + name.len(), WITHHELD);
            }
        }
        word
    }
}

/// Whether a path, of which more may follow, is this folder or something in it.
fn is_inside(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.starts_with('/') || !rest.starts_with(is_of_path))
}

/// Whether a character continues a path, in most texts.
fn is_of_path(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !"\"'`,;:()[]{}<>|&=".contains(c)
}

/// Whether this is the address of a host, perhaps with a port. That of this host itself is no secret.
fn is_address(word: &str) -> bool {
    let with_port = word.parse::<SocketAddr>().map(|address| address.ip());
    let address = with_port.or_else(|_| word.parse::<IpAddr>());
    address.is_ok_and(|address| !address.is_loopback() && !address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Names {
        let names = ["alice", "db1.example.com", "db1", "root", "a"].map(str::to_owned);
        let folders = ["/home/Alice Smith", "/", "/work/tree/"].map(str::to_owned);
        Names::new(names.into(), folders.into())
    }

    #[test]
    fn names_addresses_and_folders_are_withheld() {
        for (text, shown) in [
            ("cannot write to /home/alice/out.hgrm: denied", "cannot write to out.hgrm: denied"),
            ("/home/alice: denied", "[withheld]: denied"),
            ("'/home/bob' and /home/bob/", "'[withheld]' and [withheld]"),
            ("at /home/Alice Smith/my/x.py:3:12", "at x.py:3:12"),
            ("in /home/Alice Smith: no", "in [withheld]: no"),
            ("File \"/work/tree/a.js\", line 1", "File \"a.js\", line 1"),
            ("in /work/tree", "in [withheld]"),
            ("PATH=/usr/bin:/home/alice/bin", "PATH=bin:bin"),
            ("/sys/fs/cgroup/user.slice/user-7.slice/pids.max is 60", "pids.max is 60"),
            ("/sys/fs/cgroup/machine/alice-x.scope", "[withheld]"),
            ("alice@db1 on DB1.example.com:80", "[withheld]@[withheld] on [withheld]:80"),
            ("user-alice.slice, malice, alice_2", "user-[withheld].slice, malice, alice_2"),
            ("refused by 10.0.0.7:5432 (fe80::1)", "refused by [withheld] ([withheld])"),
            ("a user=alice, root", "a user=[withheld], root"),
        ] {
            assert_eq!(here().without_places(text), shown);
            assert_eq!(here().without_places(shown), shown, "twice");
        }
    }

    #[test]
    fn what_is_alike_on_all_machines_stays() {
        for text in [
            "/proc is not mounted here: mount -t proc proc /proc",
            "kernel.pid_max of /proc/sys/kernel/pid_max is 32768, 1/2 of 65536",
            "go version go1.24.4 linux/amd64",
            "docs/PROTOCOL.md describes them; and/or",
            "connecting to 127.0.0.1:4000 and ::1: refused, std::io",
            "12.5 µs // nothing / at all",
            "",
        ] {
            assert_eq!(here().without_places(text), text);
        }
    }

    #[test]
    fn a_name_keeps_its_words() {
        assert_eq!(name("thread creation"), "thread creation");
        assert_eq!(name("<b>x</b> of /home/al/x/y"), "<b>x<[withheld]> of y");
    }

    #[test]
    fn a_command_keeps_its_words_and_loses_its_folders() {
        for (line, shown) in [
            ("thread-brigade --tasks 5 --cpus 0,2-3", "thread-brigade --tasks 5 --cpus 0,2-3"),
            ("p --histogram /home/al/h.txt --json", "p --histogram h.txt --json"),
            ("--command=ls /home/al ../x/y", "--command=ls [withheld] y"),
            ("/usr/bin/taskset", "taskset"),
            ("LD_PRELOAD=/home/me/lib/fast.so", "LD_PRELOAD=fast.so"),
            ("LD_PRELOAD=lib/fast.so", "LD_PRELOAD=fast.so"),
            ("--root=/home/me/", "--root=[withheld]"),
            ("GLIBC_TUNABLES=glibc.malloc.arena_max=1", "GLIBC_TUNABLES=glibc.malloc.arena_max=1"),
        ] {
            assert_eq!(command(line), shown);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_shows_a_name(before in ".{0,20}", after in ".{0,20}") {
            let text = here().without_places(&format!("{before} /home/alice {after}"));
            proptest::prop_assert!(!text.contains(" /home/alice "), "{}", text);
        }
    }
}
