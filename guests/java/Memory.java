import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Memory of virtual threads that wait. */
final class Memory {
    /** A lap starts another share of the threads, which park; then memory is read. */
    static void measure() {
        int step = (Brigade.tasks - Brigade.tasks / 2) / Brigade.iters;
        List<Thread> alive = new ArrayList<>();
        park(alive, Brigade.tasks - step * Brigade.iters);
        Brigade.flags.put("warmups", "0");
        Brigade.measure("create", "virtual thread creation", step, () -> {
            long begun = System.nanoTime();
            park(alive, step);
            long taken = System.nanoTime() - begun;
            Brigade.ledger.add(held(alive.size()));
            return taken;
        });
    }

    private static void park(List<Thread> alive, int count) {
        CountDownLatch waiting = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            alive.add(Thread.startVirtualThread(() -> {
                waiting.countDown();
                while (true) LockSupport.park();
            }));
        }
        Brigade.unless(waiting::await);
    }

    /** Memory of process and machine while this many threads are alive. */
    private static String held(int count) {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        Map<String, String> of = new HashMap<>();
        for (String file : List.of("self/status", "self/smaps_rollup", "meminfo")) {
            try {
                for (String line : Files.readAllLines(Path.of("/proc", file))) {
                    String[] words = line.split("[:\\s]+");
                    if (words.length == 3 && words[2].equals("kB")) of.put(words[0], words[1] + "*");
                }
            } catch (IOException absent) {
                // Unreadable figures are null.
            }
        }
        return "{\"tasks\":" + count + ",\"runtime_bytes\":" + (runtime.totalMemory() - runtime.freeMemory())
                + figure("resident_bytes", of.get("Rss")) + figure("proportional_bytes", of.get("Pss"))
                + figure("virtual_bytes", of.get("VmSize")) + figure("page_table_bytes", of.get("VmPTE"))
                + figure("kernel_stack_bytes", of.get("KernelStack"))
                + figure("unreclaimable_slab_bytes", of.get("SUnreclaim")) + "}";
    }

    private static String figure(String name, String kib) {
        return ",\"" + name + "\":" + (kib == null ? "null" : Long.parseLong(kib.replace("*", "")) * 1024);
    }
}
