import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Virtual or platform threads that share one ArrayBlockingQueue, as the program channel-load measures
 * threads and async tasks in its closed loop. A lap is 16384 messages, received by any of the
 * consumers. {@code producer} and {@code consumer} are the mean times from one message of one of them
 * to its next.
 *
 * <p>A message is an object: a new array of --message bytes. The queue passes the reference to it,
 * where Rust and Go copy the bytes.
 *
 * <p>Known biases: a message's time contains its allocation, which sets all of its bytes to 0, and the
 * garbage collector, whose threads also add CPU time. A consumer reads the first word only. A virtual
 * thread gives up its carrier only when the queue is full or empty, or its lock is taken. The first lap
 * contains waking all threads, one after another.
 */
final class Channel extends ClosedLoop {
    /** Messages in a lap. */
    private static final int MESSAGES = 16_384;
    /** How many messages a consumer receives before it adds to the common count. */
    private static final int LOT = 256;
    static final int MOST_PEERS = 1024, MOST_CAPACITY = 1 << 16;
    /** The bits of a message's first word that are the number of its producer. */
    private static final int PRODUCER_BITS = 16;
    /** The last producer sends it to each consumer. */
    private static final long[] END = {};
    /** What happens to a message of each producer, which the check must detect. */
    private static final String FAULT = System.getProperty("brigade.fault");
    /** The number of that message. */
    private static final int FAULTY = 1000;
    /** Places of a consumer's counts of one producer, and from one producer's to the next one's. */
    private static final int LAST = 0, COUNT = 1, SUM = 2, DISORDER = 3, APART = 8;

    private final int producers = Brigade.number("producers"), consumers = Brigade.number("consumers");
    private final int words = Brigade.number("message") / Long.BYTES;
    private final long work = Brigade.number("work");
    private final ArrayBlockingQueue<long[]> queue = new ArrayBlockingQueue<>(Brigade.number("capacity"));
    /** Messages received, in lots. Its middle element lies on a cache line of its own. */
    private final AtomicLongArray messages = new AtomicLongArray(33);
    /** Producers that have not stopped. */
    private final AtomicInteger sending = new AtomicInteger(producers);
    /** What each has sent and received, in the end. */
    private final long[] sent = new long[producers];
    private final long[][] received = new long[consumers][];

    static void measure() {
        long work = Brigade.number("work");
        Channel measured = measure(work, Channel::new);
        if (measured.laps.isEmpty()) return;
        Brigade.report("iteration", "message", MESSAGES, false, measured.laps);
        Brigade.report("producer", "message", 1, false, measured.turns(MESSAGES, measured.sent));
        Brigade.report("consumer", "message", 1, false, measured.turns(MESSAGES, measured.eachReceived()));
        Brigade.more = Work.report(work);
    }

    /** Checks the flags and returns the number of threads. */
    static int tasks() {
        if (!List.of(8, 64, 1024).contains(Brigade.number("message"))) Brigade.refuse("--message is 8, 64 or 1024");
        if (!areVirtual() && Brigade.number("workers") != 0) Brigade.refuse("--workers: platform threads have none");
        return Brigade.number("producers") + Brigade.number("consumers");
    }

    private static boolean areVirtual() {
        return Brigade.flags.get("kind").equals("virtual");
    }

    /** Starts the threads, in the order producer, consumer, producer … */
    @Override
    void start() {
        for (int i = 0; i < Math.max(producers, consumers); i++) {
            int number = i;
            if (number < producers) start(builder(), () -> sent[number] = produce(number));
            if (number < consumers) start(builder(), () -> received[number] = consume(number));
        }
    }

    private static Thread.Builder builder() {
        return areVirtual() ? Thread.ofVirtual() : Thread.ofPlatform();
    }

    /** Sends messages until the loop is over, and returns how many. */
    private long produce(int producer) throws InterruptedException {
        long number = 0;
        while (!isOver()) {
            number++;
            if (FAULT != null && number == FAULTY) number = sendWrongly(producer, number);
            else queue.put(message(producer, number));
        }
        if (sending.decrementAndGet() == 0) {
            for (int i = 0; i < consumers; i++) queue.put(END);
        }
        return number;
    }

    private long[] message(int producer, long number) {
        long[] message = new long[words];
        message[0] = number << PRODUCER_BITS | producer;
        return message;
    }

    /** Sends a message with the planted fault; returns the number of the last one that counts as sent. */
    private long sendWrongly(int producer, long number) throws InterruptedException {
        switch (FAULT) {
            case "lose" -> { }
            case "double" -> {
                queue.put(message(producer, number));
                queue.put(message(producer, number));
            }
            case "swap" -> {
                queue.put(message(producer, number + 1));
                queue.put(message(producer, number));
                return number + 1;
            }
            default -> throw new IllegalArgumentException("brigade.fault: " + FAULT);
        }
        return number;
    }

    /**
     * Receives messages until the end mark, and returns the counts. Consumer k of n begins with k/n of a
     * lot, so that the common count does not lag behind.
     */
    private long[] consume(int consumer) throws InterruptedException {
        // Both ends are free: the collector may move it next to another consumer's.
        long[] seen = new long[APART * (producers + 2)];
        long received = consumer * LOT / consumers;
        long computed = 0, zero = Work.zero();
        for (long[] message = queue.take(); message != END; message = queue.take()) {
            long number = message[0] >>> PRODUCER_BITS;
            int at = place((int) message[0] & (1 << PRODUCER_BITS) - 1);
            if (number <= seen[at + LAST]) seen[at + DISORDER]++;
            seen[at + LAST] = number;
            seen[at + COUNT]++;
            seen[at + SUM] += number;
            if (work > 0) computed = Work.spend(work | computed & zero);
            received++;
            if (received % LOT == 0 && messages.addAndGet(16, LOT) % MESSAGES == 0) record(this::endLap);
        }
        Work.use(computed);
        return seen;
    }

    /** Where a consumer counts the messages of a producer. */
    private static int place(int producer) {
        return APART * (producer + 1);
    }

    /** The sum of the numbers from 1 on, modulo 2^64. */
    private static long sumTo(long last) {
        return last % 2 == 0 ? last / 2 * (last + 1) : (last + 1) / 2 * last;
    }

    /** Checks that each message was received once, and those of a producer by each consumer in order. */
    @Override
    void verify() {
        for (int producer = 0; producer < producers; producer++) {
            long count = 0, sum = 0, disorder = 0;
            int at = place(producer);
            for (long[] seen : received) {
                count += seen[at + COUNT];
                sum += seen[at + SUM];
                disorder += seen[at + DISORDER];
            }
            long expected = sent[producer];
            if (count != expected || sum != sumTo(expected) || disorder > 0) {
                throw new IllegalStateException("the messages of producer " + producer
                        + " were not received once and in order: " + expected + " sent, " + count + " received");
            }
        }
    }

    /** How many messages each consumer received. */
    private long[] eachReceived() {
        long[] all = new long[consumers];
        for (int consumer = 0; consumer < consumers; consumer++) {
            for (int producer = 0; producer < producers; producer++) {
                all[consumer] += received[consumer][place(producer) + COUNT];
            }
        }
        return all;
    }
}
