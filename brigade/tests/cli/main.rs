//! Tests `brigade` from outside: flags in, files and text out. Its programs are
//! shell scripts here.

mod advise;
mod architecture;
mod bench;
mod build;
mod check;
mod compare;
mod documents;
mod faults;
mod flags;
mod guests;
mod limits;
mod orphans;
mod page;
mod readers;
mod report;
mod resume;
mod rounds;
mod run;
mod scripts;
mod stranger;
mod trace;
