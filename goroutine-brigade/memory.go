package main

import (
	"runtime"
	"sync"

	"brigade/goroutine-brigade/internal/bench"
	"brigade/goroutine-brigade/internal/record"
)

// memory measures what an idle goroutine holds.
//
// One iteration: more goroutines are started, which wait for a channel, until
// a further share of N is alive; then a garbage collection, so that only what
// is held counts, and the figures are read: resident memory as the kernel
// tells it, stacks and all memory from the system as the runtime does. What a
// goroutine holds is the slope over the counts: what the process holds in any
// case is not in it.
//
// Known biases: the runtime takes memory in large pieces, so the slope of what
// it has from the system needs many goroutines. A goroutine here has touched
// no more of its stack than waiting takes; one that calls deeper has a stack
// of twice, four times, … the 2 KiB.
var memory = bench.Program{
	Subcommand: "memory",
	About: `Read the memory that N idle goroutines hold, at growing counts.

Goroutines that wait for a channel are started in steps until N are alive. After
each step the process's memory is read; what one goroutine holds is the slope
over the counts, with its 95 % interval.
`,
	Defaults: bench.Defaults{Tasks: 100_000, Steps: 10},
	Body:     runMemory,
}

func runMemory(b *bench.Bench) error {
	if err := b.Require(bytesPerLink); err != nil {
		return err
	}
	var alive, running sync.WaitGroup
	gate := make(chan struct{})
	started := 0
	for count := range b.Counts() {
		running.Add(count - started)
		alive.Add(count - started)
		for ; started < count; started++ {
			go func() {
				alive.Done()
				<-gate
				running.Done()
			}()
		}
		alive.Wait()
		b.Enter(heldBy(count))
	}
	err := b.Observe()
	close(gate)
	running.Wait()
	return err
}

// heldBy reads what the process holds while so many goroutines are alive.
func heldBy(goroutines int) record.LedgerPoint {
	runtime.GC()
	var of runtime.MemStats
	runtime.ReadMemStats(&of)
	point := record.LedgerPoint{
		Tasks: uint64(goroutines), GoStackBytes: of.StackInuse, GoSystemBytes: of.Sys,
	}
	if held := bench.Memory(); held != nil {
		point.ResidentBytes, point.VirtualBytes = &held.RSSBytes, &held.VirtualBytes
		point.PageTableBytes = held.PageTableBytes
	}
	return point
}
