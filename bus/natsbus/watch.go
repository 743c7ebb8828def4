package natsbus

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// tick is the least time between two rounds of wake-ups by one process.
const tick = time.Millisecond

// wakeOthers notifies the readers of the lanes, and members of groups, by NATS's own
// messages, which are not stored. A lost one costs at most the time of a poll.
func (l *streamLog) wakeOthers(_ context.Context, c logdriver.Change) error {
	if c.Groups {
		if err := l.conn.Publish(l.groups(), nil); err != nil {
			return err
		}
	}
	for _, lane := range c.Lanes {
		p := l.registry.partition(lane)
		if err := l.conn.Publish(l.wake(p.topic, strconv.Itoa(p.number)), nil); err != nil {
			return err
		}
	}
	return nil
}

// hear passes on the notifications of wakeOthers in other processes: of groups, and of the
// messages of a topic once it is followed. Subscriptions outlive a broken connection.
func (d *driver) hear() error {
	_, err := d.log.conn.Subscribe(d.log.groups(), func(*nats.Msg) { d.hub.WakeGroups() })
	return err
}

// follow subscribes to a topic's notifications.
func (d *driver) follow(topic string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.followed[topic] {
		return nil
	}
	_, err := d.log.conn.Subscribe(d.log.wake(topic, "*"), func(m *nats.Msg) {
		t, _, ok := d.log.registry.topic(topic)
		n, err := strconv.Atoi(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
		if ok && err == nil && n >= 0 && n < t.Partitions {
			d.hub.Wake(t.FirstLane + n)
		}
	})
	d.followed[topic] = err == nil
	return err
}
