package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"
)

// report is the final output: the laps of docs/PROTOCOL.md.
type report struct {
	SchemaVersion    string         `json:"schema_version"`
	Form             string         `json:"form"`
	Program          string         `json:"program"`
	Kind             string         `json:"kind"`
	Version          string         `json:"version"`
	Runtime          string         `json:"runtime"`
	Parameters       map[string]any `json:"parameters"`
	Tasks            int            `json:"tasks"`
	Warmups          int            `json:"warmups"`
	EndedBy          string         `json:"ended_by"`
	Error            *string        `json:"error"`
	Measurements     []*measurement `json:"measurements"`
	ExpectedSwitches *float64       `json:"expected_switches_per_operation"`
	Ledger           []ledgerPoint  `json:"ledger,omitempty"`
	Work             *workReport    `json:"work"`
	Schedule         *schedule      `json:"schedule"`
}

// measurement is one distribution; each lap covers several operations.
type measurement struct {
	Name       string  `json:"name"`
	Operation  string  `json:"operation"`
	Operations int     `json:"operations"`
	CoversAll  bool    `json:"covers_all_tasks"`
	LapsNs     []int64 `json:"laps_ns"`
}

// run is one run of a program.
type run struct {
	tasks, iters, warmups, workers int
	// rings is the number of simultaneous brigades; 0 means one, timed lap by lap.
	rings int
	// warmupTime is the shortest warm-up.
	warmupTime time.Duration
	// limit is the time after which no lap begins; 0 means none.
	limit, warmupLimit time.Duration
	load               load
	// outside is the units of work after the release of a lock.
	outside uint64
	works   bool
	// What the tasks of a memory measurement wait for.
	waiting string
	// What wakes all goroutines at once.
	by      string
	wake    wakeFlags
	channel channelFlags
	// pending is the number of timers that wait meanwhile.
	pending     int
	interrupted atomic.Bool
	report      report
	marks       io.Writer
	answers     *bufio.Reader
}

// epoch is the program's start, so that reading the clock is one call.
var epoch = time.Now()

// now is the monotonic clock, in nanoseconds.
func now() int64 { return int64(time.Since(epoch)) }

// measurement creates one with room for all laps. The first is the principal
// one.
func (r *run) measurement(name, operation string, operations int) *measurement {
	taken := &measurement{name, operation, operations, true, make([]int64, 0, r.iters)}
	r.report.Measurements = append(r.report.Measurements, taken)
	return taken
}

// laps runs the warm-up and, between the two marks, the measured laps. lap
// returns the durations of its phases, one per measurement.
func (r *run) laps(lap func() ([4]int64, error), phases ...*measurement) error {
	r.load.work.calibrate()
	warmups, _, err := r.repeat(r.warmups, r.warmupTime, r.warmupLimit, func() error {
		_, err := lap()
		return err
	})
	r.report.Warmups = warmups
	if err != nil {
		return err
	}
	r.mark("measuring")
	_, r.report.EndedBy, err = r.repeat(r.iters, 0, r.limit, func() error {
		times, err := lap()
		if err == nil {
			for phase, taken := range phases {
				taken.LapsNs = append(taken.LapsNs, times[phase])
			}
		}
		return err
	})
	r.mark("measured")
	r.load.work.calibrate()
	return err
}

// repeat runs at least this many laps and for at least this time, and returns
// their number and what ended them. None begins after the limit, except the
// first.
func (r *run) repeat(
	count int, least, limit time.Duration, lap func() error,
) (int, string, error) {
	begun, done := now(), 0
	for ; done < count || now()-begun < int64(least); done++ {
		if r.interrupted.Load() {
			return done, "signal", nil
		}
		if done > 0 && limit > 0 && now()-begun >= int64(limit) {
			return done, "max-time", nil
		}
		if err := lap(); err != nil {
			return done, "error", err
		}
	}
	return done, "iterations", nil
}

// mark prints a word and waits for a line or end of file, while the runner
// reads this process's counters.
func (r *run) mark(word string) {
	fmt.Fprintln(r.marks, word)
	_, _ = r.answers.ReadString('\n')
}

// print prints the laps, if there are any.
func (r *run) print(failure error) error {
	report := &r.report
	taken := report.Measurements[:0]
	for _, measurement := range report.Measurements {
		if len(measurement.LapsNs) > 0 {
			taken = append(taken, measurement)
		}
	}
	switch {
	case len(taken) > 0:
	case r.interrupted.Load():
		return errors.New("interrupted before the first measured lap")
	default:
		return nil
	}
	if failure != nil {
		text := failure.Error()
		report.Error, report.EndedBy = &text, "error"
	}
	report.SchemaVersion, report.Form, report.Kind = "1.2", "laps", "goroutine"
	report.Program, report.Version = "goroutine-brigade", "1.0.0"
	report.Runtime = runtime.Version()
	report.Tasks, report.Measurements = r.tasks*max(1, r.rings), taken
	report.Work = r.load.work.report(r.works)
	if err := json.NewEncoder(r.marks).Encode(report); err != nil {
		return fmt.Errorf("printing the laps: %w", err)
	}
	return nil
}
