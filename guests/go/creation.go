package main

import "sync"

// mostStarts is about how many start times are measured.
const mostStarts = 100_000

// creation measures the cost of creating a goroutine: until it runs, and until
// it has ended.
//
// create is the time until the last go statement returns, for N goroutines;
// join the time from there until all have ended. create_cold is create in the
// very first lap, when the runtime has no ended goroutines to reuse. start is
// measured in separate laps, for each goroutine: from the go statement to the
// first line of its body.
//
// Known biases: with one worker no goroutine starts before the driver waits,
// so start is mostly time in the queue, and join includes running the
// goroutines. With several, idle workers start stealing at once. All
// goroutines of a lap report to one sync.WaitGroup.
var creation = program{
	about: `Time creating, starting and awaiting N goroutines.

One lap: start N goroutines whose body ends at once, then wait for all of them.
One operation is one goroutine. start is the time from the go statement to the
first line of the body; create_cold is the first lap's creation.
`,
	tasks: 10_000, iters: 100, warmups: fewestWarmups, measure: measureCreation,
}

func measureCreation(r *run) error {
	create := r.measurement("create", "goroutine creation", r.tasks)
	join := r.measurement("join", "join", r.tasks)
	cold := r.measurement("create_cold", "goroutine creation", r.tasks)
	start := r.measurement("start", "start", 1)
	start.CoversAll = false

	var running sync.WaitGroup
	lap := func() (times [4]int64, _ error) {
		begun := now()
		running.Add(r.tasks)
		for range r.tasks {
			go running.Done()
		}
		created := now()
		running.Wait()
		times[0], times[1] = created-begun, now()-created
		return times, nil
	}
	times, _ := lap()
	cold.LapsNs = append(cold.LapsNs, times[0])
	if err := r.laps(lap, create, join); err != nil {
		return err
	}

	called, started := make([]int64, r.tasks), make([]int64, r.tasks)
	_, _, err := r.repeat(min(r.iters, mostStarts/r.tasks+1), 0, r.limit, func() error {
		running.Add(r.tasks)
		for task := range started {
			called[task] = now()
			go func() {
				started[task] = now()
				running.Done()
			}()
		}
		running.Wait()
		for task := range started {
			start.LapsNs = append(start.LapsNs, started[task]-called[task])
		}
		return nil
	})
	return err
}
