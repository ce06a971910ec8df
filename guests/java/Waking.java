import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One event that wakes N virtual threads, by signalAll of a Condition, as the program wake-all measures
 * threads and async tasks. A lap is one event, and an operation is one woken thread: its time runs from
 * the call until the last thread runs.
 *
 * <p>Each thread counts itself with the lock held before it waits, and the wait releases the lock: once
 * all are counted, all wait, and 50 µs later the next event comes. A woken thread takes the lock again, so
 * they run one after another.
 */
final class Waking {
    private final int tasks = Brigade.tasks;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition(), arrived = lock.newCondition();
    /** The lock protects these. */
    private long events;
    private int waiting;
    private boolean over;

    /** When each thread ran last, and how often it was woken: eight apart, on cache lines of their own. */
    private final long[] at = new long[8 * tasks], woken = new long[8 * tasks];
    private final List<Long> first = new ArrayList<>(), between = new ArrayList<>(), call = new ArrayList<>();

    static void measure() {
        new Waking().run();
    }

    private void run() {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < tasks; i++) {
            int task = i;
            threads.add(Thread.startVirtualThread(() -> Brigade.unless(() -> live(task))));
        }
        Brigade.unless(this::awaitAll);
        Brigade.measure("last", "wake-up", tasks, () -> {
            long called = System.nanoTime();
            wake(false);
            call.add(System.nanoTime() - called);
            Brigade.unless(this::awaitAll);
            return times(called);
        });
        report("first", first);
        report("first_to_last", between);
        report("call", call);
        wake(true);
        for (Thread thread : threads) Brigade.unless(thread::join);
    }

    /** Reports the times of the measured laps, which are the last ones. */
    private static void report(String name, List<Long> times) {
        Brigade.report(name, "event", 1, false, times.subList(Brigade.warmups, times.size()));
    }

    /** A thread's main method. */
    private void live(int task) throws InterruptedException {
        while (true) {
            lock.lock();
            try {
                if (over) return;
                if (++waiting == tasks) arrived.signal();
                for (long seen = events; events == seen; ) changed.await();
            } finally {
                lock.unlock();
            }
            at[8 * task] = System.nanoTime();
            woken[8 * task]++;
        }
    }

    private void wake(boolean last) {
        lock.lock();
        try {
            over = last;
            waiting = 0;
            events++;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void awaitAll() throws InterruptedException {
        lock.lock();
        try {
            while (waiting < tasks) arrived.await();
        } finally {
            lock.unlock();
        }
        // The carrier threads fall asleep.
        LockSupport.parkNanos(50_000);
    }

    /** Verifies that the event woke each thread once; returns when the last one ran after the call. */
    private long times(long called) {
        long earliest = at[0], latest = at[0];
        for (int task = 0; task < tasks; task++) {
            if (woken[8 * task] != events) {
                throw new IllegalStateException("thread " + task + " was woken " + woken[8 * task]
                        + " times by " + events + " events");
            }
            earliest = Math.min(earliest, at[8 * task]);
            latest = Math.max(latest, at[8 * task]);
        }
        first.add(earliest - called);
        between.add(latest - earliest);
        return latest - called;
    }
}
