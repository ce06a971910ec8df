package bench

import "testing"

func is(value *uint64, want uint64) bool {
	return value != nil && *value == want
}

func TestTheKernelsFilesAreReadWhereTheySayWhatWeWant(t *testing.T) {
	psi := "some avg10=0.00 avg60=0.00 avg300=0.24 total=3217872\nfull total=0\n"
	for name, ok := range map[string]bool{
		"pressure": is(pressureMicroseconds(psi), 3217872),
		"moves":    is(fieldAfter("x\nse.nr_migrations   :      12\n", "se.nr_migrations", ":"), 12),
		"memory": memoryIn("VmPeak: 9 kB\nVmSize: 4 kB\nVmHWM: 3 kB\nVmRSS: 2 kB\n").RSSBytes ==
			2<<10,
	} {
		if !ok {
			t.Errorf("%s is another", name)
		}
	}
}

func TestFilesOfAnotherShapeGiveNothingRatherThanZero(t *testing.T) {
	if pressureMicroseconds("some avg10=0.00\n") != nil || memoryIn("VmRSS: 2 kB\n") != nil {
		t.Error("something was made of nothing")
	}
}

func TestThisProcessHasMemory(t *testing.T) {
	if memory := Memory(); memory == nil || memory.PeakRSSBytes < memory.RSSBytes {
		t.Errorf("%+v", memory)
	}
}
