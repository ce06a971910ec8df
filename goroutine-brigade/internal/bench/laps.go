package bench

import (
	"iter"
	"math"

	"brigade/goroutine-brigade/internal/cpus"
	"brigade/goroutine-brigade/internal/record"
)

// mostPhases is the most parts that a lap can be split into.
const mostPhases = 4

// Lap is one iteration, being timed.
type Lap struct {
	begun    int64
	marks    [mostPhases]int64
	phase    int
	finished bool
	marked   bool
	sampled  []int64
}

// IsMarked tells whether this lap asks the tasks to note their CPUs. It is not
// timed.
func (l *Lap) IsMarked() bool {
	return l.marked
}

// Split ends one phase of the lap and begins the next.
func (l *Lap) Split() {
	l.marks[l.phase] = Now()
	l.phase++
}

// Sample takes a sample, in nanoseconds, in laps beside the principal ones.
func (l *Lap) Sample(nanoseconds int64) {
	l.sampled = append(l.sampled, nanoseconds)
}

// Finish ends the lap. One that is left unfinished is not counted.
func (l *Lap) Finish() {
	l.marks[l.phase] = Now()
	l.finished = true
}

func (l *Lap) begin() {
	l.phase, l.finished, l.sampled = 0, false, l.sampled[:0]
	l.begun = Now()
}

// end is when the finished lap ended.
func (l *Lap) end() int64 {
	return l.marks[l.phase]
}

// loop runs the laps of one measurement: the warm-up, the measured ones, and
// the marked ones. All bookkeeping happens between laps.
type loop struct {
	bench    *Bench
	lap      Lap
	yield    func(*Lap) bool
	progress progress
	// stopped tells that the caller has left the loop, or was interrupted.
	stopped bool
	endedBy record.Ending
}

// Laps are the principal laps. phases says what the parts of a lap are; CPU
// time and switches are reported per operation of the first.
func (b *Bench) Laps(phases ...Measured) iter.Seq[*Lap] {
	taken := make([]*samples, len(phases))
	for i, measured := range phases {
		taken[i] = newSamples(measured)
	}
	return func(yield func(*Lap) bool) {
		b.calibrateWork()
		loop := b.newLoop(yield)
		found := &b.findings
		found.warmups = loop.warmUp()

		before := countersBefore(b.cpus)
		found.iterations = loop.measure(func(lap *Lap) {
			begun := lap.begun
			for phase, samples := range taken {
				samples.add(lap.marks[phase] - begun)
				begun = lap.marks[phase]
			}
		})
		found.span = before.until(countersAfter(b.cpus))
		found.endedBy = loop.endedBy
		if found.iterations > 0 {
			found.samples = append(taken, found.samples...)
		}
		loop.trace()
	}
}

// ColdLap is one lap without a warm-up: what the first time costs.
func (b *Bench) ColdLap(measured Measured) iter.Seq[*Lap] {
	taken := newSamples(measured)
	return func(yield func(*Lap) bool) {
		loop := b.newLoop(yield)
		if loop.run(1, b.deadline(), nil, func(lap *Lap) { taken.add(lap.end() - lap.begun) }) > 0 {
			b.findings.samples = append(b.findings.samples, taken)
		}
	}
}

// SideLaps are laps beside the principal ones, as many of them, in which the
// program takes samples itself; they do not count towards CPU time and
// switches.
func (b *Bench) SideLaps(measured Measured) iter.Seq[*Lap] {
	taken := newSamples(measured)
	return func(yield func(*Lap) bool) {
		loop := b.newLoop(yield)
		loop.warmUp()
		loop.measure(func(lap *Lap) {
			for _, nanoseconds := range lap.sampled {
				taken.add(nanoseconds)
			}
		})
		if taken.moments.Count() > 0 {
			b.findings.samples = append(b.findings.samples, taken)
		}
	}
}

func (b *Bench) newLoop(yield func(*Lap) bool) *loop {
	return &loop{
		bench: b, yield: yield, endedBy: record.Iterations,
		lap:      Lap{sampled: make([]int64, 0, b.Tasks())},
		progress: newProgress(b.flags.quiet),
	}
}

func (l *loop) warmUp() uint64 {
	deadline := min(l.bench.deadline(), Now()+l.bench.flags.longestWarmup)
	return l.run(l.bench.flags.warmups, deadline, nil, func(*Lap) {})
}

// measure runs the laps that count. At least one does, however late it is.
func (l *loop) measure(keep func(*Lap)) uint64 {
	l.progress.total = l.bench.flags.iters
	defer l.progress.end()
	late := func() { l.endedBy = record.MaxTime }
	return l.run(l.bench.flags.iters, l.bench.deadline(), late, keep)
}

// trace runs the laps that the tracer marks.
func (l *loop) trace() {
	tracer := l.bench.tracer
	if tracer == nil || l.stopped {
		return
	}
	l.lap.marked = true
	sent := cpus.Current()
	l.run(tracerLaps, l.bench.deadline(), nil, func(*Lap) {
		tracer.countLap(sent, cpus.Current())
		sent = cpus.Current()
	})
	l.lap.marked = false
}

// run runs up to count laps and hands each finished one to keep. It starts none
// after the deadline, and calls late when that comes before. It returns how many
// were finished.
func (l *loop) run(count uint64, deadline int64, late func(), keep func(*Lap)) uint64 {
	for done := range count {
		if l.stopped {
			return done
		}
		if l.bench.Interrupted() {
			l.stop(record.Signal)
			return done
		}
		if done > 0 && l.lap.end() >= deadline {
			if late != nil {
				late()
			}
			return done
		}
		l.lap.begin()
		going := l.yield(&l.lap)
		if !l.lap.finished || !going {
			l.stop(record.Failure)
			return done
		}
		keep(&l.lap)
		l.progress.show(l.lap.end(), done+1)
	}
	return count
}

func (l *loop) stop(ending record.Ending) {
	l.stopped = true
	l.endedBy = ending
}

// deadline is when a stage that begins now must start no more laps.
func (b *Bench) deadline() int64 {
	if b.flags.maxTime == nil {
		return math.MaxInt64
	}
	return Now() + int64(*b.flags.maxTime*1e9)
}
