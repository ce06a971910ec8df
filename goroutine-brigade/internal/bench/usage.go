package bench

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brigade/goroutine-brigade/internal/cpus"
	"brigade/goroutine-brigade/internal/record"
)

// counters are what the process has used, and what disturbed it, until one
// moment.
type counters struct {
	userNs, systemNs       int64
	voluntary, involuntary int64
	migrations             *uint64
	around                 surroundings
}

// countersBefore reads the files first, so that reading them is not part of
// what follows.
func countersBefore(allowed cpus.List) counters {
	now := counters{migrations: migrations(), around: lookAround(allowed)}
	now.readUsage()
	return now
}

// countersAfter reads the files last.
func countersAfter(allowed cpus.List) counters {
	var now counters
	now.readUsage()
	now.around, now.migrations = lookAround(allowed), migrations()
	return now
}

func (c *counters) readUsage() {
	var usage unix.Rusage
	// It fails only for an unknown first argument.
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	c.userNs, c.systemNs = usage.Utime.Nano(), usage.Stime.Nano()
	c.voluntary, c.involuntary = usage.Nvcsw, usage.Nivcsw
}

// span is what was used between two moments.
type span struct {
	userNs, systemNs       float64
	voluntary, involuntary float64
	migrations             *uint64
	interference           record.Interference
}

func (c counters) until(end counters) *span {
	userNs, systemNs := end.userNs-c.userNs, end.systemNs-c.systemNs
	return &span{
		userNs:       float64(userNs),
		systemNs:     float64(systemNs),
		voluntary:    float64(end.voluntary - c.voluntary),
		involuntary:  float64(end.involuntary - c.involuntary),
		migrations:   difference(end.migrations, c.migrations),
		interference: end.around.since(c.around, uint64(userNs+systemNs)),
	}
}

// difference is null where either figure is, or where a thread that had
// counted is gone.
func difference(after, before *uint64) *uint64 {
	if after == nil || before == nil || *after < *before {
		return nil
	}
	distance := *after - *before
	return &distance
}

// migrations sums how often the kernel moved each live thread.
func migrations() *uint64 {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var sum uint64
	for _, thread := range threads {
		moved := fieldAfter(readText("/proc/self/task/"+thread.Name()+"/sched"), "se.nr_migrations", ":")
		if moved == nil {
			return nil
		}
		sum += *moved
	}
	return &sum
}

// fieldAfter is the number after mark on the line that starts with prefix.
func fieldAfter(text, prefix, mark string) *uint64 {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			_, value, _ := strings.Cut(line, mark)
			return parsed(strings.TrimSpace(value))
		}
	}
	return nil
}

func parsed(text string) *uint64 {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil
	}
	return &value
}

func scaled(value *uint64, factor uint64) *uint64 {
	if value == nil {
		return nil
	}
	product := *value * factor
	return &product
}

// readText is a file's text, empty where it cannot be read.
func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
