/** Work in units of the harness: iterations of a loop in which each step depends on the one before. */
final class Work {
    /** Amounts of work that are timed before and after the laps, and how often: 11 ms. */
    private static final int SHORT = 2_000, LONG = 12_000, TIMES = 501;

    private static long shortNs = Long.MAX_VALUE, longNs = Long.MAX_VALUE;
    private static volatile long none;

    private Work() {}

    /** 0, which the compiler does not know. */
    static long zero() {
        return none;
    }

    static long spend(long units) {
        long state = units;
        for (long left = units; left > 0; left--) state = Long.rotateLeft(state * 6_364_136_223_846_793_005L, 7);
        return state;
    }

    /** Times both amounts. The fastest counts: disturbances can only make one slower. */
    static void calibrate() {
        for (int i = 0; i < TIMES; i++) {
            shortNs = Math.min(shortNs, timed(SHORT));
            longNs = Math.min(longNs, timed(LONG));
        }
    }

    private static long timed(long units) {
        long begun = System.nanoTime();
        use(spend(units));
        return System.nanoTime() - begun;
    }

    /** Uses a result, so that the compiler keeps the work. */
    static void use(long result) {
        none = result & none;
    }

    /** A key of the laps: so many units, and the time of one. */
    static String report(long units) {
        double slope = (double) (longNs - shortNs) / (LONG - SHORT);
        return ",\"work\":{\"units\":" + units + ",\"ns_per_unit\":" + (units > 0 ? slope : "null") + "}";
    }
}
