package stats

import (
	"math"
	"testing"
)

func momentsOf(values ...float64) *Moments {
	var moments Moments
	for _, value := range values {
		moments.Add(value)
	}
	return &moments
}

func TestFewerThanTwoValuesHaveNoDeviation(t *testing.T) {
	for _, moments := range []*Moments{momentsOf(), momentsOf(3)} {
		if deviation, known := moments.StdDev(); known {
			t.Errorf("%d values deviate by %v", moments.Count(), deviation)
		}
	}
}

func TestEqualValuesHaveNoSpread(t *testing.T) {
	if deviation, known := momentsOf(7, 7, 7).StdDev(); !known || deviation != 0 {
		t.Errorf("deviation %v, known %v", deviation, known)
	}
}

func TestACaseWorkedByHand(t *testing.T) {
	// Mean 5; squared distances 9 1 1 1 0 0 4 16 sum to 32; 32 / 7.
	moments := momentsOf(2, 4, 4, 4, 5, 5, 7, 9)
	if moments.Mean() != 5 || moments.Count() != 8 {
		t.Errorf("mean %v of %d", moments.Mean(), moments.Count())
	}
	if deviation, _ := moments.StdDev(); deviation != math.Sqrt(32.0/7) {
		t.Errorf("deviation %v", deviation)
	}
}

func TestASmallSpreadBesideALargeMeanSurvives(t *testing.T) {
	deviation, _ := momentsOf(1e9+4, 1e9+7, 1e9+13, 1e9+16).StdDev()
	if math.Abs(deviation-math.Sqrt(30)) > 1e-9 {
		t.Errorf("deviation %v", deviation)
	}
}
