package bench

import "testing"

// Work that the compiler has removed would take no time however much of it
// there is; the sum that is looked at here cannot be removed.
func TestTheCompilerTakesNoStepAway(t *testing.T) {
	begun, sum := Now(), uint64(0)
	for step := range uint64(1_000_000) {
		sum = sum*factor + step
	}
	step := float64(Now()-begun) / 1e6
	var calibration calibration
	calibration.look()
	if unit := calibration.nsPerUnit(); sum == 0 || unit < step/5 {
		t.Errorf("a unit takes %v ns, a step %v ns (sum %d)", unit, step, sum)
	}
}

func TestWorkIsMeasuredWhereThereIsSome(t *testing.T) {
	for line, measured := range map[string]bool{"--work 0": false, "--work 9": true} {
		flags, err := parseFlags(Defaults{Tasks: 1, Iters: 1, Works: true}, []string{line[:6], line[7:]})
		if err != nil {
			t.Fatal(err)
		}
		bench := &Bench{flags: flags, cpus: []int{0}}
		bench.Work().Perform()
		for lap := range bench.Laps(Hops(1)) {
			lap.Finish()
		}
		if work := bench.findings.work; (work.NsPerUnit != nil) != measured {
			t.Errorf("%s: %+v", line, work)
		}
	}
}
