//! Forked processes that wait to be ended.

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::{Population, Refused};

#[derive(Default)]
pub struct Processes {
    children: Vec<Pid>,
}

impl Population for Processes {
    fn add(&mut self) -> Result<(), Refused> {
        let parent = Pid::this();
        // SAFETY: the child calls nothing but `live`, which allocates nothing
        // and takes no lock.
        match unsafe { libc::fork() } {
            -1 => Err(Refused::last("forking a process")),
            0 => live(parent),
            child => {
                self.children.push(Pid::from_raw(child));
                Ok(())
            }
        }
    }
}

/// The whole life of a child: it ends with its parent at the latest.
fn live(parent: Pid) -> ! {
    // SAFETY: plain system calls on numbers; `_exit` runs no destructor of the
    // parent's. A parent that was gone before the first call sends no signal.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        while libc::getppid() == parent.as_raw() {
            libc::pause();
        }
        libc::_exit(0)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &self.children {
            let _ = kill(*child, Signal::SIGKILL);
        }
        for child in &self.children {
            let _ = waitpid(*child, None);
        }
    }
}
