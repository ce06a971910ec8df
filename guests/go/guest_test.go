package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// executed returns the exit code for a command line, the printed lines, and the
// laps in the last one.
func executed(t *testing.T, line string) (int, []string, report) {
	t.Helper()
	var printed bytes.Buffer
	run := &run{marks: &printed, answers: bufio.NewReader(strings.NewReader(""))}
	code := run.execute(strings.Fields(line))
	lines := strings.Split(strings.TrimSpace(printed.String()), "\n")
	var laps report
	if last := lines[len(lines)-1]; strings.HasPrefix(last, "{") {
		if err := json.Unmarshal([]byte(last), &laps); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return code, lines, laps
}

func TestLapsFollowTheTwoMarks(t *testing.T) {
	code, lines, laps := executed(t, "--tasks 3 --iters 20 --warmups 5 --work 10")
	if code != exitDone || len(lines) != 3 || lines[0] != "measuring" || lines[1] != "measured" {
		t.Fatalf("exited with %d: %v", code, lines)
	}
	iteration := laps.Measurements[0]
	if laps.Warmups != 5 || len(iteration.LapsNs) != 20 || iteration.Operations != 4 {
		t.Errorf("%+v", laps)
	}
	if laps.Work == nil || laps.Work.Units != 10 || laps.Work.NsPerUnit == nil {
		t.Errorf("work: %+v", laps.Work)
	}
}

func TestAWarmUpOfShortLapsGoesOnForItsTime(t *testing.T) {
	begun := now()
	_, _, laps := executed(t, "--tasks 1 --iters 1")
	if laps.Warmups <= fewestWarmups || now()-begun < int64(shortestWarmup) {
		t.Errorf("%d laps in %d ns", laps.Warmups, now()-begun)
	}
	if _, _, laps = executed(t, "--tasks 1 --iters 1 --warmups 0"); laps.Warmups != 0 {
		t.Errorf("%d laps that were not asked for", laps.Warmups)
	}
}

func TestOnlyOneWorkerClaimsNoSwitches(t *testing.T) {
	_, _, one := executed(t, "--tasks 3 --iters 1 --workers 1")
	_, _, two := executed(t, "--tasks 3 --iters 1 --workers 2")
	if one.ExpectedSwitches == nil || *one.ExpectedSwitches != 0 || two.ExpectedSwitches != nil {
		t.Errorf("one: %v, two: %v", one.ExpectedSwitches, two.ExpectedSwitches)
	}
}

func TestCreationMeasuresEachStep(t *testing.T) {
	_, _, laps := executed(t, "creation --tasks 100 --iters 10 --warmups 2")
	counts := map[string]int{}
	for _, measurement := range laps.Measurements {
		counts[measurement.Name] = len(measurement.LapsNs)
	}
	expected := map[string]int{"create": 10, "join": 10, "create_cold": 1, "start": 1000}
	if !reflect.DeepEqual(counts, expected) {
		t.Errorf("%v", counts)
	}
}

func TestMemoryIsReadAtGrowingCounts(t *testing.T) {
	_, _, laps := executed(t, "memory --tasks 4003 --iters 4")
	ledger := laps.Ledger
	if len(ledger) != 4 || ledger[0].Tasks != 2503 || ledger[3].Tasks != 4003 {
		t.Fatalf("%+v", ledger)
	}
	// A stack has at least 2 KiB.
	stacks := ledger[3].RuntimeStacks - ledger[0].RuntimeStacks
	if stacks < 1000*2048 || ledger[0].Resident == nil {
		t.Errorf("%d bytes of stacks for 1500 goroutines: %+v", stacks, ledger)
	}
}

func TestATaskThatFailsEndsTheRunAndIsNamed(t *testing.T) {
	failed := make(chan error, 1)
	upstream, downstream := make(chan uint64, 1), make(chan uint64, 1)
	upstream <- 0
	relay(7, upstream, downstream, station{}, failed)
	if _, alive := <-downstream; alive {
		t.Error("its neighbour goes on")
	}
	if err := <-failed; !strings.HasPrefix(err.Error(), "task 7: ") {
		t.Error(err)
	}
}

func TestAnInterruptionEndsTheLaps(t *testing.T) {
	var printed bytes.Buffer
	run := &run{marks: &printed, answers: bufio.NewReader(strings.NewReader(""))}
	run.interrupted.Store(true)
	if code := run.execute([]string{"--tasks=3"}); code != exitInterrupted {
		t.Errorf("exited with %d", code)
	}
}

func TestOneEventWakesEveryGoroutineOnce(t *testing.T) {
	for _, by := range []string{"close", "cond"} {
		code, lines, laps := executed(t, "wake-all --tasks 50 --iters 20 --warmups 3 --by "+by)
		if code != exitDone || len(lines) != 3 || laps.Warmups != 3 {
			t.Fatalf("%s: %v", by, lines)
		}
		last, first, apart := laps.Measurements[0], laps.Measurements[1], laps.Measurements[2]
		for event, time := range last.LapsNs {
			if time <= 0 || time-first.LapsNs[event] != apart.LapsNs[event] {
				t.Errorf("%s: %d: %+v", by, event, laps.Measurements)
			}
		}
		if len(last.LapsNs) != 20 || last.Operations != 50 || first.CoversAll {
			t.Errorf("%s: %+v", by, laps.Measurements)
		}
	}
	of := &hall{places: make([]place, 3)}
	of.places[0].woken, of.places[1].woken, of.places[2].woken = 2, 1, 2
	if _, err := of.times(0, 0, 2); err == nil || !strings.Contains(err.Error(), "goroutine 1 ") {
		t.Errorf("one that was left out: %v", err)
	}
}

func TestNoWakeUpIsLeftOut(t *testing.T) {
	for _, source := range []string{"timer", "channel"} {
		_, lines, laps := executed(t, "wake --tasks 3 --iters 100 --rate 5000 --source "+source)
		if len(lines) != 3 || len(laps.Measurements[0].LapsNs) != 100 || laps.Schedule == nil {
			t.Fatalf("%s: %v", source, lines)
		}
		if late := laps.Schedule.CalledLate; (late != nil) != (source == "channel") {
			t.Errorf("%s: %v", source, late)
		}
		for _, measured := range laps.Measurements {
			for _, late := range measured.LapsNs {
				if late < 0 {
					t.Errorf("%s: %s: %d ns before its time", source, measured.Name, late)
				}
			}
		}
	}
	_, _, laps := executed(t, "wake --rate 1000 --iters 1000000 --max-time 0.025 --warmups 0")
	if len(laps.Measurements[0].LapsNs) != 25 || laps.EndedBy != "max-time" {
		t.Errorf("%s: %d", laps.EndedBy, len(laps.Measurements[0].LapsNs))
	}
}

func TestGreedyGoroutinesEndWithTheRun(t *testing.T) {
	code, _, laps := executed(t, "wake --iters 100 --rate 5000 --greedy 2 --greedy-for 300")
	if code != exitDone || len(laps.Measurements[0].LapsNs) != 100 {
		t.Errorf("exited with %d: %v", code, laps.Parameters)
	}
}

func TestEachGoroutineThatSharesALockHasATurn(t *testing.T) {
	code, _, laps := executed(t, "lock --tasks 3 --iters 20 --warmups 2 --inside 50 --outside 50")
	if code != exitDone || laps.Warmups != 2 || len(laps.Measurements) != 2 {
		t.Fatalf("exited with %d: %+v", code, laps)
	}
	iteration, turn := laps.Measurements[0], laps.Measurements[1]
	if len(iteration.LapsNs) != 20 || iteration.Operations != block || len(turn.LapsNs) != 3 {
		t.Errorf("%+v", laps.Measurements)
	}
}

func TestATurnIsAShareOfTheMeanLap(t *testing.T) {
	iteration := measurement{Operations: 8, LapsNs: []int64{79, 81}}
	for _, expected := range []struct {
		made  []uint64
		turns []int64
	}{
		{[]uint64{16}, []int64{10}},
		// 40 operations of 10 ns each, also those after the laps: 400 / 15 is rounded up.
		{[]uint64{10, 30}, []int64{40, 13}},
		{[]uint64{15, 25}, []int64{27, 16}},
		{[]uint64{0, 8}, []int64{80, 10}},
	} {
		if turns := iteration.turns(expected.made); !reflect.DeepEqual(turns, expected.turns) {
			t.Errorf("%v: %v, not %v", expected.made, turns, expected.turns)
		}
	}
	iteration.LapsNs = nil
	if turns := iteration.turns([]uint64{5}); len(turns) > 0 {
		t.Errorf("%v without a lap", turns)
	}
}

// goroutines are their numbers when something is printed.
type goroutines []int

func (of *goroutines) Write(text []byte) (int, error) {
	*of = append(*of, runtime.NumGoroutine())
	return len(text), nil
}

func TestTheGoroutinesOfAClosedLoopStartBeforeTheFirstMark(t *testing.T) {
	for _, line := range []string{"lock --tasks 50", "channel --producers 20 --consumers 30"} {
		var alive goroutines
		run := &run{marks: &alive, answers: bufio.NewReader(strings.NewReader(""))}
		code := run.execute(strings.Fields(line + " --iters 1 --warmups 0"))
		if code != exitDone || len(alive) != 3 || alive[0] < 50 {
			t.Errorf("%s: exited with %d: %v", line, code, alive)
		}
	}
}

func TestALockThatDoesNotExcludeIsNamed(t *testing.T) {
	round := &lockRound{blocks: blocks{run: &run{tasks: 2}, most: 1}}
	round.acquired = 5
	prepare(round)
	if err := drive(round); err == nil || !strings.Contains(err.Error(), "does not exclude") {
		t.Error(err)
	}
}

func TestEveryMessageOfEverySizeArrives(t *testing.T) {
	for _, size := range []string{"8", "64", "1024"} {
		line := "channel --producers 3 --consumers 2 --capacity 5 --iters 4 --warmups 2 --message " + size
		code, _, laps := executed(t, line)
		if code != exitDone || laps.Warmups != 2 || len(laps.Measurements) != 3 || laps.Tasks != 5 {
			t.Fatalf("exited with %d: %+v", code, laps)
		}
		iteration := laps.Measurements[0]
		producers, consumers := laps.Measurements[1].LapsNs, laps.Measurements[2].LapsNs
		if len(iteration.LapsNs) != 4 || iteration.Operations != messages ||
			len(producers) != 3 || len(consumers) != 2 {
			t.Errorf("%+v", laps.Measurements)
		}
	}
}

// Also where the product of both factors exceeds 64 bits.
func TestTheSumOfManyNumbersIsRight(t *testing.T) {
	for last, sum := range map[uint64]uint64{0: 0, 1: 1, 4: 10, 5: 15, 1 << 32: 1<<63 + 1<<31, 1<<32 - 1: 1<<63 - 1<<31} {
		if found := sumTo(last); found != sum {
			t.Errorf("%d: %d, not %d", last, found, sum)
		}
	}
}

func TestAMessageThatIsLostDoubledOrOvertakenIsNamed(t *testing.T) {
	for _, numbers := range [][]uint64{{1, 3}, {1, 2, 2}, {2, 1}, {1, 1}} {
		round := &channelRound[[1]uint64]{messages: make(chan [1]uint64, 2+len(numbers))}
		round.run = &run{channel: channelFlags{producers: 2, consumers: 1}}
		round.sent = []uint64{2, 2}
		round.messages <- [1]uint64{1 << producerBits}
		round.messages <- [1]uint64{2 << producerBits}
		for _, number := range numbers {
			round.messages <- [1]uint64{number<<producerBits | 1}
		}
		close(round.messages)
		round.received = []received{round.consume(0)}
		if err := round.verify(); err == nil || !strings.Contains(err.Error(), "producer 1 ") {
			t.Errorf("%v: %v", numbers, err)
		}
	}
}

func TestALapOfOneConsumerHasAllItsMessages(t *testing.T) {
	for _, sent := range []int{messages - 1, messages, 2*messages - 1} {
		round := &channelRound[[1]uint64]{messages: make(chan [1]uint64, sent)}
		round.run = &run{channel: channelFlags{producers: 1, consumers: 1}}
		round.most = 10
		for number := range sent {
			round.messages <- [1]uint64{uint64(number+1) << producerBits}
		}
		close(round.messages)
		round.consume(0)
		if len(round.laps) != sent/messages {
			t.Errorf("%d laps of %d messages", len(round.laps), sent)
		}
	}
}

func TestEachOperationOfATimerHasItsLaps(t *testing.T) {
	for _, pending := range []string{"0", "300"} {
		code, _, laps := executed(t, "timer --iters 4 --warmups 2 --pending "+pending)
		if code != exitDone || laps.Warmups != 2 || laps.Tasks != 1 || len(laps.Measurements) != 5 {
			t.Fatalf("exited with %d: %+v", code, laps)
		}
		for at, name := range []string{"iteration", "arm", "cancel", "reset-later", "reset-earlier"} {
			found := laps.Measurements[at]
			if found.Name != name || found.Operations != batch || len(found.LapsNs) != 4 {
				t.Errorf("%+v", found)
			}
		}
	}
	for _, flags := range []string{"--pending -1", "--pending 100000001", "--tasks 2"} {
		if code, _, _ := executed(t, "timer "+flags); code != exitUsage {
			t.Errorf("%s: exited with %d", flags, code)
		}
	}
}

func TestRingsAtOnceAreSoManyBrigades(t *testing.T) {
	for _, rings := range []int{1, 3} {
		line := fmt.Sprintf("--tasks 5 --iters 40 --warmups 2 --work 10 --rings %d", rings)
		code, lines, laps := executed(t, line)
		if code != exitDone || len(lines) != 3 || laps.Tasks != 5*rings || laps.Warmups != 2 {
			t.Fatalf("exited with %d: %v", code, lines)
		}
		iteration := laps.Measurements[0]
		if iteration.Operations != 6*rings || len(iteration.LapsNs) != 40 {
			t.Errorf("%+v", iteration)
		}
		if rings == 1 {
			continue
		}
		each := laps.Measurements[1]
		if each.Name != "ring" || each.Operations != 6 || len(each.LapsNs) != 120 {
			t.Errorf("%+v", each)
		}
	}
	_, _, laps := executed(t, "--tasks 5 --rings 2 --iters 1000 --max-time 0.000000001")
	if laps.EndedBy != "max-time" || len(laps.Measurements[0].LapsNs) < 1 {
		t.Errorf("%+v", laps)
	}
}

func TestATaskThatFailsEndsAllRings(t *testing.T) {
	run := &run{tasks: 1, iters: 1000, rings: 2, marks: io.Discard, answers: bufio.NewReader(strings.NewReader(""))}
	failed := make(chan error, 2)
	broken := make(chan uint64, 1)
	failed <- errors.New("task 1: on purpose")
	close(broken)
	rings := []ring{run.newRing(0, failed), {make(chan uint64, 1), broken}}
	if err := measureRings(run, rings, failed); err == nil || err.Error() != "task 1: on purpose" {
		t.Error(err)
	}
}

// children returns this process's live children.
func children(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, file := range files {
		// A thread may have ended.
		pids, _ := os.ReadFile(file)
		all = append(all, pids...)
	}
	return strings.TrimSpace(string(all))
}

func TestALongTimeLimitAllowsAllWakeUps(t *testing.T) {
	// 1e6 s at 10,000 a second exceeds 64 bits in nanoseconds.
	for _, seconds := range []string{"1e5", "1e6", "2e6", "999999999", "1e9"} {
		code, _, laps := executed(t, "wake --warmups 3 --iters 10 --max-time "+seconds)
		if code != exitDone || laps.Warmups != 3 || len(laps.Measurements[0].LapsNs) != 10 {
			t.Errorf("%s s: exited with %d: %+v", seconds, code, laps)
		}
	}
	// Two hours at one a second.
	few := &run{warmups: 1_000_000, iters: 1_000_000, limit: 2 * time.Hour, warmupLimit: 2 * time.Hour}
	few.wake.rate = 1
	if warmups, iters, endedBy := few.plan(); warmups != 7200 || iters != 7200 || endedBy != "max-time" {
		t.Errorf("%d and %d, ended by %s", warmups, iters, endedBy)
	}
}

func TestHogsEndWithTheRun(t *testing.T) {
	end, err := startHogs(2)
	if err != nil || len(strings.Fields(children(t))) != 2 {
		t.Errorf("%v: '%s'", err, children(t))
	}
	end()
	line := "wake --tasks 2 --iters 50 --rate 5000 --hogs 1"
	code, _, laps := executed(t, line)
	if code != exitDone || laps.Parameters["hogs"] != 1.0 || len(laps.Measurements[0].LapsNs) != 50 {
		t.Errorf("exited with %d: %v", code, laps.Parameters)
	}
	if left := children(t); left != "" {
		t.Errorf("left: %s", left)
	}
}

func TestWhatCannotBeFollowedIsUsage(t *testing.T) {
	for _, line := range []string{
		"tea", "--moon", "--tasks", "--tasks 0", "--iters 0", "--iters 1000001", "--warmups -1", "--warmups 1000001",
		"--max-time -1", "--workers 0", "more", "creation --work 5", "--working-set -1", "--stride 7",
		"memory --tasks 5 --iters 6", "memory --waiting pipe",
		"--rings 0", "--rings 1025", "--rings 9 --iters 100001", "creation --rings 2",
		"wake --rate 0", "wake --source tea", "wake --wakers 5",
		"channel --producers 0", "channel --consumers 1025", "channel --capacity -1",
		"channel --message 9", "channel --tasks 2", "lock --producers 2", "wake-all --by tea",
		"wake --greedy -1", "wake --greedy-for 0", "wake --hogs -1", "wake --hogs 1025", "--hogs 1",
	} {
		if code, _, _ := executed(t, line); code != exitUsage {
			t.Errorf("%q exited with %d", line, code)
		}
	}
	if code, lines, _ := executed(t, "creation --help"); code != exitDone || len(lines) < 5 {
		t.Errorf("--help exited with %d: %v", code, lines)
	}
}

func TestEveryWordAtAStrideIsTouched(t *testing.T) {
	at := (&load{workingSet: 40, stride: 16}).station()
	at.visit()
	if !reflect.DeepEqual(at.words, []uint64{2, 2, 4, 4, 6}) {
		t.Errorf("%v", at.words)
	}
	code, _, laps := executed(t, "--tasks 3 --iters 20 --working-set 100 --stride 8")
	if code != exitDone || laps.Parameters["stride"] != 8.0 {
		t.Errorf("exited with %d: %v", code, laps.Parameters)
	}
}

func TestASlopeIsFreeOfWhatBothAmountsShare(t *testing.T) {
	work := work{calibrated: true, shortNs: 50 + 3*short, longNs: 50 + 3*long}
	if each := *work.report(true).NsPerUnit; math.Abs(each-3) > 1e-12 {
		t.Errorf("%v ns", each)
	}
}
