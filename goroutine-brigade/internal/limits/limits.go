// Package limits finds out before any goroutine exists whether as many as are
// asked for fit. A goroutine is no thread, holds no file and has no map of its
// own: what bounds them is memory.
package limits

import (
	"fmt"
	"strings"
)

// limit is one bound of this machine, in bytes.
type limit struct {
	name string
	// what it counts, as in "bytes of memory".
	what  string
	value uint64
	inUse uint64
	// raise is the command that raises it, with {} for the new value; empty
	// where no command does.
	raise string
}

func (l *limit) available() uint64 {
	return l.value - min(l.value, l.inUse)
}

// Refusal is the error of a limit that is too small.
type Refusal struct {
	tasks   uint64
	perTask uint64
	limit   limit
}

// Error names the limit, its value, the need and the command that raises it.
func (r *Refusal) Error() string {
	need, limit := r.tasks*r.perTask, &r.limit
	text := fmt.Sprintf(
		"%d tasks need %d %s, but %s is %d with %d in use, which %d tasks fit into; ",
		r.tasks, need, limit.what, limit.name, limit.value, limit.inUse, limit.available()/r.perTask)
	if limit.raise == "" {
		return text + "free some or take fewer tasks"
	}
	return text + "raise it with: " +
		strings.ReplaceAll(limit.raise, "{}", fmt.Sprint(need+limit.inUse))
}

// Require checks that tasks tasks of perTask bytes each fit into every limit
// of this machine.
func Require(tasks uint32, perTask uint64) error {
	return admit(uint64(tasks), perTask, inForce())
}

// admit refuses by the limit that the fewest tasks fit into.
func admit(tasks, perTask uint64, limits []limit) error {
	var binding *limit
	for i := range limits {
		limit := &limits[i]
		refuses := tasks*perTask > limit.available()
		if refuses && (binding == nil || limit.available() < binding.available()) {
			binding = limit
		}
	}
	if binding == nil {
		return nil
	}
	return &Refusal{tasks: tasks, perTask: perTask, limit: *binding}
}
