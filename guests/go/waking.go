package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// wakeAll measures one event that wakes N goroutines, as the program wake-all does for threads and
// async tasks.
//
// One lap is one event. Each goroutine reads the clock into a place of its own, reports that it waits
// again, and waits. The waker calls 50 µs after the last report, since Go does not show which
// goroutines are parked; only those that run on another worker can still be on their way.
//
// Known biases: a report is an addition to a common counter. After the pause the workers sleep.
var wakeAll = program{
	about: `Time one event that wakes N goroutines.

One lap is one event, and one operation is one woken goroutine: last is the time from the
call until the last one runs, first until the first one does.
`,
	tasks: 100, iters: 1000, warmups: fewestWarmups, wakesAll: true, measure: measureWakeAll,
}

// pause is the time after the last report in which goroutines park.
const pause = 50 * time.Microsecond

// gate is what goroutines wait for.
type gate interface {
	// next prepares an event, before it is timed.
	next()
	// open wakes all goroutines.
	open()
	// wait waits for the event after so many.
	wait(events int64)
}

// closing is a channel for each event, which is closed. Nobody waits any more for the one before the
// last.
type closing struct {
	channels [2]chan struct{}
	events   int64
}

func newClosing() *closing { return &closing{channels: [2]chan struct{}{make(chan struct{})}} }

func (of *closing) next() { of.channels[(of.events+1)%2] = make(chan struct{}) }

func (of *closing) open() {
	close(of.channels[of.events%2])
	of.events++
}

func (of *closing) wait(events int64) { <-of.channels[events%2] }

// condition is a sync.Cond with the number of events.
type condition struct {
	sync.Cond
	events int64
}

func newCondition() *condition { return &condition{Cond: sync.Cond{L: &sync.Mutex{}}} }

func (of *condition) next() {}

func (of *condition) open() {
	of.L.Lock()
	of.events++
	of.L.Unlock()
	of.Broadcast()
}

func (of *condition) wait(events int64) {
	of.L.Lock()
	for of.events == events {
		of.Wait()
	}
	of.L.Unlock()
}

// hall is where the goroutines wait.
type hall struct {
	gate
	places  []place
	missing atomic.Int64
	_       [128]byte
	// arrived gets a value from the last one that reports.
	arrived chan struct{}
	over    atomic.Bool
}

// place is when a goroutine ran last, and how often it was woken, in cache lines of its own.
type place struct {
	at, woken int64
	_         [112]byte
}

func measureWakeAll(r *run) error {
	of := &hall{gate: newClosing(), places: make([]place, r.tasks), arrived: make(chan struct{}, 1)}
	if r.by == "cond" {
		of.gate = newCondition()
	}
	last := r.measurement("last", "wake-up", r.tasks)
	first := r.measurement("first", "event", 1)
	apart := r.measurement("first_to_last", "event", 1)
	call := r.measurement("call", "event", 1)
	first.CoversAll, apart.CoversAll, call.CoversAll = false, false, false
	var alive sync.WaitGroup
	of.missing.Store(int64(r.tasks))
	for task := range of.places {
		alive.Add(1)
		go func() {
			defer alive.Done()
			of.live(task)
		}()
	}
	of.fallAsleep()
	events := int64(0)
	err := r.laps(func() ([4]int64, error) {
		events++
		called, returned := of.event()
		return of.times(called, returned, events)
	}, last, first, apart, call)
	of.over.Store(true)
	of.next()
	of.open()
	alive.Wait()
	return err
}

// live is a goroutine's main function.
func (of *hall) live(task int) {
	place := &of.places[task]
	for {
		events := place.woken
		if of.missing.Add(-1) == 0 {
			of.arrived <- struct{}{}
		}
		of.wait(events)
		place.at = now()
		place.woken++
		if of.over.Load() {
			return
		}
	}
}

// event wakes all goroutines, waits until they wait again, and returns when the call began and ended.
func (of *hall) event() (called, returned int64) {
	of.next()
	of.missing.Store(int64(len(of.places)))
	called = now()
	of.open()
	returned = now()
	of.fallAsleep()
	return called, returned
}

// fallAsleep waits until all goroutines have reported that they wait, and for a pause.
func (of *hall) fallAsleep() {
	<-of.arrived
	nanosleep(pause)
}

// times returns the times of the last event, and verifies that it woke each goroutine once.
func (of *hall) times(called, returned, events int64) (times [4]int64, _ error) {
	first, last := of.places[0].at, of.places[0].at
	for task := range of.places {
		place := &of.places[task]
		if place.woken != events {
			return times, fmt.Errorf("goroutine %d was woken %d times by %d events", task, place.woken, events)
		}
		first, last = min(first, place.at), max(last, place.at)
	}
	return [4]int64{last - called, first - called, last - first, returned - called}, nil
}
