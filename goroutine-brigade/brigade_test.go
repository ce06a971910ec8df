package main

import (
	"testing"
)

// BenchmarkPingPong is the ping-pong as it is written by hand: what
// `goroutine-brigade --tasks 1` must come near, per iteration.
func BenchmarkPingPong(b *testing.B) {
	for name, capacity := range map[string]int{"capacity-1": 1, "unbuffered": 0} {
		b.Run(name, func(b *testing.B) {
			ping, pong := make(chan int, capacity), make(chan int, capacity)
			go func() {
				for token := range ping {
					pong <- token + 1
				}
				close(pong)
			}()
			for b.Loop() {
				ping <- 0
				if <-pong != 1 {
					b.Fatal("the token is another")
				}
			}
			close(ping)
			<-pong
		})
	}
}
