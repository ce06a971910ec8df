import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.LongStream;

/**
 * Virtual threads that share one ReentrantLock, as the program lock-hand-over measures threads and
 * async tasks in its closed loop. A lap is 1024 consecutive acquisitions by any of the threads.
 * {@code turn} is the mean time from one acquisition by a thread to its next.
 *
 * <p>Known biases: a virtual thread gives up its carrier only when it finds the lock taken, so with
 * one worker the first makes all acquisitions. The lock may be taken again at once by the thread that
 * released it.
 */
final class Lock extends ClosedLoop {
    private static final int BLOCK = 1024;
    /** No lock at all, which the check must detect. */
    private static final boolean BROKEN = Boolean.getBoolean("brigade.broken");

    private final long inside = Brigade.number("inside"), outside = Brigade.number("outside");
    private final ReentrantLock lock = new ReentrantLock();
    /** Each thread's acquisitions, in the end. */
    private final long[] made = new long[Brigade.tasks];
    /** The number of acquisitions; only the lock protects it. */
    private long acquired;

    static void measure() {
        long inside = Brigade.number("inside");
        Lock measured = measure(inside, Lock::new);
        if (measured.laps.isEmpty()) return;
        Brigade.report("iteration", "acquisition", BLOCK, false, measured.laps);
        Brigade.report("turn", "acquisition", 1, false, measured.turns(BLOCK, measured.made));
        Brigade.more = Work.report(inside);
    }

    @Override
    void start() {
        for (int i = 0; i < made.length; i++) {
            int task = i;
            start(Thread.ofVirtual(), () -> made[task] = share());
        }
    }

    @Override
    void verify() {
        long sum = LongStream.of(made).sum();
        if (sum != acquired) {
            throw new IllegalStateException("this lock does not exclude: the threads made " + sum
                    + " acquisitions, the counter that it protects shows " + acquired);
        }
    }

    /**
     * A thread's main method; returns its number of acquisitions. Each piece of work uses the result of
     * the one before it; otherwise the processor would begin it earlier.
     */
    private long share() {
        long made = 0, computed = 0, zero = Work.zero(), inside = this.inside, outside = this.outside;
        ReentrantLock lock = this.lock;
        AtomicIntegerArray over = this.over;
        while (over.get(32) == 0 && !Brigade.stopped) {
            if (!BROKEN) lock.lock();
            long before = acquired;
            if (inside > 0) computed = Work.spend(inside | (computed ^ before) & zero);
            acquired = before + 1;
            boolean endsLap = (before + 1) % BLOCK == 0;
            // Before the release: after it, others may run first.
            long lap = endsLap ? endLap() : 0;
            if (!BROKEN) lock.unlock();
            made++;
            if (endsLap) record(() -> lap);
            if (outside > 0) computed = Work.spend(outside | computed & zero);
        }
        return made;
    }
}
