package bench

import (
	"iter"

	"brigade/goroutine-brigade/internal/record"
)

// Counts are the numbers of tasks of a sweep, in equal steps up to Tasks. It
// ends at an interruption.
func (b *Bench) Counts() iter.Seq[int] {
	steps := int(b.flags.steps)
	return func(yield func(int) bool) {
		b.findings.endedBy = record.Iterations
		for step := range steps {
			if b.Interrupted() || !yield(b.Tasks()*(step+1)/steps) {
				return
			}
		}
	}
}

// Enter takes down what was held at one number of tasks.
func (b *Bench) Enter(point record.LedgerPoint) {
	b.findings.ledger = append(b.findings.ledger, point)
	b.findings.iterations++
}
