import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads that share one ReentrantLock, as the program lock-hand-over measures threads and
 * async tasks in its closed loop. A lap is 1024 consecutive acquisitions by any of the threads.
 * {@code turn} is the mean time from one acquisition by a thread to its next.
 *
 * <p>Known biases: a virtual thread gives up its carrier only when it finds the lock taken, so with
 * one worker the first makes all acquisitions. The lock may be taken again at once by the thread that
 * released it.
 */
final class Lock {
    private static final int BLOCK = 1024;
    /** No lock at all, which the check must detect. */
    private static final boolean BROKEN = Boolean.getBoolean("brigade.broken");
    /** Amounts of work that are timed before and after the laps, and how often: 11 ms. */
    private static final int SHORT = 2_000, LONG = 12_000, TIMES = 501;

    private static long shortNs = Long.MAX_VALUE, longNs = Long.MAX_VALUE;
    private static volatile long none;

    private final ReentrantLock lock = new ReentrantLock(), ending = new ReentrantLock();
    private final long fewest, most;
    private final double seconds;
    /** Its middle element lies on a cache line of its own. */
    private final AtomicIntegerArray over = new AtomicIntegerArray(65);

    private final List<Long> laps = new ArrayList<>(), turns = new ArrayList<>();
    private String endedBy = "signal";
    private long begun;
    /** The number of acquisitions, and when the lap began; only the lock protects them. */
    private long acquired, last;

    private Lock(long fewest, long most, double seconds) {
        this.fewest = fewest;
        this.most = most;
        this.seconds = seconds;
    }

    static void measure() {
        long inside = units("inside"), outside = units("outside");
        int asked = (int) units("warmups");
        if (inside > 0) calibrate();
        Lock warmup = asked < 0 ? new Lock(3, Long.MAX_VALUE, 1.0) : new Lock(1, asked, 1e9);
        if (asked != 0) warmup.drive(inside, outside);
        Brigade.warmups = warmup.laps.size();
        Lock measured = new Lock(1, Brigade.iters, Double.parseDouble(Brigade.flags.get("max-time")));
        Brigade.mark("measuring");
        measured.drive(inside, outside);
        Brigade.mark("measured");
        if (inside > 0) calibrate();
        Brigade.endedBy = measured.endedBy;
        if (measured.laps.isEmpty()) return;
        Brigade.report("iteration", "acquisition", BLOCK, false, measured.laps);
        Brigade.report("turn", "acquisition", 1, false, measured.turns);
        double slope = (double) (longNs - shortNs) / (LONG - SHORT);
        Brigade.more = ",\"work\":{\"units\":" + inside + ",\"ns_per_unit\":" + (inside > 0 ? slope : "null") + "}";
    }

    private static long units(String flag) {
        long units = Long.parseLong(Brigade.flags.get(flag));
        if (units < 0 && !flag.equals("warmups")) Brigade.usage("--" + flag + " is a number from 0");
        return units;
    }

    /** Starts the threads, waits for them and checks their counts. */
    private void drive(long inside, long outside) {
        long[] made = new long[Brigade.tasks];
        List<Thread> threads = new ArrayList<>();
        begun = last = System.nanoTime();
        for (int i = 0; i < made.length; i++) {
            int task = i;
            threads.add(Thread.startVirtualThread(() -> made[task] = share(inside, outside)));
        }
        long sum = 0;
        for (int i = 0; i < made.length; i++) {
            Brigade.unless(threads.get(i)::join);
            turns.add((last - begun) / Math.max(1, made[i]));
            sum += made[i];
        }
        if (sum != acquired) {
            throw new IllegalStateException("this lock does not exclude: the threads made " + sum
                    + " acquisitions, the counter that it protects shows " + acquired);
        }
    }

    /**
     * A thread's main method; returns its number of acquisitions. Each piece of work uses the result of
     * the one before it; otherwise the processor would begin it earlier.
     */
    private long share(long inside, long outside) {
        long made = 0, computed = 0, zero = none;
        ReentrantLock lock = this.lock;
        AtomicIntegerArray over = this.over;
        while (over.get(32) == 0 && !Brigade.stopped) {
            if (!BROKEN) lock.lock();
            long before = acquired;
            if (inside > 0) computed = spend(inside | (computed ^ before) & zero);
            acquired = before + 1;
            long lap = -1;
            if ((before + 1) % BLOCK == 0) {
                // Before the release: after it, others may run first.
                long now = System.nanoTime();
                lap = now - last;
                last = now;
            }
            if (!BROKEN) lock.unlock();
            made++;
            if (lap >= 0) record(lap);
            if (outside > 0) computed = spend(outside | computed & zero);
        }
        return made;
    }

    /** Records a lap, after the release of the lock. */
    private void record(long lap) {
        ending.lock();
        try {
            if (over.get(32) != 0) return;
            laps.add(lap);
            boolean late = laps.size() >= fewest && System.nanoTime() - begun >= seconds * 1e9;
            if (laps.size() < most && !late) return;
            endedBy = laps.size() >= most ? "iterations" : "max-time";
            over.set(32, 1);
        } finally {
            ending.unlock();
        }
    }

    /** Does work in units of the harness: each step depends on the one before. */
    static long spend(long units) {
        long state = units;
        for (long left = units; left > 0; left--) state = Long.rotateLeft(state * 6_364_136_223_846_793_005L, 7);
        return state;
    }

    /** Times both amounts. The fastest counts: disturbances can only make one slower. */
    private static void calibrate() {
        for (int i = 0; i < TIMES; i++) {
            shortNs = Math.min(shortNs, timed(SHORT));
            longNs = Math.min(longNs, timed(LONG));
        }
    }

    private static long timed(long units) {
        long begun = System.nanoTime();
        none = spend(units) & none;
        return System.nanoTime() - begun;
    }
}
