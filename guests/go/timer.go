package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// batch is the number of operations in a lap, and of the timed timers.
	batch = 1000
	// mostPending is the most pending timers.
	mostPending = 100_000_000
	// bytesPerTimer is the approximate memory of a timer, with its place in the runtime's heap.
	bytesPerTimer = 256
)

// Pending timers, and timed ones, are due after these times.
const leastDue, mostDue = 10 * time.Minute, 70 * time.Minute

// timer measures timers that are armed and stopped, as the program timer-cost does: a lap is 1000
// cycles of time.AfterFunc and Stop, next to timers that are pending and do not fire meanwhile.
//
// arm, cancel, reset-later and reset-earlier have laps of their own, on 1000 timers in turn, which
// add to the pending ones.
//
// Known biases: time.AfterFunc allocates, so garbage is collected now and then, also during laps,
// and the collector visits the pending timers, too. The timers are in the heap of one worker.
var timer = program{
	about: `Time arming and stopping a timer while others are pending.

One lap is 1000 cycles: time.AfterFunc, then Stop before it is due.
`,
	tasks: 1, iters: 1000, warmups: fewestWarmups, arms: true, measure: measureTimers,
}

var errFired = errors.New("a timer fired that was due in 10 minutes or later: measure for less time")

func nothing() {}

// random has always the same seed.
var random = rand.New(rand.NewPCG(1, 1))

// due returns a random time between two.
func due(from, to time.Duration) time.Duration {
	return from + time.Duration(random.Int64N(int64(to-from)+1))
}

func measureTimers(r *run) error {
	cycle := r.measurement("iteration", "cycle", batch)
	pending, begun := make([]*time.Timer, r.pending), now()
	for at := range pending {
		if r.interrupted.Load() {
			break
		}
		pending[at] = time.AfterFunc(due(leastDue, mostDue), nothing)
	}
	var dues [batch]time.Duration
	for at := range dues {
		dues[at] = due(leastDue, mostDue)
	}
	lap := func() (times [4]int64, err error) {
		began := now()
		for _, after := range dues {
			if !time.AfterFunc(after, nothing).Stop() {
				err = errFired
			}
		}
		times[0] = now() - began
		return times, err
	}
	cycle.CoversAll = false
	if err := r.laps(lap, cycle); err != nil {
		return err
	}
	if err := measureOperations(r, &dues); err != nil {
		return err
	}
	if now()-begun >= int64(leastDue) {
		return errFired
	}
	for _, waiting := range pending {
		if waiting != nil && !waiting.Stop() {
			return errFired
		}
	}
	return nil
}

// measureOperations times each operation on all timed timers.
func measureOperations(r *run, dues *[batch]time.Duration) error {
	var timers [batch]*time.Timer
	var later, earlier [batch]time.Duration
	for at, after := range dues {
		later[at], earlier[at] = due(after, mostDue), due(leastDue, after)
	}
	arm := func() {
		for at, after := range dues {
			timers[at] = time.AfterFunc(after, nothing)
		}
	}
	cancel := func() {
		for _, armed := range timers {
			armed.Stop()
		}
	}
	reset := func(dues *[batch]time.Duration) func() {
		return func() {
			for at, after := range dues {
				timers[at].Reset(after)
			}
		}
	}
	none := func() {}
	for _, timed := range []struct {
		name                 string
		before, timed, after func()
	}{
		{"arm", none, arm, cancel},
		{"cancel", arm, cancel, none},
		{"reset-later", arm, reset(&later), cancel},
		{"reset-earlier", arm, reset(&earlier), cancel},
	} {
		taken := r.measurement(timed.name, timed.name, batch)
		taken.CoversAll = false
		_, _, err := r.repeat(r.iters, 0, r.limit, func() error {
			timed.before()
			began := now()
			timed.timed()
			taken.LapsNs = append(taken.LapsNs, now()-began)
			timed.after()
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkPending refuses a number of pending timers that makes no sense.
func checkPending(pending int) error {
	if pending < 0 || pending > mostPending {
		return fmt.Errorf("--pending %d: not between 0 and %d", pending, mostPending)
	}
	return nil
}
