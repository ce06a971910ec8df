package bench

import "time"

// epoch is when the program started: times are counted from here, so that
// reading the clock is one call and no arithmetic on dates.
var epoch = time.Now()

// Now is the monotonic clock's time, in nanoseconds from the program's start.
func Now() int64 {
	return int64(time.Since(epoch))
}
