package limits

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// noLimit is what version 1 of control groups, and RLIM_INFINITY, exceed.
const noLimit = 1 << 62

// ofMemory is what most limits here count.
const ofMemory = "bytes of memory"

// inForce reads the limits of this machine. One that cannot be read is left
// out.
func inForce() []limit {
	var limits []limit
	limits = append(limits, availableMemory()...)
	limits = append(limits, addressSpace()...)
	return append(limits, controlGroups()...)
}

// availableMemory is what the kernel estimates that can be had without
// swapping.
func availableMemory() []limit {
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(meminfo)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "MemAvailable:" {
			continue
		}
		if kib, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
			return []limit{{name: "available memory (MemAvailable)", what: ofMemory, value: kib << 10}}
		}
	}
	return nil
}

func addressSpace() []limit {
	var bound unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &bound); err != nil || bound.Cur >= noLimit {
		return nil
	}
	raise := "sudo prlimit --pid $$ --as={}:{}"
	if bound.Max >= noLimit {
		// The shell may do this itself.
		raise = "ulimit -v unlimited"
	}
	pages, _ := number("/proc/self/statm")
	return []limit{{
		name:  "the address space limit (RLIMIT_AS)",
		what:  "bytes of address space",
		value: bound.Cur,
		inUse: pages * uint64(os.Getpagesize()),
		raise: raise,
	}}
}

// controlGroups are the memory limits of this process's group and of every
// ancestor, in whichever version the machine has.
func controlGroups() []limit {
	var limits []limit
	for _, folder := range groupFolders(text("/proc/self/cgroup"), text("/proc/self/mountinfo")) {
		for _, files := range [][2]string{
			{"memory.max", "memory.current"},
			{"memory.limit_in_bytes", "memory.usage_in_bytes"},
		} {
			file := folder + "/" + files[0]
			// "max" is no number, which is what no limit should be.
			value, known := number(file)
			if !known || value >= noLimit {
				continue
			}
			held, _ := number(folder + "/" + files[1])
			inUse := held - min(held, droppable(text(folder+"/memory.stat")))
			limits = append(limits, limit{
				name:  "the control group's " + file,
				what:  ofMemory,
				value: value,
				inUse: inUse,
				raise: "echo {} | sudo tee " + file,
			})
		}
	}
	return limits
}

// droppable is how much of a group's memory are pages of files, which the
// kernel drops before it refuses any. Version 1 has totals of the groups inside
// beside the group's own; version 2 has only such totals.
func droppable(stat string) uint64 {
	bytes := map[string]uint64{}
	for line := range strings.Lines(stat) {
		var name string
		var value uint64
		if _, err := fmt.Sscan(line, &name, &value); err == nil {
			bytes[name] = value
		}
	}
	if total, version1 := bytes["total_inactive_file"]; version1 {
		return total + bytes["total_active_file"]
	}
	return bytes["inactive_file"] + bytes["active_file"]
}

func text(path string) string {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(bytes)
}

// number is the first word of a file, if it is one.
func number(path string) (uint64, bool) {
	fields := strings.Fields(text(path))
	if len(fields) == 0 {
		return 0, false
	}
	value, err := strconv.ParseUint(fields[0], 10, 64)
	return value, err == nil
}
