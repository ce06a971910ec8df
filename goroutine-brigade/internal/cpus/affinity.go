package cpus

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// passes bounds how often Confine looks for threads that were created while it
// was at work.
const passes = 100

// Allowed lists the CPUs that this process may use, in ascending order.
func Allowed() (List, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("reading the CPUs that this process may use: %w", err)
	}
	var list List
	for cpu := range most {
		if set.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list, nil
}

// Confine confines every thread of the process, and so all that they will
// create, to list. The kernel knows only masks of single threads, and the Go
// runtime may be creating one: it looks again until it finds none that is new.
func Confine(list List) error {
	var set unix.CPUSet
	for _, cpu := range list {
		set.Set(cpu)
	}
	confined := map[int]bool{}
	for range passes {
		found, err := confineNew(&set, confined)
		if err != nil {
			return fmt.Errorf("confining the process to %s: %w", list.Words(), err)
		}
		if !found {
			return nil
		}
	}
	return fmt.Errorf("confining the process to %s: it keeps creating threads", list.Words())
}

// confineNew confines the threads that are not in confined and adds them. It
// tells whether there were any.
func confineNew(set *unix.CPUSet, confined map[int]bool) (bool, error) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false, err
	}
	found := false
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil || confined[id] {
			continue
		}
		if err := unix.SchedSetaffinity(id, set); err != nil && err != unix.ESRCH {
			return false, err
		}
		confined[id] = true
		found = true
	}
	return found, nil
}

// Current is the CPU that the calling goroutine runs on at this moment, and -1
// where the kernel does not tell.
func Current() int {
	var cpu uint32
	if _, _, failed := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); failed != 0 {
		return -1
	}
	return int(cpu)
}
