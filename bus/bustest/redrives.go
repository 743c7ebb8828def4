package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/steps"
)

func redriveCases() []Case {
	return []Case{
		{"RedriveAll", redriveAll},
		{"RedriveSelected", redriveSelected},
		{"RedriveBehindManyOfItsKey", redriveBehindMany},
		{"RedriveDryRunTakesNothing", redriveDryRun},
		{"RedriveAfterEdit", redriveEdited},
		{"RedriveDrop", redriveDrop},
		{"RedriveKilledLosesNothing", redriveKilled},
	}
}

// grave is a topic with events that became dead letters.
type grave struct {
	env          Env
	topic, group string
	events       []*message.Message // as they were published, two keys in turn
	letters      *redrive.Letters
}

// dig publishes n events that a consumer fails permanently at once.
func dig(ctx context.Context, env Env, n int) (_ *grave, err error) {
	g := &grave{env: env, topic: name("topic"), group: name("group")}
	for i := range n {
		e, err := event.New("SeatHeld", "bustest", map[string]int{"number": i})
		if err != nil {
			return nil, err
		}
		e.AggregateID = []string{"left", "right"}[i%2]
		m, err := event.Structured{}.Encode(e)
		if err != nil {
			return nil, err
		}
		m.Metadata.Set("custom", "좌석 "+e.ID)
		g.events = append(g.events, m)
	}
	buried := make(chan struct{}, n)
	r, err := run(ctx, env.Bus, bus.Consumer{
		Topic: g.topic, Group: g.group,
		Handler: func(*message.Message) error { return fault.MarkPermanent(errors.New("sold out")) },
		Hooks:   bus.Hooks{OnDeadLetter: func(bus.Report) { buried <- struct{}{} }},
	})
	if err != nil {
		return nil, err
	}
	err = env.Bus.Publisher().Publish(g.topic, g.events...)
	for range n {
		select {
		case <-buried:
		case <-ctx.Done():
			err = errors.Join(err, fmt.Errorf("not all became dead letters: %w", ctx.Err()))
		}
		if err != nil {
			break
		}
	}
	if r.finish(&err); err != nil {
		return nil, err
	}
	g.letters, err = g.open(env.Bus)
	return g, err
}

func (g *grave) open(b *bus.Bus) (*redrive.Letters, error) {
	return redrive.New(b, g.topic+".DLT", redrive.Config{})
}

// ids names the events at these places.
func (g *grave) ids(places ...int) (ids []string) {
	for _, i := range places {
		ids = append(ids, g.events[i].UUID)
	}
	return ids
}

// pending checks the pending letters, in any order.
func (g *grave) pending(ctx context.Context, places ...int) error {
	got, err := g.letters.List(ctx, redrive.Filter{}, 0)
	if err != nil {
		return err
	}
	var have []string
	for _, l := range got.Letters {
		have = append(have, l.ID)
	}
	want := g.ids(places...)
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		return fmt.Errorf("pending are %v, want %v", have, want)
	}
	return nil
}

// came reads the original topic as the group that had failed. It checks that the events at these
// places are there again, unchanged, in order per key.
func (g *grave) came(ctx context.Context, atLeast bool, places ...int) (err error) {
	defer steps.End(&err)
	sub := steps.Get(subscribe(ctx, g.env.Bus, g.group, g.topic))
	defer sub.closing(&err)
	missing := map[string]*message.Message{}
	for _, i := range places {
		missing[g.events[i].UUID] = g.events[i]
	}
	for len(missing) > 0 {
		m, err := sub.next(ctx)
		steps.Named(err, "%d of %d events came back", len(places)-len(missing), len(places))
		m.Ack()
		want, ok := missing[m.UUID]
		if !ok {
			if atLeast && slices.ContainsFunc(g.events, func(e *message.Message) bool { return e.UUID == m.UUID }) {
				continue
			}
			return fmt.Errorf("%s came back and should not, or twice", m.UUID)
		}
		delete(missing, m.UUID)
		if !bytes.Equal(m.Payload, want.Payload) {
			return fmt.Errorf("%s came back as %s", m.UUID, m.Payload)
		}
		if m.Metadata[driver.DLQRedrive] != "1" {
			return fmt.Errorf("%s came back with redrive count %q", m.UUID, m.Metadata[driver.DLQRedrive])
		}
		for k, v := range want.Metadata {
			if m.Metadata[k] != v {
				return fmt.Errorf("%s came back with %s %q, want %q", m.UUID, k, m.Metadata[k], v)
			}
		}
		if len(m.Metadata) != len(want.Metadata)+1 {
			return fmt.Errorf("%s came back with metadata %v", m.UUID, m.Metadata)
		}
	}
	if !atLeast {
		// Extra deliveries would come before this.
		steps.Do(g.env.Bus.Publisher().Publish(g.topic, msg("left", 1), msg("right", 1)))
		for range 2 {
			m := steps.Get(sub.next(ctx))
			if m.Ack(); !strings.HasSuffix(string(m.Payload), "#1") {
				return fmt.Errorf("%s came back and should not, or twice", m.UUID)
			}
		}
	}
	return nil
}

func want(what string, got, n int) error {
	if got != n {
		return fmt.Errorf("%s %d letters, want %d", what, got, n)
	}
	return nil
}

func every(n int) (places []int) {
	for i := range n {
		places = append(places, i)
	}
	return places
}

func redriveAll(ctx context.Context, env Env) error {
	const n = 40
	g, err := dig(ctx, env, n)
	if err != nil {
		return err
	}
	res, err := g.letters.Redrive(ctx, redrive.Filter{All: true}, redrive.Options{})
	if err = errors.Join(err, want("redrove", res.Done, n)); err != nil {
		return err
	}
	return errors.Join(g.came(ctx, false, every(n)...), g.pending(ctx))
}

// redriveSelected takes letters from the middle, of both keys.
func redriveSelected(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	g := steps.Get(dig(ctx, env, 10))
	res, err := g.letters.Redrive(ctx, redrive.Filter{IDs: g.ids(3, 4, 7)}, redrive.Options{})
	if err = errors.Join(err, want("redrove", res.Done, 3)); err != nil {
		return err
	}
	steps.Do(errors.Join(g.pending(ctx, 0, 1, 2, 5, 6, 8, 9), g.came(ctx, false, 3, 4, 7)))
	// The selection has not blocked or lost any letter.
	if res, err = g.letters.Drop(ctx, redrive.Filter{All: true}, redrive.Options{}); err != nil {
		return err
	}
	return errors.Join(want("dropped", res.Done, 7), g.pending(ctx))
}

// redriveBehindMany takes a letter behind more of its key than a transport hands over at once.
func redriveBehindMany(ctx context.Context, env Env) error {
	const n = 24
	g, err := dig(ctx, env, n)
	if err != nil {
		return err
	}
	res, err := g.letters.Redrive(ctx, redrive.Filter{IDs: g.ids(n - 1)}, redrive.Options{})
	if err = errors.Join(err, want("redrove", res.Done, 1)); err != nil {
		return err
	}
	res, err = g.letters.Drop(ctx, redrive.Filter{All: true}, redrive.Options{})
	return errors.Join(err, want("dropped", res.Done, n-1), g.came(ctx, false, n-1))
}

func redriveDryRun(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	g := steps.Get(dig(ctx, env, 6))
	for range 2 {
		res, err := g.letters.Redrive(ctx, redrive.Filter{Type: "SeatHeld"}, redrive.Options{DryRun: true})
		if err = errors.Join(err, want("would redrive", res.Done, 6)); err != nil {
			return err
		}
	}
	steps.Get(g.letters.Show(ctx, g.events[5].UUID))
	return errors.Join(g.pending(ctx, every(6)...), g.came(ctx, false))
}

func redriveEdited(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	g := steps.Get(dig(ctx, env, 5))
	e := g.events[2]
	if err := g.letters.Edit(ctx, e.UUID, []byte("{}")); err == nil {
		return errors.New("an edit that is no event was accepted")
	}
	e.Payload = bytes.Replace(e.Payload, []byte(`"number":2`), []byte(`"number":200`), 1)
	steps.Do(g.letters.Edit(ctx, e.UUID, e.Payload))
	steps.Do(g.pending(ctx, every(5)...))
	shown := steps.Get(g.letters.Show(ctx, e.UUID))
	if shown.Edits != 1 || !bytes.Equal(shown.Payload, e.Payload) || shown.Error != "sold out" || shown.Group != g.group {
		return fmt.Errorf("after the edit it shows %+v", shown)
	}
	res, err := g.letters.Redrive(ctx, redrive.Filter{IDs: []string{e.UUID}}, redrive.Options{})
	if err = errors.Join(err, want("redrove", res.Done, 1)); err != nil {
		return err
	}
	return errors.Join(g.came(ctx, false, 2), g.pending(ctx, 0, 1, 3, 4))
}

func redriveDrop(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	g := steps.Get(dig(ctx, env, 6))
	res, err := g.letters.Drop(ctx, redrive.Filter{IDs: g.ids(1, 4)}, redrive.Options{})
	if err = errors.Join(err, want("dropped", res.Done, 2)); err != nil {
		return err
	}
	steps.Do(g.pending(ctx, 0, 2, 3, 5))
	if res, err = g.letters.Drop(ctx, redrive.Filter{All: true}, redrive.Options{}); err != nil {
		return err
	}
	return errors.Join(want("dropped", res.Done, 4), g.pending(ctx), g.came(ctx, false))
}

// redriveKilled ends a pass in its middle as a killed process does: its publishes and its
// acknowledgements no longer arrive.
func redriveKilled(ctx context.Context, env Env) (err error) {
	defer steps.End(&err)
	const n = 12
	g := steps.Get(dig(ctx, env, n))
	left := new(atomic.Int32)
	left.Store(2)
	l := steps.Get(g.open(bus.New("dying", dying{env.Bus.Driver(), left})))
	if _, err := l.Redrive(ctx, redrive.Filter{IDs: g.ids(2, 5, 9)}, redrive.Options{Rate: 10}); !errors.Is(err, errDied) {
		return fmt.Errorf("the pass that was to be killed ended with %v", err)
	}
	// The transport may need a while to notice that the process is gone; the next pass waits.
	for range 2 {
		res := steps.Get(g.letters.Redrive(ctx, redrive.Filter{All: true}, redrive.Options{}))
		if res.Complete {
			break
		}
	}
	return errors.Join(g.pending(ctx), g.came(ctx, true, every(n)...))
}

var errDied = errors.New("killed")

// dying is a driver in a process that is killed when it publishes more than a number of
// messages: neither that publish nor an acknowledgement arrives any more.
type dying struct {
	driver.Driver
	left *atomic.Int32
}

func (d dying) Lag(ctx context.Context) ([]bus.Lag, error) {
	if l, ok := d.Driver.(driver.Lagger); ok {
		return l.Lag(ctx)
	}
	return nil, errors.ErrUnsupported
}

func (d dying) Publisher() message.Publisher { return dyingPublisher{d.Driver.Publisher(), d} }

type dyingPublisher struct {
	message.Publisher
	dying
}

func (p dyingPublisher) Publish(topic string, messages ...*message.Message) error {
	for _, m := range messages {
		if p.left.Add(-1) < 0 {
			return errDied
		}
		if err := p.Publisher.Publish(topic, m); err != nil {
			return err
		}
	}
	return nil
}

func (p dyingPublisher) Close() error { return p.Publisher.Close() }

func (d dying) Source(ctx context.Context, topic, group string, window int) (driver.Source, error) {
	source, err := d.Driver.Source(ctx, topic, group, window)
	if err != nil {
		return nil, err
	}
	return dyingSource{source, d}, nil
}

type dyingSource struct {
	driver.Source
	dying dying
}

func (s dyingSource) Fetch(ctx context.Context, most int) ([]driver.Delivery, error) {
	deliveries, err := s.Source.Fetch(ctx, most)
	for i, d := range deliveries {
		deliveries[i] = dyingDelivery{d, s.dying}
	}
	return deliveries, err
}

// dyingDelivery passes its acknowledgement on while the process lives.
type dyingDelivery struct {
	driver.Delivery
	dying dying
}

func (d dyingDelivery) Done() {
	if d.dying.left.Load() >= 0 {
		d.Delivery.Done()
	}
}
