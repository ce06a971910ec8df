package main

import (
	"math"
	"math/bits"
)

// work is done by the sender at every hop. Its units are those of the harness:
// iterations of a loop in which each step depends on the one before.
type work struct {
	units           uint64
	calibrated      bool
	shortNs, longNs int64
}

type workReport struct {
	Units     uint64   `json:"units"`
	NsPerUnit *float64 `json:"ns_per_unit"`
}

// The two amounts whose times give the slope, in units, and how often each is
// timed, before and after the laps: 11 ms.
const (
	short = 2_000
	long  = 12_000
	times = 501
)

// perform does the work. Without units it is one comparison.
func (w *work) perform() {
	if w.units > 0 {
		spend(w.units)
	}
}

// spend returns an unused result, so that the compiler keeps the loop.
//
//go:noinline
func spend(units uint64) uint64 {
	state := units
	for range units {
		state = bits.RotateLeft64(state*6_364_136_223_846_793_005, 7)
	}
	return state
}

// calibrate times both amounts, if there is any work. The fastest of many runs
// counts: disturbances can only make one slower.
func (w *work) calibrate() {
	if w.units == 0 {
		return
	}
	if !w.calibrated {
		w.calibrated, w.shortNs, w.longNs = true, math.MaxInt64, math.MaxInt64
	}
	timed := func(units uint64) int64 {
		begun := now()
		spend(units)
		return now() - begun
	}
	for range times {
		w.shortNs, w.longNs = min(w.shortNs, timed(short)), min(w.longNs, timed(long))
	}
}

// report returns the slope, which cancels common costs; nil without --work.
func (w *work) report(offered bool) *workReport {
	if !offered {
		return nil
	}
	report := &workReport{Units: w.units}
	if w.calibrated {
		slope := float64(w.longNs-w.shortNs) / (long - short)
		report.NsPerUnit = &slope
	}
	return report
}
