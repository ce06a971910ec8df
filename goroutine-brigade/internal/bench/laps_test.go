package bench

import (
	"testing"

	"brigade/goroutine-brigade/internal/record"
)

func standalone(t *testing.T, line string) *Bench {
	flags, err := parse(line + " --quiet")
	if err != nil {
		t.Fatal(err)
	}
	return &Bench{flags: flags, cpus: []int{0}}
}

func TestWarmUpsAreRunAndNotMeasured(t *testing.T) {
	bench := standalone(t, "--iters 7 --warmups 4")
	passes := 0
	for lap := range bench.Laps(Hops(3)) {
		passes++
		lap.Finish()
	}
	found := &bench.findings
	if passes != 11 || found.iterations != 7 || found.warmups != 4 {
		t.Errorf("%d passes, %+v", passes, found)
	}
	if found.samples[0].moments.Count() != 7 || found.endedBy != record.Iterations {
		t.Errorf("%+v", found)
	}
}

func TestALapThatIsLeftUnfinishedIsNotCounted(t *testing.T) {
	bench := standalone(t, "--iters 10 --warmups 0")
	passes := 0
	for lap := range bench.Laps(Hops(3)) {
		if passes++; passes == 4 {
			break
		}
		lap.Finish()
	}
	if found := &bench.findings; found.iterations != 3 || found.endedBy != record.Failure {
		t.Errorf("%+v", found)
	}
}

func TestTimeThatIsSpentEndsTheMeasuringAfterOneLapAtLeast(t *testing.T) {
	bench := standalone(t, "--iters 1000000 --warmups 1000000 --max-time 0.000000001")
	for lap := range bench.Laps(Hops(3)) {
		lap.Finish()
	}
	if found := &bench.findings; found.iterations < 1 || found.endedBy != record.MaxTime {
		t.Errorf("%+v", found)
	}
}

func TestAWarmUpTakesAsLongAsAskedForAndNotTooLongWithout(t *testing.T) {
	for _, given := range []bool{false, true} {
		bench := standalone(t, "--iters 5 --warmups 1000")
		if !given {
			bench.flags.longestWarmup = 1
		}
		for lap := range bench.Laps(Hops(3)) {
			lap.Finish()
		}
		found := &bench.findings
		if (found.warmups == 1000) != given || found.iterations != 5 {
			t.Errorf("%v: %+v", given, found)
		}
	}
	if bench := standalone(t, "--iters 5"); bench.flags.longestWarmup != 2e9 {
		t.Errorf("%+v", bench.flags)
	}
}

func TestAnInterruptionEndsTheLapsAndSaysSo(t *testing.T) {
	bench := standalone(t, "--iters 100 --warmups 0")
	passes := 0
	for lap := range bench.Laps(Hops(3)) {
		passes++
		bench.interrupted.Store(passes == 10)
		lap.Finish()
	}
	if found := &bench.findings; found.iterations != 10 || found.endedBy != record.Signal {
		t.Errorf("%+v", found)
	}
}

func TestMarkedLapsFollowTheMeasuredOnesAndAreNotTimed(t *testing.T) {
	bench := standalone(t, "--iters 5 --warmups 0")
	tracer, marked := bench.Tracer(), 0
	for lap := range bench.Laps(Hops(5)) {
		if lap.IsMarked() {
			marked++
			for task := range bench.Tasks() {
				tracer.Note(task)
			}
		}
		lap.Finish()
	}
	if marked != tracerLaps || bench.findings.iterations != 5 || tracer.crossCPUShare() == nil {
		t.Errorf("%d marked, %+v", marked, bench.findings)
	}
}

func TestSamplesOfSideLapsLeaveOutTheWarmUp(t *testing.T) {
	bench := standalone(t, "--iters 2 --warmups 3")
	number := int64(0)
	for lap := range bench.SideLaps(Single("start")) {
		lap.Sample(number)
		number++
		lap.Finish()
	}
	samples := bench.findings.samples[0]
	if samples.moments.Count() != 2 || samples.minNs != 3 || samples.maxNs != 4 {
		t.Errorf("%+v", samples)
	}
}

func TestPhasesAddUpToTheLap(t *testing.T) {
	bench := standalone(t, "--iters 1 --warmups 0")
	var whole int64
	for lap := range bench.Laps(Single("first"), Single("second")) {
		lap.Split()
		lap.Finish()
		whole = lap.end() - lap.begun
	}
	samples := bench.findings.samples
	if samples[0].maxNs+samples[1].maxNs != whole {
		t.Errorf("%d + %d is not %d", samples[0].maxNs, samples[1].maxNs, whole)
	}
}

func TestALapAllocatesNothing(t *testing.T) {
	bench := standalone(t, "--iters 2000 --warmups 1")
	laps := 0
	allocated := testing.AllocsPerRun(1, func() {
		for lap := range bench.Laps(Hops(3)) {
			laps++
			lap.Finish()
		}
	})
	if allocated > float64(laps)/10 {
		t.Errorf("%v allocations in %d laps", allocated, laps)
	}
}
