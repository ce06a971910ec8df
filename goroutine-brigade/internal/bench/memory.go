package bench

import (
	"strings"

	"brigade/goroutine-brigade/internal/record"
)

// Memory reads what the process holds now; nil where /proc does not tell.
func Memory() *record.Memory {
	return memoryIn(readText("/proc/self/status"))
}

func memoryIn(status string) *record.Memory {
	bytes := func(name string) *uint64 {
		for line := range strings.Lines(status) {
			fields := strings.Fields(line)
			if len(fields) >= 2 && fields[0] == name {
				return scaled(parsed(fields[1]), 1<<10)
			}
		}
		return nil
	}
	resident, peak, virtual := bytes("VmRSS:"), bytes("VmHWM:"), bytes("VmSize:")
	if resident == nil || peak == nil || virtual == nil {
		return nil
	}
	return &record.Memory{
		RSSBytes: *resident, PeakRSSBytes: *peak, VirtualBytes: *virtual,
		PageTableBytes: bytes("VmPTE:"),
	}
}
