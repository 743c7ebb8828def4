package queuebench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/backoff"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/proof/place"
	"github.com/millrace-go/millrace/proof/redisserver"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/redisqueue"
	"github.com/millrace-go/millrace/queue/token"
)

// secret is a made-up secret.
const secret = "a secret of the benchmark, which protects nothing"

// ours is the waiting room of this project.
type ours struct {
	event   string
	client  redis.UniversalClient
	store   driver.Store
	tickets *seal.Tickets
	room    *queue.Room
	epoch   uint64
	inside  int       // number admitted
	tick    time.Time // when the next one begins
}

func openOurs(s *redisserver.Server, event string, pool int) (_ *ours, err error) {
	client, err := redisdb.Open(s.URL, redisdb.Config{PoolSize: pool, Timeout: deadline})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, client.Close())
		}
	}()
	ring, err := token.NewRing(secret)
	if err != nil {
		return nil, err
	}
	store, err := redisqueue.New(client, redisqueue.Config{Prefix: place.RoomPrefix(event)})
	if err != nil {
		return nil, err
	}
	o := &ours{event: event, client: client, store: store, tickets: seal.NewTickets(ring)}
	return o, o.restart()
}

func (o *ours) close() error { return o.client.Close() }

// restart makes a new process serve the following calls, without any signs of life:
// each person's first poll in it is a sign of life that Redis is told.
func (o *ours) restart() error {
	ring, err := token.NewRing(secret)
	if err != nil {
		return err
	}
	// A loaded machine that stalls for longer than the default of a second should
	// cost time here, and not answers.
	o.room, err = queue.New(o.store, ring, queue.Config{Timeout: 5 * time.Second, MaxStale: deadline})
	return err
}

func (o *ours) check(ctx context.Context, who person) (queue.Place, error) {
	p, err := o.room.Check(ctx, o.event, queue.Visitor{User: who.id, Ticket: who.ticket})
	if err == nil && p.Status != queue.Waiting {
		err = fmt.Errorf("%s does not wait: %v", who.id, p.Status)
	}
	return p, err
}

func (o *ours) poll(ctx context.Context, who person) error {
	_, err := o.check(ctx, who)
	return err
}

// named polls as a person who has lost the ticket.
func (o *ours) named(ctx context.Context, who person) error {
	_, err := o.check(ctx, person{id: who.id})
	return err
}

func (o *ours) join(ctx context.Context, id string) (person, error) {
	p, err := o.check(ctx, person{id: id})
	return person{id: id, ticket: p.Ticket}, err
}

func (o *ours) learn(people []person) error {
	for i := range people {
		p := &people[i]
		ticket, err := o.tickets.Open(p.ticket, o.event, p.id)
		if err != nil {
			return err
		}
		p.order = ticket.Order
	}
	return nil
}

// rules admit no one but by admit, and as many as that says.
func (o *ours) rules(batch int) driver.Rules {
	return driver.Rules{
		Threshold: batch, Active: stay, Seen: grace, NoShow: stay,
		Tick: time.Second, Batch: max(1, batch), SweepEvery: time.Millisecond, Settle: 70 * time.Second,
	}
}

func (o *ours) fill(ctx context.Context, ids []string) ([]person, error) {
	people := make([]person, 0, len(ids))
	err := chunks(ids, func(some []string) error {
		visits := make([]driver.Visit, len(some))
		for i, id := range some {
			visits[i] = driver.Visit{Kind: driver.Check, User: id}
		}
		v, err := o.store.Visit(ctx, o.event, o.rules(0), driver.Beats{}, visits)
		if err != nil {
			return err
		}
		o.epoch = v.Epoch
		for i, out := range v.Outcomes {
			if out.Status != queue.Waiting || !out.New {
				return fmt.Errorf("%s has not lined up: %+v", some[i], out)
			}
			people = append(people, person{some[i], o.tickets.Seal(seal.Ticket{Event: o.event, User: some[i], Epoch: v.Epoch, Order: out.Order}), out.Order})
		}
		return nil
	})
	return people, err
}

func (o *ours) flush(ctx context.Context) error { return o.room.Flush(ctx) }

// ready waits until the tick of the last measurement is over.
func (o *ours) ready(ctx context.Context) error {
	return backoff.Sleep(ctx, time.Until(o.tick))
}

// enter admits so many in a tick, as an Admitter does.
func (o *ours) enter(ctx context.Context, most int) (entered int, err error) {
	rules := o.rules(most)
	rules.Threshold += o.inside
	for {
		a, err := o.store.Admit(ctx, o.event, rules)
		if err != nil {
			return entered, err
		}
		entered += len(a.Admitted)
		if !a.More {
			o.inside, o.tick = a.Active+a.Entitled, time.Now().Add(a.Next)
			return entered, nil
		}
	}
}

// strike makes all but the living silent for longer than the grace. The bitmaps of
// the past minutes are deleted, as at the end of the grace, and the living poll.
func (o *ours) strike(ctx context.Context, living, _ []person) error {
	keys := o.client.Scan(ctx, 0, place.RoomPrefix(o.event)+"{"+o.event+"}:seen:*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := o.client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	if err := keys.Err(); err != nil {
		return err
	}
	return chunks(living, func(some []person) error {
		b := driver.Beats{Epoch: o.epoch}
		for _, who := range some {
			b.Orders = append(b.Orders, who.order)
		}
		_, err := o.store.Visit(ctx, o.event, o.rules(0), b, nil)
		return err
	})
}

func (o *ours) sweep(ctx context.Context) (removed int, err error) {
	for from := int64(0); ; {
		s, err := o.store.Sweep(ctx, o.event, o.rules(0), from)
		if err != nil {
			return removed, err
		}
		removed += s.Removed
		if s.Done {
			return removed, nil
		}
		from = s.Next
	}
}
