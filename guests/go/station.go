package main

// load is what every goroutine of a brigade does at a hop besides passing the token on,
// as in the harness: work, and memory of its own that it touches.
type load struct {
	work       work
	workingSet uint64
	stride     uint64
}

// A word, and the stride between touched ones where none is asked for: a cache line.
const (
	wordBytes     = 8
	defaultStride = 64
	mostBytes     = 1 << 40
)

// station is where one goroutine stands.
type station struct {
	load  *load
	words []uint64
}

func (l *load) station() station {
	words := make([]uint64, (l.workingSet+wordBytes-1)/wordBytes)
	for word := range words {
		words[word] = uint64(word) + 1
	}
	return station{l, words}
}

// visit is to be called before the token is sent on.
func (s *station) visit() {
	s.load.work.perform()
	if len(s.words) > 0 {
		touch(s.words, int(max(1, s.load.stride/wordBytes)))
	}
}

// touch reads and writes a word at every stride.
//
//go:noinline
func touch(words []uint64, step int) {
	for word := 0; word < len(words); word += step {
		words[word]++
	}
}
