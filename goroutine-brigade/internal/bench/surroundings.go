package bench

import (
	"fmt"
	"strings"
	"time"

	"brigade/goroutine-brigade/internal/cpus"
	"brigade/goroutine-brigade/internal/record"
)

// nsPerTick is the length of a tick of /proc/stat: the kernel tells user space
// 100 of them a second on every architecture that Go runs on.
const nsPerTick = 10_000_000

// surroundings are the machine at one moment. What is read and why is
// explained in harness/src/surroundings.rs, which this follows.
type surroundings struct {
	at           time.Time
	cpus         *cpuTime
	stealNs      *uint64
	pressureNs   *uint64
	frequencyKHz *uint64
}

// lookAround reads the kernel's files; allowed are the CPUs that goroutines may
// run on.
func lookAround(allowed cpus.List) surroundings {
	stat := readText("/proc/stat")
	return surroundings{
		at:           time.Now(),
		cpus:         cpuTimeOf(allowed, stat),
		stealNs:      scaled(stealTicks(stat), nsPerTick),
		pressureNs:   scaled(pressureMicroseconds(readText("/proc/pressure/cpu")), 1_000),
		frequencyKHz: frequency(),
	}
}

// since is what went on from before until now, in which this process had ownNs
// of CPU time. Goroutines have no child processes.
func (s surroundings) since(before surroundings, ownNs uint64) record.Interference {
	wallNs := uint64(s.at.Sub(before.at).Nanoseconds())
	return record.Interference{
		StealNs:            difference(s.stealNs, before.stealNs),
		PsiCPUSomeNs:       difference(s.pressureNs, before.pressureNs),
		WallNs:             &wallNs,
		OthersCPUNs:        s.cpus.othersSince(before.cpus, wallNs, ownNs),
		FrequencyBeforeKHz: before.frequencyKHz,
		FrequencyAfterKHz:  s.frequencyKHz,
	}
}

// cpuTime is the two accounts that the kernel keeps of CPUs, summed over them:
// measured idle time and sampled busy time.
type cpuTime struct {
	cpus, idleNs, busyNs uint64
}

// cpuTimeOf reads the text of /proc/stat; it is nil when one of the
// CPUs is not there.
func cpuTimeOf(allowed cpus.List, stat string) *cpuTime {
	var sum cpuTime
	for _, cpu := range allowed {
		ticks := ticksOf(cpu, stat)
		if ticks == nil {
			return nil
		}
		user, nice, system, idle, iowait := ticks[0], ticks[1], ticks[2], ticks[3], ticks[4]
		irq, softirq, steal := ticks[5], ticks[6], ticks[7]
		sum.cpus++
		sum.idleNs += (idle + iowait) * nsPerTick
		sum.busyNs += (user + nice + system + irq + softirq + steal) * nsPerTick
	}
	return &sum
}

// ticksOf is the first eight numbers of the line of one CPU.
func ticksOf(cpu int, stat string) []uint64 {
	name := fmt.Sprintf("cpu%d", cpu)
	for line := range strings.Lines(stat) {
		words := strings.Fields(line)
		if len(words) < 9 || words[0] != name {
			continue
		}
		var ticks []uint64
		for _, word := range words[1:9] {
			value := parsed(word)
			if value == nil {
				return nil
			}
			ticks = append(ticks, *value)
		}
		return ticks
	}
	return nil
}

// othersSince is what is left of the time that the CPUs were not idle, by the
// account that shows less of it, when ownNs is taken off.
func (c *cpuTime) othersSince(before *cpuTime, wallNs, ownNs uint64) *uint64 {
	if c == nil || before == nil || c.idleNs < before.idleNs || c.busyNs < before.busyNs {
		return nil
	}
	notIdle := less(c.cpus*wallNs, c.idleNs-before.idleNs)
	others := less(min(notIdle, c.busyNs-before.busyNs), ownNs)
	return &others
}

// less is the difference, and 0 where it would be below.
func less(from, by uint64) uint64 {
	return from - min(from, by)
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

// frequency is that of the CPU that this goroutine runs on, in kilohertz.
func frequency() *uint64 {
	name := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpus.Current())
	return parsed(strings.TrimSpace(readText(name)))
}
