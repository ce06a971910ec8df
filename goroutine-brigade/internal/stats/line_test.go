package stats

import (
	"math"
	"testing"
)

func TestPointsOnALineGiveItWithoutDoubt(t *testing.T) {
	line, ok := Fit([]float64{1, 2, 3, 4}, []float64{12, 14, 16, 18})
	if !ok || math.Abs(line.Slope-2) > 1e-12 || line.HalfWidth > 1e-9 {
		t.Errorf("%+v, %v", line, ok)
	}
}

func TestASlopeWorkedByHand(t *testing.T) {
	// x - 2.5: -1.5 -0.5 0.5 1.5 (squares 5); y - 3.5: -2.5 0.5 -0.5 2.5;
	// products 3.75 - 0.25 - 0.25 + 3.75 = 7; slope 1.4. Residuals -0.4 1.2
	// -1.2 0.4: squares 3.2; variance 1.6 over 5; t(2) = 4.303.
	line, ok := Fit([]float64{1, 2, 3, 4}, []float64{1, 4, 3, 6})
	if !ok || math.Abs(line.Slope-1.4) > 1e-12 {
		t.Errorf("%+v, %v", line, ok)
	}
	if want := 4.303 * math.Sqrt(1.6/5); math.Abs(line.HalfWidth-want) > 1e-12 {
		t.Errorf("half width %v, not %v", line.HalfWidth, want)
	}
}

func TestTooLittleIsNoLine(t *testing.T) {
	for _, x := range [][]float64{{}, {1}, {1, 2}, {5, 5, 5}} {
		if line, ok := Fit(x, make([]float64, len(x))); ok {
			t.Errorf("%v gives %+v", x, line)
		}
	}
}
