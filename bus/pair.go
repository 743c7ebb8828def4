package bus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Pair is two consumers with priorities. While the lag of High is above HoldAbove, Low takes and
// hands out no more messages; messages in flight are finished. Once the lag is at most
// ResumeBelow, Low resumes.
//
// The lag comes from a [LagMonitor] in the background, so no message waits for it. If the lag is
// unknown (the transport cannot tell, or the last answer is stale), Low runs: otherwise it would
// never run on a transport that cannot tell. ConsumerStatus of Low shows whether it is held
// back, and why.
type Pair struct {
	// High and Low are each a [Consumer] or a [BatchConsumer], of different
	// topics. Their Concurrency is 8 and 2 when zero.
	High, Low AnyConsumer
	// HoldAbove is how many messages High may be behind; 1,000 by default.
	HoldAbove int
	// ResumeBelow ends the hold; half of HoldAbove by default. The distance between the two
	// prevents Low from being switched on and off continuously.
	ResumeBelow int
	// Lag is read once a second. When it is nil, the Runner runs a monitor of its own with the
	// defaults.
	Lag *LagMonitor
}

// pair is a Pair inside a Runner.
type pair struct {
	high, low    *consumer
	above, below int
	lag          *LagMonitor
}

// pairInterval is how often the pair reads the lag, from memory.
const pairInterval = time.Second

func (p Pair) plan() (plan, error) {
	if p.HoldAbove == 0 {
		p.HoldAbove = 1000
		if p.ResumeBelow > p.HoldAbove {
			return plan{}, fmt.Errorf("bus: pair: ResumeBelow is %d, above the default HoldAbove 1000; give both", p.ResumeBelow)
		}
	}
	if p.ResumeBelow == 0 {
		p.ResumeBelow = p.HoldAbove / 2
	}
	if p.HoldAbove < 0 || p.ResumeBelow < 0 || p.ResumeBelow > p.HoldAbove {
		return plan{}, fmt.Errorf("bus: pair: HoldAbove is %d and ResumeBelow %d; give 0 ≤ ResumeBelow ≤ HoldAbove, or 0 for the defaults", p.HoldAbove, p.ResumeBelow)
	}
	high, err := half("High", p.High, 8)
	if err != nil {
		return plan{}, err
	}
	low, err := half("Low", p.Low, 2)
	if err != nil {
		return plan{}, err
	}
	if high.Topic == low.Topic {
		return plan{}, fmt.Errorf("bus: pair: High and Low both consume %s; give each a topic of its own", high.Topic)
	}
	low.gate = newGate()
	return plan{
		consumers: []*consumer{high, low},
		pair:      &pair{high: high, low: low, above: p.HoldAbove, below: p.ResumeBelow, lag: p.Lag},
	}, nil
}

// half makes one consumer of the pair, with its default concurrency.
func half(name string, c AnyConsumer, concurrency int) (*consumer, error) {
	switch typed := c.(type) {
	case Consumer:
		if typed.Concurrency == 0 {
			typed.Concurrency = concurrency
		}
		c = typed
	case BatchConsumer:
		if typed.Concurrency == 0 {
			typed.Concurrency = concurrency
		}
		c = typed
	case nil:
		return nil, errors.New("bus: pair: " + name + " is nil; give a Consumer or a BatchConsumer")
	default:
		return nil, fmt.Errorf("bus: pair: %s is a %T; give a Consumer or a BatchConsumer", name, c)
	}
	pl, err := c.plan()
	if err != nil {
		return nil, err
	}
	return pl.consumers[0], nil
}

// run reads the lag until ctx is cancelled.
func (p *pair) run(ctx context.Context) {
	tick := time.NewTicker(pairInterval)
	defer tick.Stop()
	for {
		p.look()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *pair) look() {
	lag, known := p.lag.Of(p.high.Topic, p.high.Group)
	held, _ := p.low.gate.state()
	who := p.high.Group + " of " + p.high.Topic
	var reason string
	switch {
	case !known:
		held, reason = false, "the lag of "+who+" is not known"
	case lag.Messages > p.above, held && lag.Messages > p.below:
		held, reason = true, fmt.Sprintf("%s is %d behind, resuming at %d", who, lag.Messages, p.below)
	default:
		held, reason = false, fmt.Sprintf("%s is %d behind, holding above %d", who, lag.Messages, p.above)
	}
	if !p.low.gate.set(held, reason) {
		return
	}
	if held {
		p.low.log.Info("consumer held back", "reason", reason)
	} else {
		p.low.log.Info("consumer goes on", "reason", reason)
	}
}
