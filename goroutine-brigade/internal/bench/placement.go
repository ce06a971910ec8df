package bench

import (
	"slices"

	"brigade/goroutine-brigade/internal/cpus"
)

// The values of --placement.
const (
	free    = "free"
	sameCPU = "same-cpu"
	spread  = "spread"
)

// place confines the process to what the flags ask for, and returns the CPUs
// that goroutines may run on.
func place(flags *Flags) (cpus.List, error) {
	allowed, err := cpus.Allowed()
	if err != nil {
		return nil, err
	}
	chosen, err := choose(flags.placement, flags.cpus, allowed)
	if err != nil || slices.Equal(chosen, allowed) {
		return chosen, err
	}
	return chosen, cpus.Confine(chosen)
}

// choose applies a policy to the list of --cpus, or without one to allowed.
func choose(policy string, list, allowed cpus.List) (cpus.List, error) {
	if policy == spread {
		return nil, refused("--placement spread: Go's scheduler moves goroutines between threads " +
			"and cannot pin one, so neighbours cannot be put on different CPUs")
	}
	for _, cpu := range list {
		if !slices.Contains(allowed, cpu) {
			return nil, refused("--cpus %s: CPU %d is not available to this process, which may use %s",
				list, cpu, allowed.Words())
		}
	}
	if list == nil {
		list = allowed
	}
	if policy == sameCPU {
		return list[:1], nil
	}
	return list, nil
}
