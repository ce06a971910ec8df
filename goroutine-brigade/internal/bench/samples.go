package bench

import (
	"fmt"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"brigade/goroutine-brigade/internal/record"
	"brigade/goroutine-brigade/internal/stats"
)

const (
	// highestNs is the largest sample that is told apart from larger ones: an
	// hour.
	highestNs = 3_600_000_000_000
	// significantDigits is how precisely the histogram keeps its values.
	significantDigits = 3
	// ticksPerHalfDistance is how finely its text is divided, as in
	// HdrHistogram's own programs.
	ticksPerHalfDistance = 5
	// subBuckets are those of three digits: the power of two above 2 · 10^3.
	// Each bucket doubles the range; so many reach an hour.
	subBuckets = 2048
	buckets    = 32
)

// Measured says what a sample measures.
type Measured struct {
	// Name of the measurement, as in the record.
	Name string
	// Operation is what one operation is.
	Operation string
	// Operations in one sample.
	Operations uint64
	// CoversTasks tells whether a sample covers all tasks, so that a figure
	// per task makes sense.
	CoversTasks bool
}

// Hops measures a brigade's iteration: one hop to each task and one back to
// the driver.
func Hops(tasks int) Measured {
	return Measured{Name: "iteration", Operation: "hop", Operations: uint64(tasks) + 1, CoversTasks: true}
}

// PerTask measures one operation for each of tasks tasks.
func PerTask(name, operation string, tasks int) Measured {
	return Measured{Name: name, Operation: operation, Operations: uint64(tasks), CoversTasks: true}
}

// Single measures one operation of one task.
func Single(name string) Measured {
	return Measured{Name: name, Operation: name, Operations: 1}
}

// samples are those taken of one measurement, in nanoseconds. The histogram is
// allocated whole, so that taking a sample allocates nothing.
type samples struct {
	measured  Measured
	moments   stats.Moments
	histogram *hdrhistogram.Histogram
	minNs     int64
	maxNs     int64
}

func newSamples(measured Measured) *samples {
	return &samples{
		measured:  measured,
		histogram: hdrhistogram.New(1, highestNs, significantDigits),
		minNs:     highestNs,
	}
}

// add takes in one sample. A duration above the histogram's range counts there
// as the longest that it holds.
func (s *samples) add(nanoseconds int64) {
	s.moments.Add(float64(nanoseconds))
	_ = s.histogram.RecordValue(min(nanoseconds, highestNs))
	s.minNs = min(s.minNs, nanoseconds)
	s.maxNs = max(s.maxNs, nanoseconds)
}

// measurement is the record's form of the samples, of which there are some.
func (s *samples) measurement(tasks int) (record.Measurement, error) {
	histogram, err := s.histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	mean := s.moments.Mean()
	// The histogram rounds up to its precision; the extremes are exact.
	percentile := func(percent float64) uint64 {
		return uint64(min(s.histogram.ValueAtPercentile(percent), s.maxNs))
	}
	measurement := record.Measurement{
		Name: s.measured.Name, Operation: s.measured.Operation, Operations: s.measured.Operations,
		Count:  s.moments.Count(),
		MeanNs: mean,
		MinNs:  uint64(s.minNs),
		P50Ns:  percentile(50), P90Ns: percentile(90), P99Ns: percentile(99), P999Ns: percentile(99.9),
		MaxNs:          uint64(s.maxNs),
		NsPerOperation: mean / float64(s.measured.Operations),
		Histogram:      string(histogram),
	}
	if deviation, known := s.moments.StdDev(); known {
		measurement.StddevNs = &deviation
	}
	if s.measured.CoversTasks {
		perTask := mean / float64(tasks)
		measurement.NsPerTask = &perTask
	}
	return measurement, err
}

// operations are those covered by all samples together.
func (s *samples) operations() uint64 {
	return s.measured.Operations * s.moments.Count()
}

// percentileText is HdrHistogram's text, which its plotters load, in the
// columns in which the harness writes it.
func (s *samples) percentileText() string {
	var text strings.Builder
	text.WriteString("       Value     Percentile TotalCount 1/(1-Percentile)\n\n")
	for _, step := range s.histogram.CumulativeDistributionWithTicks(ticksPerHalfDistance) {
		percentile := step.Quantile / 100
		fmt.Fprintf(&text, "%12.3f %14.12f %10d", float64(step.ValueAt), percentile, step.Count)
		if percentile < 1 {
			fmt.Fprintf(&text, " %14.2f", 1/(1-percentile))
		}
		text.WriteByte('\n')
	}
	fmt.Fprintf(&text, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n",
		s.histogram.Mean(), s.histogram.StdDev())
	fmt.Fprintf(&text, "#[Max     = %12.3f, Total count    = %12d]\n",
		float64(s.histogram.Max()), s.histogram.TotalCount())
	fmt.Fprintf(&text, "#[Buckets = %12d, SubBuckets     = %12d]\n", buckets, subBuckets)
	return text.String()
}
