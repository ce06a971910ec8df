import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.LongStream;

/** Laps that threads complete together until there are enough: a warm-up, or the measured laps. */
abstract class ClosedLoop {
    /** Whether it is over. Its middle element lies on a cache line of its own. */
    final AtomicIntegerArray over = new AtomicIntegerArray(65);
    final List<Long> laps = new ArrayList<>();

    /** Protects the laps. */
    private final ReentrantLock ending = new ReentrantLock();
    /** When the current lap began. The measured lock protects it, or {@code ending} if there is none. */
    private long last;
    private final List<Thread> threads = new ArrayList<>();
    /** Threads that do not wait yet for the first lap, and whether it has begun. */
    private final CountDownLatch starting = new CountDownLatch(Brigade.tasks), begin = new CountDownLatch(1);
    /** Threads that have not done their part, and whether the kernel's counts of them have been read. */
    private final CountDownLatch working = new CountDownLatch(Brigade.tasks), counted = new CountDownLatch(1);
    /** When the first lap began. */
    private long begun;
    private long fewest, most;
    private double seconds;
    private String endedBy = "signal";

    /** Starts Brigade.tasks threads, each by {@link #start(Thread.Builder, Brigade.Body)}. */
    abstract void start();

    /** Checks what the threads counted. */
    abstract void verify();

    /** Starts a thread, which waits until the first lap begins. */
    void start(Thread.Builder builder, Brigade.Body share) {
        threads.add(builder.uncaughtExceptionHandler(Brigade::fail).start(() -> Brigade.unless(() -> {
            starting.countDown();
            begin.await();
            share.run();
            working.countDown();
            // The switches of a platform thread that has ended cannot be read.
            counted.await();
        })));
    }

    /** Starts the threads, and waits until all of them wait for the first lap. */
    private void prepare() {
        start();
        Brigade.unless(starting::await);
    }

    /** Begins the first lap, waits until the threads have done their part, and checks what they counted. */
    private void drive() {
        begun = last = System.nanoTime();
        begin.countDown();
        Brigade.unless(working::await);
        verify();
    }

    /** Ends the threads, once the kernel's counts of them have been read. */
    private void end() {
        counted.countDown();
        for (Thread thread : threads) Brigade.unless(thread::join);
    }

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
            warmup.prepare();
            warmup.drive();
            warmup.end();
            Brigade.warmups += warmup.laps.size();
        }
        L measured = newLoop.get();
        ClosedLoop loop = measured;
        loop.limit(1, Brigade.iters, Double.parseDouble(Brigade.flags.get("max-time")));
        loop.prepare();
        Brigade.mark("measuring");
        loop.drive();
        Brigade.mark("measured");
        loop.end();
        if (work > 0) Work.calibrate();
        Brigade.endedBy = loop.endedBy;
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

    /** Ends the current lap, and returns its time. */
    long endLap() {
        long now = System.nanoTime(), lap = now - last;
        last = now;
        return lap;
    }

    /** Records a lap, and ends the loop after enough of them. {@code lap} returns its time and may end it. */
    void record(LongSupplier lap) {
        ending.lock();
        try {
            if (over.get(32) != 0) return;
            laps.add(lap.getAsLong());
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
