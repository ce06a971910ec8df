package bench

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"brigade/goroutine-brigade/internal/record"
)

// nsPerTick is the length of a tick of /proc/stat: the kernel tells user space
// 100 of them a second on every architecture that Go runs on.
const nsPerTick = 10_000_000

// counters are what the process has used, and what disturbed it, until one
// moment.
type counters struct {
	userNs, systemNs       int64
	voluntary, involuntary int64
	migrations             *uint64
	stealNs                *uint64
	pressureNs             *uint64
}

// countersBefore reads the files first, so that reading them is not part of
// what follows.
func countersBefore() counters {
	now := surroundings()
	now.readUsage()
	return now
}

// countersAfter reads the files last.
func countersAfter() counters {
	var usage counters
	usage.readUsage()
	now := surroundings()
	usage.migrations, usage.stealNs, usage.pressureNs = now.migrations, now.stealNs, now.pressureNs
	return usage
}

func (c *counters) readUsage() {
	var usage unix.Rusage
	// It fails only for an unknown first argument.
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	c.userNs, c.systemNs = usage.Utime.Nano(), usage.Stime.Nano()
	c.voluntary, c.involuntary = usage.Nvcsw, usage.Nivcsw
}

func surroundings() counters {
	return counters{
		migrations: migrations(),
		stealNs:    scaled(stealTicks(readText("/proc/stat")), nsPerTick),
		pressureNs: scaled(pressureMicroseconds(readText("/proc/pressure/cpu")), 1_000),
	}
}

// span is what was used between two moments.
type span struct {
	userNs, systemNs       float64
	voluntary, involuntary float64
	migrations             *uint64
	interference           record.Interference
}

func (c counters) until(end counters) *span {
	return &span{
		userNs:      float64(end.userNs - c.userNs),
		systemNs:    float64(end.systemNs - c.systemNs),
		voluntary:   float64(end.voluntary - c.voluntary),
		involuntary: float64(end.involuntary - c.involuntary),
		migrations:  difference(end.migrations, c.migrations),
		interference: record.Interference{
			StealNs:      difference(end.stealNs, c.stealNs),
			PsiCPUSomeNs: difference(end.pressureNs, c.pressureNs),
		},
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

// stealTicks is the eighth number of the line "cpu", of all CPUs together.
func stealTicks(stat string) *uint64 {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return nil
	}
	return parsed(fields[8])
}

// pressureMicroseconds is the time in which some thread waited for a CPU.
func pressureMicroseconds(psi string) *uint64 {
	return fieldAfter(psi, "some ", "total=")
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
