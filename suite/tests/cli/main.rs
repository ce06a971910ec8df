//! `brigade` as its users meet it: flags in, files and text out. The programs
//! that it runs here are shell scripts.

mod advise;
mod bench;
mod build;
mod check;
mod compare;
mod disk;
mod faults;
mod flags;
#[path = "../made_up/fleet.rs"]
mod fleet;
mod hostile;
mod hosts;
mod impact;
mod interference;
mod interruption;
mod list;
mod lock;
mod orphans;
mod page;
mod pairs;
mod prove;
mod records;
mod report;
mod resume;
mod rounds;
mod run;
mod stranger;
