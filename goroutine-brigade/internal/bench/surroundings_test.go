package bench

import (
	"testing"

	"brigade/goroutine-brigade/internal/cpus"
)

const stat = "cpu  3 3 5 7 9 11 13 100 17 19\ncpu0 1 1 2 3 4 5 6 60 8 9\n" +
	"cpu1 2 2 3 4 5 6 7 40 9 10\ncpu10 9 9 9 9 9 9 9 9 9 9\nintr 12\n"

func TestStealIsThatOfAllCPUs(t *testing.T) {
	if !is(stealTicks(stat), 100) || stealTicks("cpu 1 2 3\n") != nil {
		t.Error("steal is another")
	}
}

func TestTheCPUsAskedForAreSummed(t *testing.T) {
	both := cpuTimeOf(cpus.List{0, 1}, stat)
	if both == nil || *both != (cpuTime{2, 16 * nsPerTick, 135 * nsPerTick}) {
		t.Errorf("%+v", both)
	}
	if cpuTimeOf(cpus.List{0, 2}, stat) != nil || cpuTimeOf(cpus.List{0}, "cpu0 1 2\n") != nil {
		t.Error("something was made of a CPU that is not there")
	}
}

func TestOthersHadWhatBothAccountsShowAndWeDidNot(t *testing.T) {
	before := &cpuTime{2, 50, 70}
	for _, c := range []struct{ idle, busy, own, want uint64 }{
		{1500, 400, 0, 400}, {1500, 600, 0, 500}, {2100, 600, 0, 0},
		{1500, 400, 300, 100}, {1500, 400, 500, 0},
	} {
		after := &cpuTime{2, 50 + c.idle, 70 + c.busy}
		if others := after.othersSince(before, 1000, c.own); !is(others, c.want) {
			t.Errorf("%+v: %v", c, *others)
		}
	}
	if before.othersSince(nil, 1000, 0) != nil {
		t.Error("something was made of nothing")
	}
}
