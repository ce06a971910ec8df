package main

import "fmt"

// brigade measures hand-overs over channels: the cost of a switch between
// goroutines, made by the Go runtime alone.
//
// What is counted: a hop is one send, one receive and one wake-up of a
// goroutine. With one worker the kernel has nothing to switch; with several a
// wake-up may go to an idle one, so no number of switches is claimed.
//
// Known biases: with one token in flight exactly one goroutine can run, and
// the woken one runs next, the scheduler's best case. Several workers still
// cost: idle ones spin for a while, looking for work. No lap allocates, so the
// garbage collector does not run in them.
var brigade = program{
	about: `Time a number on its way through N goroutines over channels.

One lap: a number goes from the driver through N goroutines and back, over
channels of capacity 1; each goroutine adds one, and the driver checks the sum.
That makes N + 1 hops. Other sub-commands: creation, memory, wake.

With --rings K there are K such brigades at once. An iteration then ends whenever K more
laps are done, of any of them; ring is the time of each lap.
`,
	tasks: 500, iters: 10_000, warmups: fewestWarmups, works: true, measure: measureBrigade,
}

func measureBrigade(r *run) error {
	if r.workers == 1 {
		r.report.ExpectedSwitches = new(float64)
	}
	count := max(1, r.rings)
	failed := make(chan error, r.tasks*count)
	rings := make([]ring, count)
	for number := range rings {
		rings[number] = r.newRing(number*r.tasks, failed)
	}
	var err error
	if r.rings > 0 {
		err = measureRings(r, rings, failed)
	} else {
		driver := r.load.station()
		err = r.laps(func() (times [4]int64, err error) {
			times[0], err = r.pass(rings[0], &driver, failed)
			return times, err
		}, r.measurement("iteration", "hop", r.tasks+1))
	}
	for _, through := range rings {
		through.end()
	}
	return err
}

// relay passes numbers from upstream to downstream, one greater, until upstream
// is closed. However it ends, downstream is closed, and so on to the driver.
func relay(task int, upstream <-chan uint64, downstream chan<- uint64, station station, failed chan<- error) {
	defer func() {
		if reason := recover(); reason != nil {
			failed <- fmt.Errorf("task %d: %v", task, reason)
		}
		close(downstream)
	}()
	for {
		token, alive := <-upstream
		if !alive {
			return
		}
		station.visit()
		downstream <- token + 1
	}
}
