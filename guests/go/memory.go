package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// memory measures what an idle goroutine holds: the slope of the figures over
// the counts, in which what the process holds in any case drops out. Before
// each reading the garbage collector runs, so that only what is held counts.
//
// Known biases: the runtime takes memory in large pieces, so the slope of what
// it has from the system needs many goroutines. A goroutine here has touched
// no more of its stack than waiting takes; one that calls deeper has a stack
// of twice, four times, … the 2 KiB.
var memory = program{
	about: `Read the memory that N idle goroutines hold, at growing counts.

Half of the goroutines are started first. One lap starts a further share of the
others, which wait for a channel or a timer; after each the process's memory is
read.
`,
	tasks: 100_000, iters: 9, waits: true, measure: measureMemory,
}

// What --waiting names: one channel for all, or an hour's sleep for each.
const (
	waitingChannel = "channel"
	waitingTimer   = "timer"
)

// ledgerPoint is what was held at one moment.
type ledgerPoint struct {
	Tasks         int     `json:"tasks"`
	Resident      *uint64 `json:"resident_bytes"`
	Proportional  *uint64 `json:"proportional_bytes"`
	Virtual       *uint64 `json:"virtual_bytes"`
	PageTables    *uint64 `json:"page_table_bytes"`
	KernelStacks  *uint64 `json:"kernel_stack_bytes"`
	Slab          *uint64 `json:"unreclaimable_slab_bytes"`
	Runtime       uint64  `json:"runtime_bytes"`
	RuntimeStacks uint64  `json:"runtime_stack_bytes"`
}

func measureMemory(r *run) error {
	gate := make(chan struct{})
	defer close(gate)
	started := 0
	start := func(count int) {
		var waiting sync.WaitGroup
		waiting.Add(count)
		for range count {
			go func() {
				waiting.Done()
				if r.waiting == waitingTimer {
					time.Sleep(time.Hour)
				}
				<-gate
			}()
		}
		waiting.Wait()
		started += count
	}
	laps := r.iters + r.warmups
	step := (r.tasks - r.tasks/2) / laps
	start(r.tasks - step*laps)
	create := r.measurement("create", "goroutine creation", step)
	create.CoversAll = false
	return r.laps(func() (times [2]int64, _ error) {
		begun := now()
		start(step)
		times[0] = now() - begun
		r.report.Ledger = append(r.report.Ledger, held(started))
		return times, nil
	}, create)
}

// held reads what the process holds while so many goroutines are alive.
func held(goroutines int) ledgerPoint {
	runtime.GC()
	var of runtime.MemStats
	runtime.ReadMemStats(&of)
	status, rollup := fields("/proc/self/status"), fields("/proc/self/smaps_rollup")
	machine := fields("/proc/meminfo")
	return ledgerPoint{
		Tasks: goroutines, Runtime: of.Sys, RuntimeStacks: of.StackInuse,
		Resident: rollup["Rss"], Proportional: rollup["Pss"],
		Virtual: status["VmSize"], PageTables: status["VmPTE"],
		KernelStacks: machine["KernelStack"], Slab: machine["SUnreclaim"],
	}
}

// fields are the lines of a file of the kernel that read `Name: 12 kB`, in
// bytes; none if it cannot be read.
func fields(path string) map[string]*uint64 {
	text, _ := os.ReadFile(path)
	found := map[string]*uint64{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 3 || words[2] != "kB" {
			continue
		}
		if kib, err := strconv.ParseUint(words[1], 10, 54); err == nil {
			bytes := kib << 10
			found[strings.TrimSuffix(words[0], ":")] = &bytes
		}
	}
	return found
}
