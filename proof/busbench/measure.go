package busbench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/proof/backlog"
	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/together"
)

// publishing is how many callers publish, each so many messages per call.
type publishing struct{ callers, each int }

// measure publishes for the window's time into a topic of its own.
func (p publishing) measure(ctx context.Context, cfg Config, o *opened) (report.Pace, error) {
	topic, err := o.topic(ctx)
	if err != nil {
		return report.Pace{}, err
	}
	// Once before, so that the set-up of a first call is not measured.
	if _, err := p.publish(o.publisher, topic, cfg.Size, func() bool { return false }); err != nil {
		return report.Pace{}, err
	}
	start, end := time.Now(), report.Begin()
	n, err := p.publish(o.publisher, topic, cfg.Size, func() bool { return time.Since(start) < cfg.Window && ctx.Err() == nil })
	if err != nil {
		return report.Pace{}, err
	}
	return end(n), nil
}

// publish lets every caller publish at least once, and goes on while more returns
// true. It returns how many messages were published.
func (p publishing) publish(to message.Publisher, topic string, size int, more func() bool) (int, error) {
	var n atomic.Int64
	err := together.All(p.callers, func(int) error {
		for {
			if err := to.Publish(topic, batch(int(n.Load()), p.each, size)...); err != nil {
				return err
			}
			n.Add(int64(p.each))
			if !more() {
				return nil
			}
		}
	})
	return int(n.Load()), err
}

// batch makes messages over 1000 keys.
func batch(from, n, size int) []*message.Message {
	data := backlog.Payment(size)
	out := make([]*message.Message, n)
	for i := range out {
		out[i] = message.NewMessage(watermill.NewUUID(), message.Payload(data(from+i)))
		out[i].Metadata.Set(event.KeyHeader, "payment-"+strconv.Itoa((from+i)%1000))
		out[i].Metadata.Set("ce_type", "PaymentSuccess")
	}
	return out
}

// consume lets a group work off a backlog. It has three seconds from the first
// message on.
func consume(ctx context.Context, cfg Config, o *opened) (report.Pace, error) {
	topic, err := o.topic(ctx)
	if err != nil {
		return report.Pace{}, err
	}
	begun := time.Now()
	var backlog int64
	for backlog < int64(cfg.Backlog) && time.Since(begun) < 2*time.Second {
		callers := min(16, (cfg.Backlog-int(backlog)+99)/100)
		n, err := publishing{callers, min(100, cfg.Backlog)}.publish(o.publisher, topic, cfg.Size, func() bool { return false })
		if err != nil {
			return report.Pace{}, fmt.Errorf("fill: %w", err)
		}
		backlog += int64(n)
	}
	var handled atomic.Int64
	var end func(messages int) report.Pace
	first, all := make(chan struct{}), make(chan struct{})
	stop, err := o.consume(ctx, topic, func() {
		switch handled.Add(1) {
		case 1:
			end = report.Begin()
			close(first)
		case backlog:
			close(all)
		}
	})
	if err != nil {
		return report.Pace{}, err
	}
	select {
	case <-first:
	case <-ctx.Done():
		return report.Pace{}, errors.Join(errors.New("nothing was consumed"), stop())
	}
	enough := time.NewTimer(3 * time.Second)
	defer enough.Stop()
	select {
	case <-all:
	case <-enough.C:
	}
	return end(int(handled.Load())), stop()
}
