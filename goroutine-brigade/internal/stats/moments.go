// Package stats holds the statistics of this program: pure functions that
// touch no operating system.
package stats

import "math"

// Moments is a running mean and standard deviation, exact by Welford's method
// (Technometrics 4(3), 1962): a sum of squares would lose a small deviation
// beside a large mean to cancellation. The zero value is ready for use.
type Moments struct {
	count uint64
	mean  float64
	// Sum of squared distances from the running mean.
	squares float64
}

// Add takes one more value in.
func (m *Moments) Add(value float64) {
	m.count++
	distance := value - m.mean
	m.mean += distance / float64(m.count)
	m.squares += distance * (value - m.mean)
}

// Count tells how many values were taken in.
func (m *Moments) Count() uint64 {
	return m.count
}

// Mean is the mean, 0 without values.
func (m *Moments) Mean() float64 {
	return m.mean
}

// StdDev is the sample standard deviation (divided by n - 1), and false for
// fewer than two values.
func (m *Moments) StdDev() (float64, bool) {
	if m.count < 2 {
		return 0, false
	}
	return math.Sqrt(m.squares / float64(m.count-1)), true
}
