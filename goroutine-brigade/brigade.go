package main

import (
	"fmt"

	"brigade/goroutine-brigade/internal/bench"
)

// bytesPerLink is the memory of a goroutine that waits, and of its channel,
// rounded up: a stack of 2 KiB, 0.5 KiB of the scheduler's, a channel.
const bytesPerLink = 3 << 10

// brigade measures hand-overs over channels: what a switch between goroutines
// costs when the Go runtime alone makes it.
//
// One iteration: the driver sends 0 into the first channel, each of N
// goroutines in turn receives the number from its upstream channel, adds one
// and sends it downstream, and the driver checks that it comes out as N. The
// channels have capacity 1: N + 1 hops.
//
// What is counted: a hop is one send, one receive and one wake-up of a
// goroutine. With one worker the kernel has nothing to switch; with several a
// wake-up may go to an idle one, and no number of switches is claimed.
//
// Known biases: with one token in flight exactly one goroutine can run, and
// the one that is woken is the scheduler's next, which is its best case.
// Several workers still cost: idle ones spin for a while, looking for work. No
// lap allocates, so the garbage collector stays out of them.
var brigade = bench.Program{
	About: `Time a number on its way through N goroutines over channels.

One iteration: a number goes from the driver through N goroutines and back,
over channels of capacity 1; each goroutine adds one, and the driver checks the
sum. That makes N + 1 hops. With --tasks 1 it is the well-known ping-pong.

Other sub-commands: creation, memory; each has its own --help.
`,
	Defaults: bench.Defaults{Tasks: 500, Iters: 10_000, Warmups: 100, Works: true},
	Body:     runBrigade,
}

func runBrigade(b *bench.Bench) error {
	if err := b.Require(bytesPerLink); err != nil {
		return err
	}
	if b.Workers() == 1 {
		b.ExpectSwitches(0)
	}
	tracer, work := b.Tracer(), b.Work()
	first := make(chan uint64, 1)
	last := first
	for task := range b.Tasks() {
		downstream := make(chan uint64, 1)
		go relay(task, last, downstream, work, tracer)
		last = downstream
	}

	err := drive(b, work, first, last)
	if err == nil {
		err = b.Observe()
	}
	// Without its first sender the brigade ends, task by task.
	close(first)
	<-last
	return err
}

// drive sends the token round, lap after lap.
func drive(b *bench.Bench, work bench.Work, first chan<- uint64, last <-chan uint64) error {
	tasks := uint64(b.Tasks())
	for lap := range b.Laps(bench.Hops(b.Tasks())) {
		sent := uint64(0)
		if lap.IsMarked() {
			sent = bench.TracerMark
		}
		work.Perform()
		first <- sent
		received := <-last
		lap.Finish()
		if received != sent+tasks {
			return fmt.Errorf("the token came round as %d: %d tasks add that many", received-sent, tasks)
		}
	}
	return nil
}

// relay passes numbers from upstream to downstream, one greater, until
// upstream is closed.
func relay(
	task int, upstream <-chan uint64, downstream chan<- uint64, work bench.Work, tracer *bench.Tracer,
) {
	for token := range upstream {
		if token >= bench.TracerMark {
			tracer.Note(task)
		}
		work.Perform()
		downstream <- token + 1
	}
	close(downstream)
}
