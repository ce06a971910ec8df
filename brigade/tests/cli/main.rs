//! Tests `brigade` from outside: flags in, files and text out. Its programs are
//! shell scripts here.

mod bench;
mod claims;
mod compare;
mod faults;
mod guest_builds;
mod guests;
mod inherited;
mod machine;
mod neighbours;
mod report;
mod repository;
mod run;
mod scripts;
mod strangers;
mod trace;
