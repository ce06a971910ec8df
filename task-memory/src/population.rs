//! Populations: growing sets of idle tasks of one kind.

use std::process;

/// Idle tasks of one kind.
pub trait Population {
    /// Creates the task with this number.
    ///
    /// # Errors
    /// [`harness::failure::Shortage`] if the kernel refuses it.
    fn create(&mut self, task: u64) -> anyhow::Result<()>;

    /// Waits until the tasks, of which there are this many, have touched their memory.
    ///
    /// # Errors
    /// If one has ended.
    fn wait(&mut self, _tasks: u64) -> anyhow::Result<()> {
        Ok(())
    }

    /// Adds `count` tasks to the `tasks` so far, and returns when each of them has touched its
    /// memory. If one is refused, the ones before it stay.
    ///
    /// # Errors
    /// Those of the other methods.
    fn add(&mut self, tasks: &mut u64, count: u64) -> anyhow::Result<()> {
        let created = (0..count).try_for_each(|_| {
            self.create(*tasks)?;
            *tasks += 1;
            Ok(())
        });
        self.wait(*tasks).and(created)
    }

    /// The processes of the tasks.
    fn processes(&self) -> Vec<u32> {
        vec![process::id()]
    }

    /// Ends all tasks that would outlive this process.
    ///
    /// # Errors
    /// If a task failed.
    fn end(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}
