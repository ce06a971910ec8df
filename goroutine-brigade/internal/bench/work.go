package bench

import (
	"math"
	"math/bits"

	"brigade/goroutine-brigade/internal/record"
)

const (
	// factor is an odd number with bits everywhere, as in the harness.
	factor = 6_364_136_223_846_793_005
	// short and long are the two amounts whose times make the slope, in units.
	short = 2_000
	long  = 12_000
	// times is how often each is done, before the laps and after: 11 ms each.
	times = 501
)

// Work is that of one hop. Whoever sends the token does it before.
type Work struct {
	units uint64
}

// Perform does it. Without units it is one comparison.
func (w Work) Perform() {
	if w.units > 0 {
		spend(w.units)
	}
}

// Work is what --work puts into every hop, of a program that offers it. The
// record tells how long a unit takes, which is measured before the laps and after.
func (b *Bench) Work() Work {
	b.findings.work = &record.Work{Units: *b.flags.work}
	return Work{*b.flags.work}
}

// calibrateWork measures a unit of work, if there is any, once more.
func (b *Bench) calibrateWork() {
	if work := b.findings.work; work != nil && work.Units > 0 {
		b.findings.calibration.look()
		each := b.findings.calibration.nsPerUnit()
		work.NsPerUnit = &each
	}
}

// spend does units of work: turns of a loop in which each step waits for the
// one before, as in the harness. It is compiled once, and the result that it
// returns, which nobody takes, keeps the loop from being removed.
//
//go:noinline
func spend(units uint64) uint64 {
	state := units
	for range units {
		state = bits.RotateLeft64(state*factor, 7)
	}
	return state
}

// calibration is the quickest of many short runs and of as many long ones, in
// nanoseconds. Whatever else the machine does can only make a run slower, and
// does so for tens of milliseconds on end: so there are looks before the laps
// and after.
type calibration struct {
	looked          bool
	shortNs, longNs int64
}

// look runs both amounts in turn on the CPU that this goroutine is on.
func (c *calibration) look() {
	timed := func(units uint64) int64 {
		begun := Now()
		spend(units)
		return Now() - begun
	}
	if !c.looked {
		*c = calibration{looked: true, shortNs: math.MaxInt64, longNs: math.MaxInt64}
	}
	for range times {
		c.shortNs = min(c.shortNs, timed(short))
		c.longNs = min(c.longNs, timed(long))
	}
}

// nsPerUnit is how long a unit takes: the slope between the two amounts.
func (c *calibration) nsPerUnit() float64 {
	return float64(c.longNs-c.shortNs) / (long - short)
}
