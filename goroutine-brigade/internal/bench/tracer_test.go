package bench

import "testing"

func TestCrossingsAreCountedOverAllHopsWithTheDriversTwo(t *testing.T) {
	for _, lap := range []struct {
		sent  int
		stops []int
		taken int
		want  float64
	}{
		{0, []int{0, 0, 0}, 0, 0},
		{0, []int{1, 0, 1}, 0, 1},
		{0, []int{0, 1, 1}, 1, 0.25},
	} {
		tracer := newTracer(len(lap.stops))
		copy(tracer.cpus, lap.stops)
		tracer.countLap(lap.sent, lap.taken)
		if share := tracer.crossCPUShare(); share == nil || *share != lap.want {
			t.Errorf("%+v: %v", lap, share)
		}
	}
}

func TestATaskThatNotedNothingIsNotGuessed(t *testing.T) {
	tracer := newTracer(1)
	tracer.countLap(0, 1)
	if share := tracer.crossCPUShare(); share != nil {
		t.Errorf("%v", *share)
	}
}
