// Package bench is what a measurement needs around it, as the harness gives it
// to the Rust programs: flags, laps, counters, the record and the exit code.
package bench

import (
	"sync/atomic"

	"brigade/goroutine-brigade/internal/cpus"
	"brigade/goroutine-brigade/internal/limits"
	"brigade/goroutine-brigade/internal/record"
)

// Bench is what a program measures on. What its laps measured stays here, so
// that it is reported also when the program fails half way.
type Bench struct {
	flags       *Flags
	cpus        cpus.List
	workers     int
	interrupted atomic.Bool
	tracer      *Tracer
	findings    findings
}

// findings are what has been measured so far.
type findings struct {
	// Of the principal laps first, whenever they were run.
	samples        []*samples
	iterations     uint64
	warmups        uint64
	endedBy        record.Ending
	span           *span
	memory         *record.Memory
	ledger         []record.LedgerPoint
	expectedSwitch *float64
	work           *record.Work
	calibration    calibration
}

// Tasks is the number of goroutines asked for.
func (b *Bench) Tasks() int {
	return int(b.flags.tasks)
}

// Workers is how many goroutines run at once: GOMAXPROCS.
func (b *Bench) Workers() int {
	return b.workers
}

// Require refuses more goroutines than memory allows, before any of them
// exists.
func (b *Bench) Require(bytesPerTask uint64) error {
	return limits.Require(b.flags.tasks, bytesPerTask)
}

// ExpectSwitches claims how many context switches the kernel will count for
// each operation.
func (b *Bench) ExpectSwitches(perOperation float64) {
	b.findings.expectedSwitch = &perOperation
}

// Tracer is that of a brigade of Tasks tasks. With it, marked laps follow the
// measured ones.
func (b *Bench) Tracer() *Tracer {
	if b.tracer == nil {
		b.tracer = newTracer(b.Tasks())
	}
	return b.tracer
}

// Interrupted tells whether SIGINT or SIGTERM has come.
func (b *Bench) Interrupted() bool {
	return b.interrupted.Load()
}

// Observe looks at the process while its tasks are alive: reads its memory,
// then runs --command. After an interruption it does nothing.
func (b *Bench) Observe() error {
	if b.Interrupted() {
		return nil
	}
	b.calibrateWork()
	b.findings.memory = Memory()
	if b.flags.command == nil {
		return nil
	}
	return runCommand(*b.flags.command, b.flags.json)
}
