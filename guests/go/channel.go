package main

import (
	"fmt"
	"sync/atomic"
)

const (
	// messages is the number of messages in a lap.
	messages = 16_384
	// lot is how many messages a consumer receives before it adds to the common count.
	lot = 256
	// mostPeers is the most producers, and consumers.
	mostPeers = 1024
	// mostCapacity is the largest capacity of a channel.
	mostCapacity = 1 << 16
	// producerBits are the bits of a message's first word that are the number of its producer.
	producerBits = 16
)

// channel measures goroutines that share a channel, as the program channel-load does threads and
// async tasks in its closed loop.
//
// Known biases: a round has a new channel, which the last producer closes. Go's scheduler runs a
// goroutine that was woken next on the same worker.
var channel = program{
	about: `Time messages through one channel, from several goroutines to several.

One lap is 16384 messages, received by any of the consumers, as fast as they can.
producer and consumer are the mean times from one message of one of them to its next.
`,
	iters: 100, warmups: fewestWarmups, sends: true, measure: measureChannel,
}

// channelFlags are the numbers of goroutines on both sides, the capacity in messages, and the size
// of a message in bytes.
type channelFlags struct{ producers, consumers, capacity, message int }

func (of *channelFlags) check() error {
	switch {
	case of.producers < 1 || of.producers > mostPeers:
		return fmt.Errorf("--producers %d: not between 1 and %d", of.producers, mostPeers)
	case of.consumers < 1 || of.consumers > mostPeers:
		return fmt.Errorf("--consumers %d: not between 1 and %d", of.consumers, mostPeers)
	case of.capacity < 0 || of.capacity > mostCapacity:
		return fmt.Errorf("--capacity %d: not between 0 and %d", of.capacity, mostCapacity)
	case of.message != 8 && of.message != 64 && of.message != 1024:
		return fmt.Errorf("--message %d: neither 8, 64 nor 1024", of.message)
	}
	return nil
}

// words is a message, passed by value. The first word has the producer and the number of the message.
type words interface {
	[1]uint64 | [8]uint64 | [128]uint64
}

// channelRound is what the goroutines of a warm-up or of the measured laps share.
type channelRound[M words] struct {
	messages chan M
	_        [128]byte
	// counted is the number of messages received, in lots.
	counted atomic.Uint64
	_       [128]byte
	// sending is the number of producers that have not stopped.
	sending atomic.Int64
	_       [128]byte
	blocks
	// What each has sent and received, in the end.
	sent     []uint64
	received []received
}

// received is what a consumer received: in all, and of each producer.
type received struct {
	messages uint64
	seen     []seen
}

// seen is what a consumer received of a producer, in a cache line of its own. disorder is the number of messages
// that came out of order.
type seen struct {
	last, count, sum, disorder uint64
	_                          [32]byte
}

func measureChannel(r *run) error {
	switch r.channel.message {
	case 8:
		return measureMessages[[1]uint64](r)
	case 64:
		return measureMessages[[8]uint64](r)
	}
	return measureMessages[[128]uint64](r)
}

func measureMessages[M words](r *run) error {
	iteration := r.measurement("iteration", "message", messages)
	producer := r.measurement("producer", "message", 1)
	consumer := r.measurement("consumer", "message", 1)
	iteration.CoversAll, producer.CoversAll, consumer.CoversAll = false, false, false
	var round *channelRound[M]
	err := r.closedLoop(iteration, func() closedRound {
		round = &channelRound[M]{messages: make(chan M, r.channel.capacity)}
		return round
	})
	received := make([]uint64, len(round.received))
	for number, one := range round.received {
		received[number] = one.messages
	}
	producer.LapsNs, consumer.LapsNs = iteration.turns(round.sent), iteration.turns(received)
	return err
}

// start starts the goroutines, in the order producer, consumer, producer …
func (of *channelRound[M]) start() {
	producers, consumers := of.run.channel.producers, of.run.channel.consumers
	of.sent, of.received = make([]uint64, producers), make([]received, consumers)
	of.sending.Store(int64(producers))
	for number := range max(producers, consumers) {
		if number < producers {
			of.spawn(func() { of.sent[number] = of.produce(number) })
		}
		if number < consumers {
			of.spawn(func() { of.received[number] = of.consume(number) })
		}
	}
}

// produce sends messages until the round is over, and returns how many.
func (of *channelRound[M]) produce(producer int) (sent uint64) {
	for !of.isOver() {
		sent++
		var message M
		message[0] = sent<<producerBits | uint64(producer)
		of.messages <- message
	}
	if of.sending.Add(-1) == 0 {
		close(of.messages)
	}
	return sent
}

// consume receives messages until the channel is closed. Consumer k of n begins with k/n of a lot, so that the
// common count does not lag behind.
func (of *channelRound[M]) consume(consumer int) received {
	ahead := uint64(consumer * lot / of.run.channel.consumers)
	all := received{seen: make([]seen, of.run.channel.producers)}
	work := of.run.load.work.units
	for message := range of.messages {
		number := message[0] >> producerBits
		producer := &all.seen[message[0]&(1<<producerBits-1)]
		if number <= producer.last {
			producer.disorder++
		}
		producer.last = number
		producer.count++
		producer.sum += number
		if work > 0 {
			spend(work)
		}
		all.messages++
		if (ahead+all.messages)%lot == 0 && of.counted.Add(lot)%messages == 0 {
			of.record(of.endLap)
		}
	}
	return all
}

// sumTo returns the sum of the numbers from 1 on, modulo 2^64.
func sumTo(last uint64) uint64 {
	if last%2 == 0 {
		return last / 2 * (last + 1)
	}
	return (last + 1) / 2 * last
}

// verify checks that each message was received once, and those of a producer by each consumer in
// order.
func (of *channelRound[M]) verify() error {
	for producer, sent := range of.sent {
		count, sum, disorder := uint64(0), uint64(0), uint64(0)
		for _, consumer := range of.received {
			count += consumer.seen[producer].count
			sum += consumer.seen[producer].sum
			disorder += consumer.seen[producer].disorder
		}
		if count != sent || sum != sumTo(sent) || disorder > 0 {
			return fmt.Errorf("the messages of producer %d were not received once and in order: %d sent, %d received",
				producer, sent, count)
		}
	}
	return nil
}
