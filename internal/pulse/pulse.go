// Package pulse is an edge-triggered broadcast: a wake-up reaches every earlier subscriber, and
// several wake-ups before a subscriber reads count as one.
//
//	property                                              proven by
//	a subscriber from before Wake never misses it         TestNobodyMissesAWake
//	wake-ups coalesce; Wake never blocks                  TestWakesCoalesce
//	after cancel nothing is delivered                     TestCancel
package pulse

import "sync"

// Pulse is the broadcast. The zero value is ready; it must not be copied.
type Pulse struct {
	mu   sync.Mutex
	subs map[chan struct{}]struct{}
}

// New returns a Pulse without subscribers.
func New() *Pulse { return &Pulse{} }

// Wake signals every subscriber. It never blocks: a subscriber with a waiting signal needs no
// second one, since it reads the state only after it took the signal.
func (p *Pulse) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.subs {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Subscribe returns a channel of capacity 1 that receives a signal for every Wake from now on,
// coalesced, and a function that ends the subscription. The channel is never closed. Read the
// state once after subscribing: earlier changes are not signalled.
func (p *Pulse) Subscribe() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subs == nil {
		p.subs = make(map[chan struct{}]struct{})
	}
	p.subs[c] = struct{}{}
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.subs, c)
		select {
		case <-c:
		default:
		}
	}
}
