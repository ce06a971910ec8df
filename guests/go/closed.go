package main

import (
	"math"
	"sync"
	"sync/atomic"
)

// blocks are the laps of a closed loop, which goroutines complete together until it is over.
type blocks struct {
	over atomic.Bool
	run  *run
	// What is written during a lap has other cache lines than what every goroutine reads.
	_ [128]byte
	// starting counts the goroutines that do not wait for the first lap yet, running those that have not ended.
	starting, running sync.WaitGroup
	// begin is closed when the first lap begins.
	begin chan struct{}
	// ending protects the laps.
	ending sync.Mutex
	laps   []int64
	// last is when the current lap began. The measured lock protects it, or ending if there is none.
	last int64
	// The time after which no lap begins; 0 means none.
	until        int64
	fewest, most int
	ended        string
}

// closedRound is a warm-up or the measured laps.
type closedRound interface {
	loop() *blocks
	// start starts the goroutines, each with blocks.spawn.
	start()
	// verify checks what they counted.
	verify() error
}

func (of *blocks) loop() *blocks { return of }

// spawn starts a goroutine, which waits until the first lap begins.
func (of *blocks) spawn(share func()) {
	of.starting.Add(1)
	of.running.Add(1)
	go func() {
		defer of.running.Done()
		of.starting.Done()
		<-of.begin
		share()
	}()
}

// prepare starts the goroutines of a round, and returns when all of them wait for the first lap.
func prepare(round closedRound) {
	blocks := round.loop()
	blocks.begin = make(chan struct{})
	round.start()
	blocks.starting.Wait()
}

// drive begins the first lap of a prepared round, and returns when its goroutines have ended.
func drive(round closedRound) error {
	blocks := round.loop()
	blocks.last = now()
	close(blocks.begin)
	blocks.running.Wait()
	return round.verify()
}

// closedLoop runs a warm-up and, between the two marks, the measured laps, each as a new round.
func (r *run) closedLoop(iteration *measurement, round func() closedRound) error {
	r.load.work.calibrate()
	warmup := round()
	blocks := warmup.loop()
	blocks.run, blocks.most, blocks.ended = r, r.warmups, "signal"
	if r.warmupTime > 0 {
		blocks.most, blocks.fewest = mostLaps, fewestWarmups
		blocks.until = now() + int64(min(r.warmupTime, r.warmupLimit))
	}
	var err error
	if r.warmups > 0 {
		prepare(warmup)
		err = drive(warmup)
	}
	r.report.Warmups, r.report.EndedBy = len(blocks.laps), "signal"
	if err != nil || r.interrupted.Load() {
		return err
	}
	measured := round()
	blocks = measured.loop()
	blocks.run, blocks.most, blocks.fewest, blocks.ended = r, r.iters, 1, "signal"
	prepare(measured)
	r.mark("measuring")
	if r.limit > 0 {
		blocks.until = now() + int64(r.limit)
	}
	err = drive(measured)
	r.mark("measured")
	r.load.work.calibrate()
	iteration.LapsNs, r.report.EndedBy = blocks.laps, blocks.ended
	return err
}

// isOver returns whether the goroutines should stop.
func (of *blocks) isOver() bool { return of.over.Load() || of.run.interrupted.Load() }

// endLap ends the current lap, and returns its time.
func (of *blocks) endLap() int64 {
	time := now()
	lap := time - of.last
	of.last = time
	return lap
}

// record records a lap, and ends the loop after enough of them. lap returns its time and may end it.
func (of *blocks) record(lap func() int64) {
	of.ending.Lock()
	defer of.ending.Unlock()
	if of.over.Load() {
		return
	}
	of.laps = append(of.laps, lap())
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

// turns returns each goroutine's mean time from one of its operations to the next, given how many each
// made; nothing without laps. Operations after the last lap count as long as the others.
func (of *measurement) turns(made []uint64) []int64 {
	if len(of.LapsNs) == 0 {
		return nil
	}
	ns, all := int64(0), uint64(0)
	for _, lap := range of.LapsNs {
		ns += lap
	}
	for _, times := range made {
		all += times
	}
	operations := len(of.LapsNs) * of.Operations
	allNs := float64(ns) / float64(operations) * float64(all)
	turns := make([]int64, len(made))
	for number, times := range made {
		turns[number] = int64(math.Round(allNs / float64(max(1, times))))
	}
	return turns
}
