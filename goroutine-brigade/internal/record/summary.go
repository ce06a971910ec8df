package record

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Duration writes nanoseconds with three decimals in the largest unit that
// keeps them above 1.
func Duration(nanoseconds float64) string {
	size := math.Abs(nanoseconds)
	switch {
	case size >= 1e9:
		return fmt.Sprintf("%.3fs", nanoseconds/1e9)
	case size >= 1e6:
		return fmt.Sprintf("%.3fms", nanoseconds/1e6)
	case size >= 1e3:
		return fmt.Sprintf("%.3fµs", nanoseconds/1e3)
	}
	return fmt.Sprintf("%.3fns", nanoseconds)
}

// Summary is the record for people, in lines that end with a newline.
func (r *Record) Summary() string {
	text := r.Heading()
	if len(r.Ledger) > 0 {
		return text + ledgerText(r.Ledger)
	}
	if len(r.Measurements) == 0 {
		return text + "nothing was measured\n"
	}
	principal := &r.Measurements[0]
	text += principal.meanLine() + principal.percentileLine()
	for i := range r.Measurements[1:] {
		other := &r.Measurements[1+i]
		text += other.Name + ":\n  " + other.meanLine() + other.percentileLine()
	}
	if r.CPU != nil {
		text += r.CPU.line(principal)
	}
	if r.Work != nil && r.Work.NsPerUnit != nil {
		text += r.Work.line(principal)
	}
	if r.Switches != nil {
		text += r.Switches.lines(principal)
	}
	if r.Memory != nil {
		text += r.Memory.line()
	}
	return text
}

// Heading is the line that says how many tasks and iterations this is about.
func (r *Record) Heading() string {
	incomplete := ""
	switch {
	case r.Complete && r.EndedBy == MaxTime:
		incomplete = " (--max-time spent)"
	case !r.Complete && r.EndedBy == Signal:
		incomplete = " (incomplete: interrupted)"
	case !r.Complete:
		incomplete = " (incomplete: failed)"
	}
	return fmt.Sprintf("%s, %s%s:\n",
		counted(r.Tasks, "task"), counted(r.Iterations, "iteration"), incomplete)
}

func counted(count uint64, what string) string {
	if count == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", count, what)
}

func (m *Measurement) meanLine() string {
	sample, perTask, deviation := m.Operation, "", "unknown"
	if m.StddevNs != nil {
		deviation = Duration(*m.StddevNs)
	}
	if m.NsPerTask != nil {
		sample = "iteration"
		perTask = fmt.Sprintf(" (%s per task per iter)", Duration(*m.NsPerTask))
	}
	return fmt.Sprintf("mean %s per %s, stddev %s%s\n",
		Duration(m.MeanNs), sample, deviation, perTask)
}

func (m *Measurement) percentileLine() string {
	duration := func(ns uint64) string { return Duration(float64(ns)) }
	return fmt.Sprintf("  min %s, p50 %s, p90 %s, p99 %s, max %s\n", duration(m.MinNs),
		duration(m.P50Ns), duration(m.P90Ns), duration(m.P99Ns), duration(m.MaxNs))
}

// line tells an operation's wall time as CPU time and waiting, where the
// principal measurement is all that an iteration does. CPU time of several
// threads at once can exceed the wall time, and then nothing waits.
func (c *CPUTime) line(principal *Measurement) string {
	user, system := c.UserNsPerOperation, c.SystemNsPerOperation
	if principal.Name != "iteration" {
		return fmt.Sprintf("per %s: %s\n", principal.Operation, Duration(user+system))
	}
	wall := principal.NsPerOperation
	rest, name := wall-user-system, "waiting"
	if rest < 0 {
		rest, name = -rest, "overlapped"
	}
	return fmt.Sprintf("per %s: %s: %s user, %s kernel, %s %s\n", principal.Operation,
		Duration(wall), Duration(user), Duration(system), Duration(rest), name)
}

func (w *Work) line(principal *Measurement) string {
	each := *w.NsPerUnit
	return fmt.Sprintf("work per %s: %d units of %.3f ns: %s\n",
		principal.Operation, w.Units, each, Duration(float64(w.Units)*each))
}

func (s *Switches) lines(principal *Measurement) string {
	var text strings.Builder
	fmt.Fprintf(&text, "switches per %s: %.3f voluntary, %.3f involuntary",
		principal.Operation, s.VoluntaryPerOperation, s.InvoluntaryPerOperation)
	if s.ExpectedPerOperation != nil {
		expected := strconv.FormatFloat(*s.ExpectedPerOperation, 'g', -1, 64)
		fmt.Fprintf(&text, " (%s expected)", expected)
	}
	text.WriteByte('\n')
	if s.CrossCPUShare != nil {
		fmt.Fprintf(&text, "hops between CPUs: %.1f %%", *s.CrossCPUShare*100)
		if s.Migrations != nil {
			fmt.Fprintf(&text, ", %d migrations", *s.Migrations)
		}
		text.WriteByte('\n')
	}
	return text.String()
}

func (m *Memory) line() string {
	mib := func(bytes uint64) float64 { return float64(bytes) / (1 << 20) }
	return fmt.Sprintf("memory: %.1f MiB resident, %.1f MiB virtual\n",
		mib(m.RSSBytes), mib(m.VirtualBytes))
}
