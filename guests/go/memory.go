package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// memory measures the memory of an idle goroutine: the slope of the figures
// over the counts, which excludes the process's fixed memory. The garbage
// collector runs before each reading, so that only live memory counts.
//
// Known biases: the runtime allocates memory in large pieces, so the slope of
// memory obtained from the system needs many goroutines. A goroutine here has
// used only as much of its stack as waiting needs; with deeper calls its stack
// is twice, four times, … the 2 KiB.
var memory = program{
	about: `Read the memory that N idle goroutines hold, at growing counts.

Half of the goroutines are started first. One lap starts a further share of the
others, which wait for a channel or a timer; after each the process's memory is
read.
`,
	tasks: 100_000, iters: 9, waits: true, measure: measureMemory,
}

// Values of --waiting: one channel for all, or an hour's sleep for each.
const (
	waitingChannel = "channel"
	waitingTimer   = "timer"
)

// ledgerPoint is the memory at one moment.
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
	return r.laps(func() (times [4]int64, _ error) {
		begun := now()
		start(step)
		times[0] = now() - begun
		r.report.Ledger = append(r.report.Ledger, held(started))
		return times, nil
	}, create)
}

// held reads the process's memory while this many goroutines are alive.
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

// fields returns the lines `Name: 12 kB` of a kernel file, in bytes; empty if
// it cannot be read.
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
