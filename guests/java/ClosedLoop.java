import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.LongStream;

/** Laps that threads complete together until there are enough: a warm-up, or the measured laps. */
abstract class ClosedLoop {
    /** Whether it is over. Its middle element lies on a cache line of its own. */
    final AtomicIntegerArray over = new AtomicIntegerArray(65);
    final List<Long> laps = new ArrayList<>();
    /** Protects the laps. */
    final ReentrantLock ending = new ReentrantLock();
    /** When the first lap began. */
    long begun;

    private long fewest, most;
    private double seconds;
    private String endedBy = "signal";

    /** Starts the threads, waits until they have done their part, and checks what they counted. */
    abstract void drive();

    /** Ends the threads, once the kernel's counts of them have been read. */
    void end() {}

    /** Runs a warm-up and, between the two marks, the measured laps, each as a new loop. */
    static <L extends ClosedLoop> L measure(long work, Supplier<L> newLoop) {
        int asked = Brigade.number("warmups");
        if (work > 0) Work.calibrate();
        // The end of the first loop is code that the compiler expected never to run: it discards what it
        // compiled, and compiles it again during the second one.
        int loops = asked < 0 ? 2 : Math.min(asked, 1);
        for (int i = 0; i < loops; i++) {
            ClosedLoop warmup = newLoop.get();
            if (asked < 0) warmup.limit(3, Long.MAX_VALUE, 0.5);
            else warmup.limit(1, asked, 1e9);
            warmup.drive();
            warmup.end();
            Brigade.warmups += warmup.laps.size();
        }
        L measured = newLoop.get();
        measured.limit(1, Brigade.iters, Double.parseDouble(Brigade.flags.get("max-time")));
        Brigade.mark("measuring");
        measured.drive();
        Brigade.mark("measured");
        measured.end();
        if (work > 0) Work.calibrate();
        Brigade.endedBy = ((ClosedLoop) measured).endedBy;
        return measured;
    }

    /** It ends after the most laps, or after the fewest and so many seconds. */
    void limit(long fewest, long most, double seconds) {
        this.fewest = fewest;
        this.most = most;
        this.seconds = seconds;
    }

    boolean isOver() {
        return over.get(32) != 0 || Brigade.stopped;
    }

    /** Records a lap, and ends the loop after enough of them. */
    void record(long lap) {
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

    /**
     * Each thread's mean time from one of its operations to the next, given the operations of a lap and how
     * many each thread made. Those after the last lap count as long as the others.
     */
    List<Long> turns(int operations, long[] made) {
        double lapNs = laps.stream().mapToLong(Long::longValue).average().orElse(0);
        double allNs = lapNs / operations * LongStream.of(made).sum();
        return LongStream.of(made).mapToObj(times -> Math.round(allNs / Math.max(1, times))).toList();
    }
}
