package main

import (
	"fmt"
	"sync"
)

// mostRings is the most simultaneous brigades.
const mostRings = 1024

// ring is a brigade: the channels on which its driver sends and receives.
type ring struct {
	first chan<- uint64
	last  <-chan uint64
}

// newRing starts the goroutines of a brigade, numbered from this one on.
func (r *run) newRing(number int, failed chan<- error) ring {
	first := make(chan uint64, 1)
	last := first
	for task := range r.tasks {
		downstream := make(chan uint64, 1)
		go relay(number+task, last, downstream, r.load.station(), failed)
		last = downstream
	}
	return ring{first, last}
}

// pass sends the token round once, and returns how long it took.
func (r *run) pass(through ring, driver *station, failed <-chan error) (int64, error) {
	begun := now()
	driver.visit()
	through.first <- 0
	sum, alive := <-through.last
	taken := now() - begun
	if !alive {
		return taken, <-failed
	}
	if sum != uint64(r.tasks) {
		return taken, fmt.Errorf("the token came round as %d: %d tasks add that many", sum, r.tasks)
	}
	return taken, nil
}

// end closes a brigade and waits until all of its goroutines have ended.
func (through ring) end() {
	close(through.first)
	for range through.last {
	}
}

// ringRound is a round of laps of all rings at once. The drivers draw their laps from one
// pool, so that all run until it is empty. An iteration is as many laps as there are rings,
// by any of them.
type ringRound struct {
	sync.Mutex
	run *run
	// Laps started, laps finished, and their total.
	drawn, done, most int
	// Laps to run however late, and the time after which none is drawn; 0 means none.
	fewest int
	until  int64
	ended  string
	err    error
	// When the current iteration began.
	begun int64
	// The times of iterations and of single laps; nil if not kept.
	iterations, laps []int64
}

// measureRings measures simultaneous brigades.
func measureRings(r *run, rings []ring, failed <-chan error) error {
	iteration := r.measurement("iteration", "hop", len(rings)*(r.tasks+1))
	r.load.work.calibrate()
	warmup := &ringRound{run: r, most: r.warmups * len(rings), ended: "iterations"}
	if r.warmupTime > 0 {
		warmup.most, warmup.fewest = mostLaps*len(rings), fewestWarmups*len(rings)
		warmup.until = now() + int64(min(r.warmupTime, r.warmupLimit))
	}
	warmup.drive(rings, failed)
	r.report.Warmups = warmup.done / len(rings)
	if warmup.err != nil || r.interrupted.Load() {
		r.report.EndedBy = "signal"
		return warmup.err
	}
	measured := &ringRound{run: r, most: r.iters * len(rings), fewest: len(rings), ended: "iterations"}
	measured.iterations = make([]int64, 0, r.iters)
	measured.laps = make([]int64, 0, measured.most)
	r.mark("measuring")
	if r.limit > 0 {
		measured.until = now() + int64(r.limit)
	}
	measured.drive(rings, failed)
	r.mark("measured")
	r.load.work.calibrate()
	iteration.LapsNs, r.report.EndedBy = measured.iterations, measured.ended
	if len(rings) > 1 {
		each := r.measurement("ring", "hop", r.tasks+1)
		each.CoversAll, each.LapsNs = false, measured.laps
	}
	return measured.err
}

// drive lets all rings run their laps at once.
func (of *ringRound) drive(rings []ring, failed <-chan error) {
	var running sync.WaitGroup
	for _, through := range rings {
		running.Add(1)
		go func() {
			defer running.Done()
			driver := of.run.load.station()
			taken := int64(0)
			for of.draw(taken) {
				var err error
				if taken, err = of.run.pass(through, &driver, failed); err != nil {
					of.fail(err)
					return
				}
			}
		}()
	}
	running.Wait()
}

// draw records a lap's duration, unless it is 0, and returns whether there is another.
func (of *ringRound) draw(taken int64) bool {
	rings := of.run.rings
	of.Lock()
	defer of.Unlock()
	time := now()
	if of.begun == 0 {
		of.begun = time
	}
	if taken > 0 {
		of.done++
		if of.laps != nil {
			of.laps = append(of.laps, taken)
		}
		if of.done%rings == 0 {
			if of.iterations != nil {
				of.iterations = append(of.iterations, time-of.begun)
			}
			of.begun = time
		}
	}
	if of.run.interrupted.Load() {
		of.most, of.ended = of.drawn, "signal"
	}
	if of.until > 0 && time >= of.until && of.drawn < of.most {
		whole := (max(of.drawn, of.fewest) + rings - 1) / rings * rings
		if whole < of.most {
			of.most, of.ended = whole, "max-time"
		}
	}
	if of.drawn >= of.most {
		return false
	}
	of.drawn++
	return true
}

// fail ends the round for all.
func (of *ringRound) fail(err error) {
	of.Lock()
	defer of.Unlock()
	of.most, of.ended = of.drawn, "error"
	if of.err == nil {
		of.err = err
	}
}
