package bench

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// progressIntervalNs is the least time between two drawings.
const progressIntervalNs = 100_000_000

// progress draws how far a loop has got, on a terminal only and between laps.
type progress struct {
	visible bool
	// total is the number of laps to come, 0 while none are counted.
	total   uint64
	drawnNs int64
}

func newProgress(quiet bool) progress {
	_, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS)
	return progress{visible: !quiet && err == nil}
}

// show draws that done laps are done, unless it has just drawn.
func (p *progress) show(nowNs int64, done uint64) {
	if p.visible && p.total > 0 && nowNs-p.drawnNs >= progressIntervalNs {
		p.drawnNs = nowNs
		fmt.Fprintf(os.Stderr, "\r%d/%d iterations\x1b[K", done, p.total)
	}
}

// end stops counting and clears the line.
func (p *progress) end() {
	p.total = 0
	if p.visible && p.drawnNs != 0 {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
