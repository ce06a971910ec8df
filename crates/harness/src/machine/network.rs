//! Settings of this process's network namespace that change what a request over the loopback device
//! costs, as facts. One that cannot be read is absent.

use std::collections::BTreeSet;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recv, send, socket_with};

use crate::machine::cpus::CpuList;
use crate::machine::inherited::{Facts, joined};
use crate::machine::system_files::{SystemFiles, recordable};

/// Facts that are words of a file: the name, the file, and which word.
const WORDS: [(&str, &str, usize); 7] = [
    ("congestion_control", "proc/sys/net/ipv4/tcp_congestion_control", 0),
    ("busy_poll_us", "proc/sys/net/core/busy_poll", 0),
    ("busy_read_us", "proc/sys/net/core/busy_read", 0),
    // The smallest size, the one at first, and the largest one.
    ("receive_buffer_bytes", "proc/sys/net/ipv4/tcp_rmem", 1),
    ("longest_receive_buffer_bytes", "proc/sys/net/ipv4/tcp_rmem", 2),
    ("send_buffer_bytes", "proc/sys/net/ipv4/tcp_wmem", 1),
    ("longest_send_buffer_bytes", "proc/sys/net/ipv4/tcp_wmem", 2),
];

/// The facts, named `net.…`.
pub fn facts() -> Facts {
    facts_from(&SystemFiles::live(), loopback().ok().as_deref())
}

fn facts_from(files: &SystemFiles, loopback: Option<&[u8]>) -> Facts {
    let word = |file: &str, number: usize| {
        Some(recordable(files.text(file)?.split_whitespace().nth(number)?))
    };
    let mut facts = Facts::new();
    let mut set = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.insert(format!("net.{name}"), value);
        }
    };
    for (name, file, number) in WORDS {
        set(name, word(file, number));
    }
    let attribute = |kind| attribute(loopback?, kind);
    let mtu =
        attribute(libc::IFLA_MTU).and_then(|bytes| Some(u32::from_ne_bytes(*bytes.first_chunk()?)));
    // A sandbox that does not know it reports 0.
    set("loopback_mtu", mtu.filter(|mtu| *mtu > 0).map(|mtu| mtu.to_string()));
    let qdisc = attribute(libc::IFLA_QDISC).map(|text| recordable(&String::from_utf8_lossy(text)));
    set("loopback_qdisc", qdisc.filter(|name| !name.is_empty()));
    set("loopback_receive_cpus", receiving_cpus(files));
    facts
}

/// The CPUs to which the loopback device passes what it receives, or `none` if what is sent is
/// received on the same CPU.
fn receiving_cpus(files: &SystemFiles) -> Option<String> {
    // `/sys` may show the devices of another namespace.
    let devices = files.text("proc/self/net/dev")?;
    let devices =
        devices.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    let shown = files.names("sys/class/net").into_iter().filter(|name| name != "bonding_masters");
    if !devices.collect::<BTreeSet<_>>().into_iter().eq(shown) {
        return None;
    }
    let folder = "sys/class/net/lo/queues";
    let queues = files.names(folder).into_iter().filter(|name| name.starts_with("rx-"));
    let masks =
        queues.map(|queue| cpus_of(files.text(&format!("{folder}/{queue}/rps_cpus"))?.trim()));
    let masks: Vec<Vec<usize>> = masks.collect::<Option<_>>()?;
    let cpus: BTreeSet<usize> = masks.iter().flatten().copied().collect();
    let is_known = !masks.is_empty();
    let list = joined([CpuList(Vec::from_iter(cpus)).to_string()]);
    is_known.then(|| list.unwrap_or_else(|| "none".to_owned()))
}

/// The CPUs in a mask such as `00000001,00000003`: words of 32 bits, the highest first.
fn cpus_of(mask: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for (word, first) in mask.split(',').rev().zip((0..).step_by(32)) {
        let word = u32::from_str_radix(word, 16).ok()?;
        cpus.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| first + bit));
    }
    Some(cpus)
}

/// The length of a message's head and of `struct ifinfomsg`, after which its attributes follow; see
/// `rtnetlink(7)`.
const HEADS: usize = 32;

/// The loopback device's number in every namespace.
const LOOPBACK: i32 = 1;

/// Longer than the kernel's description of a device.
const LONGEST_REPLY: usize = 64 << 10;

/// The kernel's description of the loopback device.
fn loopback() -> rustix::io::Result<Vec<u8>> {
    // Without a protocol: devices and routes.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut request = [0; HEADS];
    request[..4].copy_from_slice(&(HEADS as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
    request[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request[20..24].copy_from_slice(&LOOPBACK.to_ne_bytes());
    send(&socket, &request, SendFlags::empty())?;
    let mut reply = vec![0; LONGEST_REPLY];
    let (length, _) = recv(&socket, &mut reply[..], RecvFlags::empty())?;
    reply.truncate(length);
    Ok(reply)
}

/// The attribute of this kind in the kernel's description of a device.
fn attribute(reply: &[u8], wanted: u16) -> Option<&[u8]> {
    let number = |bytes: &[u8]| Some(u16::from_ne_bytes(*bytes.first_chunk()?));
    if number(reply.get(4..)?)? != libc::RTM_NEWLINK {
        return None;
    }
    let mut rest = reply.get(HEADS..)?;
    loop {
        let length = usize::from(number(rest)?);
        let kind = number(rest.get(2..)?)?;
        if kind == wanted {
            return rest.get(4..length);
        }
        // At least the head of an attribute, so that this ends.
        rest = rest.get(length.max(4).next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], reply: &[u8]) -> Facts {
        facts_from(&SystemFiles::simulated(files), Some(reply))
    }

    #[test]
    fn files_become_facts_and_what_is_missing_is_unknown() {
        let facts = found(
            &[
                ("proc/sys/net/ipv4/tcp_congestion_control", "bbr\n"),
                ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
                ("proc/sys/net/ipv4/tcp_wmem", "4096\n"),
            ],
            &[],
        );
        let expected = [
            ("net.congestion_control", "bbr"),
            ("net.longest_receive_buffer_bytes", "6291456"),
            ("net.receive_buffer_bytes", "131072"),
        ];
        assert!(facts.iter().map(|(name, value)| (&**name, &**value)).eq(expected), "{facts:?}");
    }

    #[test]
    fn receiving_cpus_are_those_of_this_namespace() {
        let devices = "Inter-|\n face |bytes\n    lo: 1 2\n  eth0: 3 4\n";
        let mask = "sys/class/net/lo/queues/rx-0/rps_cpus";
        let with = |text, device| {
            let files = [("proc/self/net/dev", devices), (mask, text), (device, "")];
            receiving_cpus(&SystemFiles::simulated(&files))
        };
        let here = "sys/class/net/eth0/mtu";
        assert_eq!(with("0\n", here).as_deref(), Some("none"));
        assert_eq!(with("00000001,80000002\n", here).as_deref(), Some("1,31,32"));
        assert_eq!(with("2\n", "sys/class/net/eth1/mtu"), None, "another namespace's devices");
        assert_eq!(with("x\n", here), None);
    }

    #[test]
    fn any_reply_is_read() {
        let mut reply = vec![0; HEADS];
        reply[4] = libc::RTM_NEWLINK as u8;
        for (kind, data) in [
            (libc::IFLA_IFNAME, &b"lo\0"[..]),
            (libc::IFLA_MTU, &[0, 0, 1, 0]),
            (libc::IFLA_QDISC, b"fq\0"),
        ] {
            reply.extend((4 + data.len() as u16).to_ne_bytes());
            reply.extend(kind.to_ne_bytes());
            reply.extend(data);
            reply.resize(reply.len().next_multiple_of(4), 0);
        }
        let facts = found(&[], &reply);
        assert_eq!((&*facts["net.loopback_mtu"], &*facts["net.loopback_qdisc"]), ("65536", "fq"));
        for cut in 0..reply.len() {
            found(&[], &reply[..cut]);
            let mut damaged = reply.clone();
            damaged[cut] = 0;
            found(&[], &damaged);
        }
    }
}
