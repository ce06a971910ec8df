package main

import (
	"fmt"
	"sync"
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
	_ [128]byte
	blocks
	// none is 0, hidden from the compiler.
	none uint64
	// made is the number of each goroutine's acquisitions, in the end.
	made []uint64
}

func measureLock(r *run) error {
	iteration := r.measurement("iteration", "acquisition", block)
	turn := r.measurement("turn", "acquisition", 1)
	iteration.CoversAll, turn.CoversAll = false, false
	var round *lockRound
	err := r.closedLoop(iteration, func() closedRound {
		round = &lockRound{}
		return round
	})
	turn.LapsNs = iteration.turns(round.made)
	return err
}

// start starts the goroutines.
func (of *lockRound) start() {
	of.made = make([]uint64, of.run.tasks)
	for task := range of.made {
		of.spawn(func() { of.made[task] = of.share() })
	}
}

// verify checks that the lock excluded.
func (of *lockRound) verify() error {
	sum := uint64(0)
	for _, times := range of.made {
		sum += times
	}
	if sum != of.acquired {
		return fmt.Errorf("this lock does not exclude: the goroutines made %d acquisitions, the counter that it protects shows %d", sum, of.acquired)
	}
	return nil
}

// share is a goroutine's main function and returns its number of acquisitions. Each piece of
// work uses the result of the one before it; otherwise the processor would begin it earlier.
func (of *lockRound) share() (made uint64) {
	inside, outside, computed := of.run.load.work.units, of.run.outside, uint64(0)
	for !of.isOver() {
		of.Lock()
		before := of.acquired
		if inside > 0 {
			computed = spend(inside | (computed^before)&of.none)
		}
		of.acquired = before + 1
		endsLap, lap := (before+1)%block == 0, int64(0)
		if endsLap {
			// Before the release: after it, others may run first.
			lap = of.endLap()
		}
		of.Unlock()
		made++
		if endsLap {
			of.record(func() int64 { return lap })
		}
		if outside > 0 {
			computed = spend(outside | computed&of.none)
		}
	}
	return made
}
