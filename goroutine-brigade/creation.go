package main

import (
	"sync"

	"brigade/goroutine-brigade/internal/bench"
)

// creation measures what creating a goroutine costs, until it runs, and until
// it has ended.
//
// One iteration: start N goroutines whose body ends at once, then wait for all
// of them. create is the time until the last go statement is done, for N
// goroutines; join the time from there until all have ended. start is taken in
// iterations of its own, for each goroutine: from the go statement to the
// first line of its body. create_cold is create of the very first iteration,
// when the runtime has no ended goroutines to reuse.
//
// What is counted: one operation is one goroutine. CPU time and switches are
// of creation and waiting together.
//
// Known biases: with one worker no goroutine starts before the driver waits,
// so start is mostly the time in the queue, and join holds the running of the
// goroutines. With several, idle workers start stealing at once. All
// goroutines of an iteration tell one sync.WaitGroup that they have ended.
var creation = bench.Program{
	Subcommand: "creation",
	About: `Time creating, starting and awaiting N goroutines.

One iteration: start N goroutines whose body ends at once, then wait for all of
them. One operation is one goroutine. start is the time from the go statement to
the first line of the body; create_cold is the first iteration's creation.
`,
	Defaults: bench.Defaults{Tasks: 10_000, Iters: 100, Warmups: 10},
	Body:     runCreation,
}

func runCreation(b *bench.Bench) error {
	if err := b.Require(bytesPerLink); err != nil {
		return err
	}
	timeCreation(b)
	timeStarts(b)
	return observeAlive(b)
}

// timeCreation times creating and awaiting, the first time apart.
func timeCreation(b *bench.Bench) {
	perTask := func(name, operation string) bench.Measured {
		return bench.PerTask(name, operation, b.Tasks())
	}
	var running sync.WaitGroup
	for lap := range b.ColdLap(perTask("create_cold", "goroutine creation")) {
		create(b.Tasks(), &running)
		lap.Finish()
		running.Wait()
	}
	for lap := range b.Laps(perTask("create", "goroutine creation"), perTask("join", "join")) {
		create(b.Tasks(), &running)
		lap.Split()
		running.Wait()
		lap.Finish()
	}
}

func create(tasks int, running *sync.WaitGroup) {
	running.Add(tasks)
	for range tasks {
		go running.Done()
	}
}

// timeStarts times each goroutine's way to the first line of its body.
func timeStarts(b *bench.Bench) {
	var running sync.WaitGroup
	called := make([]int64, b.Tasks())
	started := make([]int64, b.Tasks())
	for lap := range b.SideLaps(bench.Single("start")) {
		running.Add(b.Tasks())
		for task := range started {
			called[task] = bench.Now()
			go func() {
				started[task] = bench.Now()
				running.Done()
			}()
		}
		running.Wait()
		for task := range started {
			lap.Sample(started[task] - called[task])
		}
		lap.Finish()
	}
}

// observeAlive looks at the process while N goroutines are alive and wait.
func observeAlive(b *bench.Bench) error {
	var alive, running sync.WaitGroup
	gate := make(chan struct{})
	alive.Add(b.Tasks())
	running.Add(b.Tasks())
	for range b.Tasks() {
		go func() {
			alive.Done()
			<-gate
			running.Done()
		}()
	}
	alive.Wait()
	err := b.Observe()
	close(gate)
	running.Wait()
	return err
}
