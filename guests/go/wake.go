package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// wake measures how late goroutines run after given times, as the program wake-latency
// does for threads and async tasks.
//
// Wake-up k is due at k / rate seconds, regardless of the one before, and belongs to
// goroutine k modulo N. Its latency is the time until the goroutine reads the clock; none
// is omitted. By timer each goroutine sleeps until its times. By channel wakers sleep
// instead, each a thread in nanosleep without timer slack, and send; from_call is the time
// from the send only.
//
// Known biases: an idle Go program waits for its timers in epoll_wait, to the
// millisecond. A sleeping waker gives up its P, and needs one to continue. The garbage
// collector has nothing to do: no wake-up allocates.
var wake = program{
	about: `Time how late N goroutines run that are due at given times.

One lap is one wake-up: at its intended time, which does not depend on the ones before,
a goroutine is to run, woken by its timer or by a send over its channel.
`,
	tasks: 4, iters: 10_000, warmups: fewestWarmups, wakes: true, measure: measureWake,
}

// The most wake-ups per second, the most pending sends to a goroutine, and the most hogs.
const (
	mostRate    = 1_000_000
	mostWaiting = 512
	mostHogs    = 1024
	mostGreed   = 1_000_000
)

// From the start of a round to its first intended time, and the longest sleep between
// two checks for an interruption.
const (
	lead         = 10 * time.Millisecond
	longestSleep = time.Second
)

// wakeFlags are its additional flags.
type wakeFlags struct {
	rate, wakers, hogs, greedy, greedyFor int
	source                                string
}

// schedule is how well the intended times were kept.
type schedule struct {
	Missed     int64  `json:"missed"`
	CalledLate *int64 `json:"called_late"`
}

func (w *wakeFlags) check(tasks int) error {
	switch {
	case w.rate < 1 || w.rate > mostRate:
		return fmt.Errorf("--rate %d: not between 1 and %d", w.rate, mostRate)
	case w.source != "timer" && w.source != "channel":
		return fmt.Errorf("--source %q: known: timer, channel", w.source)
	case w.wakers < 1 || w.wakers > tasks:
		return fmt.Errorf("--wakers %d: not between 1 and %d, the goroutines", w.wakers, tasks)
	case w.hogs < 0 || w.hogs > mostHogs:
		return fmt.Errorf("--hogs %d: not between 0 and %d", w.hogs, mostHogs)
	case w.greedy < 0 || w.greedy > mostHogs:
		return fmt.Errorf("--greedy %d: not between 0 and %d", w.greedy, mostHogs)
	case w.greedyFor < 1 || w.greedyFor > mostGreed:
		return fmt.Errorf("--greedy-for %d: not between 1 and %d", w.greedyFor, mostGreed)
	}
	return nil
}

// plan is the number of warm-up and of measured wake-ups, and what ends them.
func (r *run) plan() (warmups, iters int, endedBy string) {
	// Whole seconds apart: the product of nanoseconds and rate may exceed 64 bits.
	within := func(limit time.Duration) int {
		seconds, rest := int(limit/time.Second), int(limit%time.Second)
		return seconds*r.wake.rate + (rest*r.wake.rate+999_999_999)/1_000_000_000
	}
	warmups, iters, endedBy = r.warmups, r.iters, "iterations"
	if r.warmupTime > 0 {
		warmups = max(warmups, r.tasks, within(r.warmupTime))
	}
	if r.warmupLimit > 0 {
		warmups = min(warmups, within(r.warmupLimit))
	}
	if r.limit > 0 && within(r.limit) < iters {
		iters, endedBy = within(r.limit), "max-time"
	}
	return warmups, iters, endedBy
}

// round is a round of wake-ups at the intended times.
type round struct {
	run          *run
	begin        int64
	count        int
	calls        []chan int64
	missed, late atomic.Int64
	// Each goroutine's latencies: from the intended time, and from the call.
	intended, called [][]int64
}

func measureWake(r *run) error {
	warmups, iters, endedBy := r.plan()
	fromIntended := r.measurement("wake-up", "wake-up", 1)
	fromCall := r.measurement("from_call", "wake-up", 1)
	fromIntended.CoversAll, fromCall.CoversAll = false, false
	end, err := startHogs(r.wake.hogs)
	defer end()
	if err != nil {
		return fmt.Errorf("--hogs %d: %w", r.wake.hogs, err)
	}
	newRound(r, warmups).make(func() {})
	r.report.Warmups = warmups
	if r.interrupted.Load() {
		r.report.EndedBy = "signal"
		return nil
	}
	measured := newRound(r, iters)
	r.mark("measuring")
	measured.make(func() { r.mark("measured") })
	for task := range r.tasks {
		fromIntended.LapsNs = append(fromIntended.LapsNs, measured.intended[task]...)
		fromCall.LapsNs = append(fromCall.LapsNs, measured.called[task]...)
	}
	kept := &schedule{Missed: measured.missed.Load()}
	if r.wake.source == "channel" {
		late := measured.late.Load()
		kept.CalledLate = &late
	}
	r.report.Schedule, r.report.EndedBy = kept, endedBy
	if taken := len(fromIntended.LapsNs); r.interrupted.Load() {
		r.report.EndedBy = "signal"
	} else if taken != iters {
		return fmt.Errorf("of %d wake-ups that were due, %d were measured", iters, taken)
	}
	return nil
}

// startHogs starts processes that only use CPU time, and returns a function that ends them.
// The kernel ends them together with the thread that started them.
func startHogs(count int) (func(), error) {
	ended, end, started := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		var hogs []*exec.Cmd
		var err error
		for len(hogs) < count && err == nil {
			hog := exec.Command("sh", "-c", "while :; do :; done")
			hog.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err = hog.Start(); err == nil {
				hogs = append(hogs, hog)
			}
		}
		started <- err
		<-end
		for _, hog := range hogs {
			_ = hog.Process.Kill()
			_ = hog.Wait()
		}
	}()
	return func() {
		close(end)
		<-ended
	}, <-started
}

func newRound(r *run, count int) *round {
	of := &round{run: r, count: count}
	of.intended, of.called = make([][]int64, r.tasks), make([][]int64, r.tasks)
	of.calls = make([]chan int64, r.tasks)
	for task := range r.tasks {
		of.intended[task] = make([]int64, 0, count/r.tasks+1)
		of.called[task] = make([]int64, 0, count/r.tasks+1)
		of.calls[task] = make(chan int64, mostWaiting)
	}
	return of
}

// make runs all wake-ups of the round, and then ended while all goroutines are alive.
func (of *round) make(ended func()) {
	var running, alive sync.WaitGroup
	end := make(chan struct{})
	of.begin = now() + int64(lead)
	start := func(body func(int), number int) {
		running.Add(1)
		alive.Add(1)
		go func() {
			defer alive.Done()
			body(number)
			running.Done()
			<-end
		}()
	}
	for task := range of.run.tasks {
		start(of.sleep, task)
	}
	if of.run.wake.source == "channel" {
		for waker := range of.run.wake.wakers {
			start(of.wakeOthers, waker)
		}
	}
	for range of.run.wake.greedy {
		alive.Add(1)
		go func() {
			defer alive.Done()
			of.compute(end)
		}()
	}
	running.Wait()
	ended()
	close(end)
	alive.Wait()
}

// due is the intended time of a wake-up.
func (of *round) due(number int) int64 {
	return of.begin + int64(number)*1_000_000_000/int64(of.run.wake.rate)
}

// sleep is the body of a goroutine to be woken.
func (of *round) sleep(task int) {
	for number := task; number < of.count; number += of.run.tasks {
		due := of.due(number)
		if of.run.wake.source == "timer" {
			waited, reached := of.sleepUntil(due, time.Sleep)
			if !reached {
				return
			}
			of.take(task, now()-due, waited)
			continue
		}
		waited := false
		var called int64
		var open bool
		select {
		case called, open = <-of.calls[task]:
		default:
			waited = true
			called, open = <-of.calls[task]
		}
		if !open {
			return
		}
		ran := now()
		of.take(task, ran-due, waited)
		of.called[task] = append(of.called[task], ran-called)
	}
}

// compute is a greedy goroutine's main function.
func (of *round) compute(end <-chan struct{}) {
	for {
		select {
		case <-end:
			return
		default:
		}
		for until := now() + int64(of.run.wake.greedyFor)*1000; now() < until; {
		}
		runtime.Gosched()
	}
}

func (of *round) take(task int, late int64, waited bool) {
	of.intended[task] = append(of.intended[task], late)
	if !waited {
		of.missed.Add(1)
	}
}

// wakeOthers is the body of a waker: a thread that sends to its share of the goroutines.
func (of *round) wakeOthers(waker int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const setTimerSlack = 29 // PR_SET_TIMERSLACK
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0)
	wakers, tasks := of.run.wake.wakers, of.run.tasks
	for number := range of.count {
		task := number % tasks
		if task%wakers != waker {
			continue
		}
		waited, reached := of.sleepUntil(of.due(number), nanosleep)
		if !reached {
			break
		}
		if !waited {
			of.late.Add(1)
		}
		of.calls[task] <- now()
	}
	for task := waker; task < tasks; task += wakers {
		close(of.calls[task])
	}
}

// sleepUntil sleeps until a time, and returns whether it had to, and whether the time was
// reached (not if the run was interrupted).
func (of *round) sleepUntil(due int64, sleep func(time.Duration)) (waited, reached bool) {
	for left := due - now(); left > 0; left = due - now() {
		if of.run.interrupted.Load() {
			return waited, false
		}
		sleep(min(time.Duration(left), longestSleep))
		waited = true
	}
	return waited, true
}

// nanosleep blocks the thread.
func nanosleep(pause time.Duration) {
	request := syscall.NsecToTimespec(int64(pause))
	// If a signal interrupts it, it starts again.
	_ = syscall.Nanosleep(&request, nil)
}
