package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// block is the number of acquisitions in a lap.
const block = 1024

// lock measures goroutines that share one sync.Mutex, as the program lock-hand-over does
// threads and async tasks in its closed loop.
//
// Known biases: the runtime preempts a goroutine that computes for 10 ms, even one that holds
// the lock. Once a goroutine has waited for 1 ms, the mutex is handed to its oldest waiter.
var lock = program{
	about: `Time N goroutines that share one sync.Mutex.

One lap is 1024 consecutive acquisitions by any of the goroutines, as fast as they can.
turn is the mean time from one acquisition by a goroutine to its next.
`,
	tasks: 8, iters: 1000, warmups: fewestWarmups, locks: true, measure: measureLock,
}

// lockRound is what the goroutines of a warm-up or of the measured laps share.
type lockRound struct {
	sync.Mutex
	// The number of acquisitions; only the lock protects it.
	acquired uint64
	// Fields that the lock does not protect have cache lines of their own.
	_    [128]byte
	over atomic.Bool
	_    [128]byte
	run  *run
	// none is 0, hidden from the compiler.
	none uint64
	// When the current lap began; the lock protects it, too.
	last int64
	// ending protects the laps, which are recorded after the release.
	ending sync.Mutex
	laps   []int64
	// The time after which no lap begins; 0 means none.
	until        int64
	fewest, most int
	ended        string
}

func measureLock(r *run) error {
	iteration := r.measurement("iteration", "acquisition", block)
	turn := r.measurement("turn", "acquisition", 1)
	iteration.CoversAll, turn.CoversAll = false, false
	r.load.work.calibrate()
	warmup := &lockRound{run: r, most: r.warmups}
	if r.warmupTime > 0 {
		warmup.most, warmup.fewest = mostLaps, fewestWarmups
		warmup.until = now() + int64(min(r.warmupTime, r.warmupLimit))
	}
	var err error
	if r.warmups > 0 {
		_, err = warmup.drive()
	}
	r.report.Warmups, r.report.EndedBy = len(warmup.laps), "signal"
	if err != nil || r.interrupted.Load() {
		return err
	}
	measured := &lockRound{run: r, most: r.iters, fewest: 1}
	r.mark("measuring")
	if r.limit > 0 {
		measured.until = now() + int64(r.limit)
	}
	turn.LapsNs, err = measured.drive()
	r.mark("measured")
	r.load.work.calibrate()
	iteration.LapsNs, r.report.EndedBy = measured.laps, measured.ended
	return err
}

// drive starts the goroutines, waits for them and returns each one's mean turn.
func (of *lockRound) drive() ([]int64, error) {
	var running sync.WaitGroup
	made := make([]uint64, of.run.tasks)
	of.ended = "signal"
	of.last = now()
	begun := of.last
	for task := range made {
		running.Add(1)
		go func() {
			defer running.Done()
			made[task] = of.share()
		}()
	}
	running.Wait()
	turns, sum := make([]int64, len(made)), uint64(0)
	for task, times := range made {
		turns[task] = (of.last - begun) / int64(max(1, times))
		sum += times
	}
	if sum != of.acquired {
		return nil, fmt.Errorf("this lock does not exclude: the goroutines made %d acquisitions, the counter that it protects shows %d", sum, of.acquired)
	}
	return turns, nil
}

// share is a goroutine's main function and returns its number of acquisitions. Each piece of
// work uses the result of the one before it; otherwise the processor would begin it earlier.
func (of *lockRound) share() (made uint64) {
	inside, outside, computed := of.run.load.work.units, of.run.outside, uint64(0)
	for !of.over.Load() && !of.run.interrupted.Load() {
		of.Lock()
		before := of.acquired
		if inside > 0 {
			computed = spend(inside | (computed^before)&of.none)
		}
		of.acquired = before + 1
		lap := int64(-1)
		if (before+1)%block == 0 {
			// Before the release: after it, others may run first.
			time := now()
			lap, of.last = time-of.last, time
		}
		of.Unlock()
		made++
		if lap >= 0 {
			of.record(lap)
		}
		if outside > 0 {
			computed = spend(outside | computed&of.none)
		}
	}
	return made
}

// record records a lap, after the release of the lock.
func (of *lockRound) record(lap int64) {
	of.ending.Lock()
	defer of.ending.Unlock()
	if of.over.Load() {
		return
	}
	of.laps = append(of.laps, lap)
	switch {
	case len(of.laps) >= of.most:
		of.ended = "iterations"
	case len(of.laps) >= of.fewest && of.until > 0 && now() >= of.until:
		of.ended = "max-time"
	default:
		return
	}
	of.over.Store(true)
}
