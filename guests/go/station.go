package main

// load is what every goroutine of a brigade does at a hop, as in the harness: work, and
// touching private memory.
type load struct {
	work       work
	workingSet uint64
	stride     uint64
}

// A word, and the default distance between touched words: a cache line.
const (
	wordBytes     = 8
	defaultStride = 64
	mostBytes     = 1 << 40
)

// station is one goroutine's position.
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

// visit must be called before the token is sent on.
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
