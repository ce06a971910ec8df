//! thread-switch from outside: flags in, record out.

mod endings;
mod hand_overs;
mod refusals;
mod run;
