import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;

/**
 * How late virtual threads run that sleep until given times, as the program wake-latency measures
 * threads and async tasks. Wake-up k is due at k / rate seconds, regardless of the one before, and
 * belongs to thread k modulo N. A lap is one wake-up: the time from then until the thread reads the
 * clock. Greedy virtual threads compute next to the others before they yield.
 *
 * <p>Known biases: a timer thread of the virtual machine ends each sleep, and wakes the carrier. A
 * greedy thread gives up its carrier by a sleep: after Thread.yield, the only carrier of one worker
 * would run it again and again, and none that a timer wakes.
 */
final class Wake {
    /** From the start of a round to its first intended time, and the longest sleep. */
    private static final long LEAD_NS = 10_000_000, LONGEST_NS = 200_000_000;
    private static volatile boolean over;

    static void measure() {
        double limit = Double.parseDouble(Brigade.flags.get("max-time"));
        long rate = Long.parseLong(Brigade.flags.get("rate"));
        int asked = Brigade.number("warmups"), within = (int) Math.clamp(Math.ceil(limit * rate), 1, 1e9);
        Brigade.warmups = round(asked < 0 ? (int) rate : asked, rate).measured.length;
        Brigade.mark("measuring");
        Round round = round(Math.min(Brigade.iters, within), rate);
        Brigade.mark("measured");
        Brigade.endedBy = Brigade.stopped ? "signal" : within < Brigade.iters ? "max-time" : "iterations";
        Brigade.report("wake-up", "wake-up", 1, false, Arrays.stream(round.measured).boxed().toList());
        Brigade.more = ",\"schedule\":{\"missed\":" + round.missed + ",\"called_late\":null}";
    }

    private record Round(long[] measured, long missed) {}

    /** Runs this many wake-ups. */
    private static Round round(int count, long rate) {
        int tasks = Brigade.tasks;
        long[] late = new long[count], missed = new long[tasks];
        Arrays.fill(late, -1);
        over = false;
        long begin = System.nanoTime() + LEAD_NS;
        List<Thread> sleepers = new ArrayList<>(), greedy = new ArrayList<>();
        for (int i = 0; i < tasks; i++) {
            int task = i;
            sleepers.add(Thread.startVirtualThread(() -> {
                for (int number = task; number < count; number += tasks) {
                    long due = begin + number * 1_000_000_000L / rate, left;
                    boolean waited = false;
                    while ((left = due - System.nanoTime()) > 0 && !Brigade.stopped) {
                        LockSupport.parkNanos(Math.min(left, LONGEST_NS));
                        waited = true;
                    }
                    if (Brigade.stopped) return;
                    late[number] = System.nanoTime() - due;
                    if (!waited) missed[task]++;
                }
            }));
        }
        for (int i = 0; i < Brigade.number("greedy"); i++) greedy.add(Thread.startVirtualThread(Wake::compute));
        for (Thread sleeper : sleepers) Brigade.unless(sleeper::join);
        over = true;
        for (Thread thread : greedy) Brigade.unless(thread::join);
        return new Round(LongStream.of(late).filter(ns -> ns >= 0).toArray(), LongStream.of(missed).sum());
    }

    /** A greedy virtual thread's main method. */
    private static void compute() {
        long greed = Brigade.number("greedy-for") * 1000L;
        while (!over) {
            long until = System.nanoTime() + greed;
            while (System.nanoTime() < until) Thread.onSpinWait();
            LockSupport.parkNanos(1);
        }
    }
}
