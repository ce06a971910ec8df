package cpus

import (
	"slices"
	"testing"
)

func TestListsAndRangesAreReadInOrderAndOnce(t *testing.T) {
	for text, want := range map[string]List{
		"0":     {0},
		"3,0-1": {3, 0, 1},
		"1,0-2": {1, 0, 2},
	} {
		if list, err := Parse(text); err != nil || !slices.Equal(list, want) {
			t.Errorf("%s: %v, %v", text, list, err)
		}
	}
}

func TestNonsenseIsRefusedInWords(t *testing.T) {
	for text, want := range map[string]string{
		"":      "'' is not a CPU number or a range such as 2-3",
		"x":     "'x' is not a CPU number or a range such as 2-3",
		"-1":    "'-1' is not a CPU number or a range such as 2-3",
		"0-":    "'0-' is not a CPU number or a range such as 2-3",
		"3-1":   "the range '3-1' runs backwards",
		"99999": "CPU 99999 is beyond the 1024 supported",
	} {
		if list, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
}

func TestAProcessRunsWhereItMay(t *testing.T) {
	allowed, err := Allowed()
	if err != nil || !slices.Contains(allowed, Current()) {
		t.Errorf("on %d, allowed %v, %v", Current(), allowed, err)
	}
}

func TestAConfinedProcessRunsWhereItWasTold(t *testing.T) {
	allowed, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	last := allowed[len(allowed)-1:]
	if err := Confine(last); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = Confine(allowed) }()
	if now, err := Allowed(); err != nil || !slices.Equal(now, last) {
		t.Errorf("allowed %v, %v", now, err)
	}
}
