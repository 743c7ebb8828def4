package kafkabus

import (
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// requestBytes bounds a produce request before compression.
const requestBytes = 8 << 20

// node sends requests to one broker, one at a time. Each takes the batches of
// all lanes that have something by then.
type node struct {
	publisher *publisher
	in        chan offer
}

// offer is a batch with the broker that leads its partition.
type offer struct {
	*batch
	leader *sarama.Broker
}

// node returns the node of a broker, whose goroutine lives until Close.
func (p *publisher) node(leader *sarama.Broker) *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.nodes[leader.ID()]
	if n == nil {
		n = &node{publisher: p, in: make(chan offer)}
		p.nodes[leader.ID()] = n
		p.workers.Go(n.run)
	}
	return n
}

// publish returns the broker's answer to the batch.
func (n *node) publish(b *batch, leader *sarama.Broker) error {
	select {
	case n.in <- offer{b, leader}:
		return <-b.result
	case <-n.publisher.stop:
		return unsent{errClosed}
	}
}

func (n *node) run() {
	for {
		select {
		case o := <-n.in:
			n.send(n.gather(o))
		case <-n.publisher.stop:
			return
		}
	}
}

// gather takes what else is ready, without waiting for more.
func (n *node) gather(first offer) []offer {
	offers := []offer{first}
	size := 0
	for next := first; ; {
		if !next.lane.cut(next.batch) {
			next.result <- nil
			offers = offers[:len(offers)-1]
		}
		if size += next.size; size >= requestBytes {
			return offers
		}
		select {
		case next = <-n.in:
			offers = append(offers, next)
		default:
			return offers
		}
	}
}

func (n *node) send(offers []offer) {
	if len(offers) == 0 {
		return
	}
	req := &sarama.ProduceRequest{
		Version: 8, RequiredAcks: sarama.WaitForAll,
		Timeout: int32(n.publisher.conf.Producer.Timeout / time.Millisecond),
	}
	for _, o := range offers {
		req.AddBatch(o.lane.of.topic, o.lane.of.id, o.records)
	}
	// The client replaces a broker that moved; the last offer has the newest.
	answer, err := offers[len(offers)-1].leader.Produce(req)
	for _, o := range offers {
		o.result <- resultOf(answer, err, o.lane.of)
	}
}

func resultOf(answer *sarama.ProduceResponse, err error, of partition) error {
	if err != nil {
		return err
	}
	block := answer.GetBlock(of.topic, of.id)
	switch {
	case block == nil:
		return sarama.ErrIncompleteResponse
	case block.Err == sarama.ErrNoError:
		return nil
	case block.ErrorMessage != nil:
		return fmt.Errorf("%w (%s)", block.Err, *block.ErrorMessage)
	}
	return block.Err
}

// newProducer asks the cluster for a producer id. A shared one is asked for
// once, for all lanes.
func (p *publisher) newProducer(shared bool) (*producerID, error) {
	if shared {
		p.producerMu.Lock()
		defer p.producerMu.Unlock()
		if p.producer != nil {
			return p.producer, nil
		}
	}
	answer, err := p.client.InitProducerID()
	if err != nil {
		return nil, err
	}
	if answer.Err != sarama.ErrNoError {
		return nil, answer.Err
	}
	id := &producerID{id: answer.ProducerID, epoch: answer.ProducerEpoch}
	if shared {
		p.producer = id
	}
	return id, nil
}
