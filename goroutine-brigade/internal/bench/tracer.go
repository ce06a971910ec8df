package bench

import "brigade/goroutine-brigade/internal/cpus"

const (
	// TracerMark is the bit of a number that asks every task to note its CPU.
	// Adding one for each task does not reach it from 0.
	TracerMark = 1 << 63
	// tracerLaps is how many marked laps follow the measured ones.
	tracerLaps = 32
	// nowhere is the CPU of a task that has noted none.
	nowhere = -1
)

// Tracer tells which hops cross from one CPU to another. Marked tokens follow
// the timed laps: a task that sees the mark notes its CPU, so that a timed hop
// pays for one comparison. The token that goes from task to task orders what
// they write.
type Tracer struct {
	cpus            []int
	hops, crossings uint64
}

func newTracer(tasks int) *Tracer {
	tracer := &Tracer{cpus: make([]int, tasks)}
	tracer.forget()
	return tracer
}

// Note notes the CPU of the calling goroutine for the task at position.
func (t *Tracer) Note(position int) {
	t.cpus[position] = cpus.Current()
}

func (t *Tracer) forget() {
	for i := range t.cpus {
		t.cpus[i] = nowhere
	}
}

// countLap counts the hops of one lap whose ends were on different CPUs. The
// driver sent the token from CPU sent and took it on CPU taken.
func (t *Tracer) countLap(sent, taken int) {
	here := sent
	for position := range len(t.cpus) + 1 {
		next := taken
		if position < len(t.cpus) {
			next = t.cpus[position]
		}
		if here != nowhere && next != nowhere {
			t.hops++
			if here != next {
				t.crossings++
			}
		}
		here = next
	}
	t.forget()
}

// crossCPUShare is the share of traced hops that crossed; nil before any lap.
func (t *Tracer) crossCPUShare() *float64 {
	if t == nil || t.hops == 0 {
		return nil
	}
	share := float64(t.crossings) / float64(t.hops)
	return &share
}
