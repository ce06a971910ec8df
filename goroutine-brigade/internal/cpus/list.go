// Package cpus knows sets of CPUs: the list that a flag names, and those that
// this process may use.
package cpus

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// most is the number of CPUs that the kernel's mask has room for here.
const most = 1024

// List is an ordered list of CPU numbers, written like 0,2-3. None occurs
// twice.
type List []int

// Parse reads a list as a flag names it.
func Parse(text string) (List, error) {
	var list List
	for _, part := range strings.Split(text, ",") {
		first, last, err := parseRange(part)
		if err != nil {
			return nil, err
		}
		for cpu := first; cpu <= last; cpu++ {
			if !slices.Contains(list, cpu) {
				list = append(list, cpu)
			}
		}
	}
	return list, nil
}

// parseRange reads 3 or 2-5.
func parseRange(part string) (first, last int, err error) {
	left, right, isRange := strings.Cut(part, "-")
	if !isRange {
		right = left
	}
	first, errFirst := strconv.Atoi(left)
	last, errLast := strconv.Atoi(right)
	switch {
	case errFirst != nil || errLast != nil || first < 0 || last < 0:
		return 0, 0, fmt.Errorf("'%s' is not a CPU number or a range such as 2-3", part)
	case first > last:
		return 0, 0, fmt.Errorf("the range '%s' runs backwards", part)
	case last >= most:
		return 0, 0, fmt.Errorf("CPU %d is beyond the %d supported", last, most)
	}
	return first, last, nil
}

// String writes the numbers one by one.
func (l List) String() string {
	numbers := make([]string, len(l))
	for i, cpu := range l {
		numbers[i] = strconv.Itoa(cpu)
	}
	return strings.Join(numbers, ",")
}

// Words writes the list as part of a sentence.
func (l List) Words() string {
	if len(l) == 1 {
		return "CPU " + l.String()
	}
	return "CPUs " + l.String()
}

// Text is the list as a record holds it: its text, or null for none.
func (l List) Text() json.RawMessage {
	if l == nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(strconv.Quote(l.String()))
}
