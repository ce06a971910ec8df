import java.util.*;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import sun.misc.Signal;

/**
 * Measures virtual threads: a hand-over, a channel, creation, a lock, memory, wake-ups and one that wakes
 * all, each as a subcommand. Prints laps, as docs/PROTOCOL.md describes them.
 *
 * <p>A hop is one put and one take of a queue of capacity 1, and one wake-up of a virtual thread.
 * With one worker the driver is a virtual thread on the same carrier as all others, and the kernel
 * has nothing to switch; with several, a wake-up may go to an idle carrier: no number is claimed.
 *
 * <p>Known biases: the compiler runs during the first laps, so the default warm-up lasts a second; a
 * short run without one measures the interpreter. A number above 127 is an object, so a lap of more
 * tasks allocates, and the collector may run in it.
 */
public final class Brigade {
    static final Map<String, String> flags = new TreeMap<>(Map.of(
            "tasks", "500", "iters", "1000", "warmups", "-1", "max-time", "1e9", "workers", "0"));
    static final List<String> measurements = new ArrayList<>();
    static final List<String> ledger = new ArrayList<>();
    static volatile boolean stopped;
    /** Further keys of the laps: each begins with a comma. */
    static String endedBy, more = "";
    static int warmups, tasks, iters;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0 && arguments[0].equals("serve")) {
            Serve.run(arguments);
            return;
        }
        int first = arguments.length > 0 && !arguments[0].startsWith("--") ? 1 : 0;
        String program = first == 1 ? arguments[0] : "brigade";
        if (program.equals("lock")) flags.putAll(Map.of("tasks", "8", "inside", "0", "outside", "0"));
        if (program.equals("channel")) {
            flags.remove("tasks");
            flags.putAll(Map.of("producers", "1", "consumers", "1", "capacity", "64", "message", "64"));
            flags.putAll(Map.of("iters", "100", "kind", "virtual", "work", "0"));
        }
        if (program.equals("wake-all")) flags.put("tasks", "100");
        if (program.equals("wake")) {
            flags.putAll(Map.of("tasks", "4", "iters", "10000", "rate", "10000", "greedy", "0", "greedy-for", "10000"));
        }
        for (int i = first; i < arguments.length; i += 2) {
            String name = arguments[i].replaceFirst("^--", "");
            if (!arguments[i].startsWith("--") || !flags.containsKey(name) || i + 1 == arguments.length) usage(arguments[i]);
            check(name, arguments[i + 1]);
            flags.put(name, arguments[i + 1]);
        }
        tasks = program.equals("channel") ? Channel.tasks() : number("tasks");
        iters = number("iters");
        if (program.equals("memory") && tasks < 2 * iters) {
            refuse("--tasks " + tasks + ": " + iters + " readings need " + 2 * iters + " or more");
        }
        if (!flags.get("workers").equals("0")) {
            System.setProperty("jdk.virtualThreadScheduler.parallelism", flags.get("workers"));
            System.setProperty("jdk.virtualThreadScheduler.maxPoolSize", flags.get("workers"));
        }
        Signal.handle(new Signal("INT"), signal -> stopped = true);
        // The driver is a virtual thread too: from outside, each lap would wake another thread.
        Thread driver = Thread.ofVirtual().uncaughtExceptionHandler(Brigade::fail)
                .start(() -> { switch (program) {
                    case "brigade" -> brigade();
                    case "channel" -> Channel.measure();
                    case "creation" -> creation();
                    case "lock" -> Lock.measure();
                    case "memory" -> Memory.measure();
                    case "wake" -> Wake.measure();
                    case "wake-all" -> Waking.measure();
                    default -> usage(program);
                } });
        driver.join();
        print(program);
        System.exit(stopped ? 130 : 0);
    }

    /** Refuses a value that its flag cannot have. The runner accepts a million laps at most. */
    private static void check(String flag, String value) {
        switch (flag) {
            case "kind" -> {
                if (!List.of("virtual", "thread").contains(value)) refuse("--kind is virtual or thread");
            }
            case "max-time" -> {
                boolean isNumber = value.matches("\\d+(\\.\\d+)?(e[-+]?\\d+)?");
                if (!isNumber || Double.parseDouble(value) > 1e9) {
                    refuse("--max-time " + value + ": not a number of seconds from 0 to 1e9");
                }
            }
            case "iters", "greedy-for", "rate" -> checkWhole(flag, value, 1, 1_000_000);
            case "warmups" -> checkWhole(flag, value, -1, 1_000_000);
            case "greedy" -> checkWhole(flag, value, 0, 1024);
            // The most that the scheduler of virtual threads accepts.
            case "workers" -> checkWhole(flag, value, 0, 32_767);
            case "tasks" -> checkWhole(flag, value, 1, 100_000_000);
            case "producers", "consumers" -> checkWhole(flag, value, 1, Channel.MOST_PEERS);
            case "capacity" -> checkWhole(flag, value, 1, Channel.MOST_CAPACITY);
            default -> checkWhole(flag, value, 0, 999_999_999);
        }
    }

    private static void checkWhole(String flag, String value, int least, int most) {
        boolean isNumber = value.matches("-?\\d{1,9}");
        if (!isNumber || Integer.parseInt(value) < least || Integer.parseInt(value) > most) {
            refuse("--" + flag + " " + value + ": not a whole number from " + least + " to " + most);
        }
    }

    static int number(String flag) {
        return Integer.parseInt(flags.get(flag));
    }

    /** Names what ended a thread, and ends the program. */
    static void fail(Thread thread, Throwable failure) {
        System.err.println("java-brigade: " + failure);
        System.exit(1);
    }

    static void brigade() {
        List<ArrayBlockingQueue<Integer>> queues = new ArrayList<>();
        for (int i = 0; i <= tasks; i++) queues.add(new ArrayBlockingQueue<>(1));
        for (int i = 0; i < tasks; i++) {
            var upstream = queues.get(i);
            var downstream = queues.get(i + 1);
            Thread.startVirtualThread(() -> unless(() -> {
                while (true) downstream.put(upstream.take() + 1);
            }));
        }
        measure("iteration", "hop", tasks + 1, () -> {
            long begun = System.nanoTime();
            int[] total = new int[1];
            unless(() -> {
                queues.get(0).put(0);
                total[0] = queues.get(tasks).take();
            });
            long taken = System.nanoTime() - begun;
            if (total[0] != tasks) throw new IllegalStateException("the token came round as " + total[0]);
            return taken;
        });
    }

    /** A lap starts this many virtual threads, which end at once, and waits for them. */
    static void creation() {
        measure("create", "virtual thread creation and end", tasks, () -> {
            CountDownLatch running = new CountDownLatch(tasks);
            long begun = System.nanoTime();
            for (int i = 0; i < tasks; i++) Thread.startVirtualThread(running::countDown);
            unless(running::await);
            return System.nanoTime() - begun;
        });
    }

    /** Runs the warm-up and, between the two marks, the measured laps; a lap returns its time. */
    static void measure(String name, String operation, int operations, LongSupplier lap) {
        int asked = number("warmups");
        warmups = laps(asked < 0 ? 3 : asked, asked < 0 ? 1.0 : 0.0, lap).size();
        mark("measuring");
        List<Long> taken = laps(iters, 0.0, lap);
        mark("measured");
        endedBy = stopped ? "signal" : taken.size() == iters ? "iterations" : "max-time";
        report(name, operation, operations, ledger.isEmpty(), taken);
    }

    static void report(String name, String operation, int operations, boolean coversAll, List<Long> taken) {
        if (taken.isEmpty()) return; // interrupted before the first: there is nothing to print
        measurements.add("{\"name\":\"" + name + "\",\"operation\":\"" + operation + "\",\"operations\":"
                + operations + ",\"covers_all_tasks\":" + coversAll + ",\"laps_ns\":" + taken + "}");
    }

    /** At least this many laps and seconds; only the first may begin after --max-time. */
    static List<Long> laps(int count, double seconds, LongSupplier lap) {
        List<Long> taken = new ArrayList<>(count);
        long begun = System.nanoTime();
        double limit = seconds > 0 ? seconds : Double.parseDouble(flags.get("max-time"));
        while (!stopped && (taken.size() < count || System.nanoTime() - begun < seconds * 1e9)) {
            if (!taken.isEmpty() && System.nanoTime() - begun > limit * 1e9) break;
            taken.add(lap.getAsLong());
        }
        return taken;
    }

    /** Prints a word and waits for a line or end of file, while the runner reads our counters. */
    static void mark(String word) {
        System.out.println(word);
        unless(() -> {
            int read = System.in.read();
            while (read != '\n' && read >= 0) read = System.in.read();
        });
    }

    static void print(String program) {
        if (measurements.isEmpty()) return;
        String parameters = flags.keySet().stream()
                .map(flag -> parameter(program, flag))
                .collect(Collectors.joining());
        String kind = "thread".equals(flags.get("kind")) ? "thread" : "coroutine";
        System.out.println("{\"schema_version\":\"1.2\",\"form\":\"laps\",\"program\":\"java-brigade\",\"kind\":\""
                + kind + "\",\"tasks\":" + tasks
                + ",\"warmups\":" + warmups + ",\"runtime\":\"" + Runtime.version() + "\",\"ended_by\":\""
                + endedBy + "\",\"expected_switches_per_operation\":"
                + (program.equals("brigade") && flags.get("workers").equals("1") ? "0" : "null")
                + ",\"parameters\":{\"subcommand\":\"" + program + "\"" + parameters + "}"
                + (ledger.isEmpty() ? "" : ",\"ledger\":" + ledger) + more
                + ",\"measurements\":" + measurements + "}");
    }

    /** A flag and its value. Numbers of the older programs are text, which identifies their recorded cases. */
    private static String parameter(String program, String flag) {
        boolean isNewer = program.startsWith("wake") || program.equals("channel");
        String quote = isNewer && !flag.equals("kind") ? "" : "\"";
        return ",\"" + flag.replace('-', '_') + "\":" + quote + flags.get(flag) + quote;
    }

    interface Body {
        void run() throws Exception;
    }

    /** Runs code that may throw; any exception is a failure here. */
    static void unless(Body body) {
        try {
            body.run();
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }

    static void usage(String what) {
        refuse("cannot follow " + what
                + "; known: brigade, channel, creation, lock, memory, wake, wake-all, and with a value each --"
                + String.join(", --", flags.keySet()));
    }

    /** Ends the program, because its flags cannot be followed. */
    static void refuse(String why) {
        System.err.println("java-brigade: " + why);
        System.exit(2);
    }
}
