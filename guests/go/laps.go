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

// report is what is printed in the end: the laps of docs/PROTOCOL.md.
type report struct {
	SchemaVersion    string         `json:"schema_version"`
	Form             string         `json:"form"`
	Program          string         `json:"program"`
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

// measurement is one distribution: each lap covers so many operations.
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
	// rings is how many brigades there are at once; 0 is one, timed lap by lap.
	rings int
	// warmupTime is how long a warm-up takes at least.
	warmupTime time.Duration
	// limit is how long laps may begin; 0 is for ever.
	limit, warmupLimit time.Duration
	load               load
	// trace is not nil in a process that is no measurement.
	trace *trace
	works bool
	// What tasks wait for whose memory is read.
	waiting     string
	wake        wakeFlags
	interrupted atomic.Bool
	report      report
	marks       io.Writer
	answers     *bufio.Reader
}

// epoch is when the program started, so that reading the clock is one call.
var epoch = time.Now()

// now is the monotonic clock, in nanoseconds.
func now() int64 { return int64(time.Since(epoch)) }

// measurement begins one of as many laps as may come. The first is the
// principal one.
func (r *run) measurement(name, operation string, operations int) *measurement {
	taken := &measurement{name, operation, operations, true, make([]int64, 0, r.iters)}
	r.report.Measurements = append(r.report.Measurements, taken)
	return taken
}

// laps runs the warm-up, and between the two marks the measured laps. lap
// returns the times that its phases took, for which there are measurements.
func (r *run) laps(lap func() ([2]int64, error), phases ...*measurement) error {
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

// repeat runs so many laps, and more until the least time has passed, and says
// how many it were and what ended them. None begins after the limit, but one is
// run however late it is.
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

// mark prints a word and waits for a line, or for the end of the input: the
// runner reads this process's counters meanwhile.
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
	report.SchemaVersion, report.Form = "1.1", "laps"
	report.Program, report.Version = "goroutine-brigade", "1.0.0"
	report.Runtime = runtime.Version()
	report.Tasks, report.Measurements = r.tasks*max(1, r.rings), taken
	report.Work = r.load.work.report(r.works)
	if err := json.NewEncoder(r.marks).Encode(report); err != nil {
		return fmt.Errorf("printing the laps: %w", err)
	}
	return nil
}
