package outboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/outbox"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/sqltx"
)

func atomic(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	boom := errors.New("boom")
	for i := range 3 {
		err := h.InTx(ctx, func(ctx context.Context, tx sqltx.Execer) error {
			e, err := NewEvent("rolled back", i+1)
			if err != nil {
				return err
			}
			if err := w.box.Append(ctx, tx, e); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(err, boom) {
			return fmt.Errorf("the transaction returned %v, want the function's error", err)
		}
		steps.Do(w.write(ctx, "kept"))
	}
	p := &Publisher{}
	steps.Do(drain(ctx, h, p, quick()))
	return errors.Join(w.once(p.Published()), w.close(ctx))
}

func faithful(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	box := steps.Get(outbox.New(h.Store, outbox.Config{Encode: event.Binary{}.Encode}))
	events := make([]event.Event, 3)
	for i, key := range []string{"", "a key", "ключ \"'<&"} {
		if events[i], err = NewEvent(key, i+1); err != nil {
			return err
		}
		events[i].DataContentType = "application/octet-stream"
		events[i].Data = []byte{0, 1, 0xff, byte(i), '\n', '\\'}
	}
	events[2].Data = nil
	want := map[string]event.Event{}
	for _, e := range events {
		want[e.ID] = e
	}
	err = h.InTx(ctx, func(ctx context.Context, tx sqltx.Execer) error {
		return errors.Join(box.AppendTo(ctx, tx, "one", events[0]), box.AppendTo(ctx, tx, "two", events[1:]...))
	})
	if err != nil {
		return err
	}
	p := &Publisher{}
	steps.Do(drain(ctx, h, p, quick()))
	got := p.Published()
	if len(got) != len(want) {
		return fmt.Errorf("%d messages were published, want %d", len(got), len(want))
	}
	for _, g := range got {
		e := want[g.Message.UUID]
		msg := steps.Get(event.Binary{}.Encode(e))
		topic := "two"
		if e.ID == events[0].ID {
			topic = "one"
		}
		switch {
		case g.Topic != topic:
			return fmt.Errorf("event of %q went to topic %q, want %q", e.Key(), g.Topic, topic)
		case !bytes.Equal(g.Message.Payload, msg.Payload):
			return fmt.Errorf("payload of %q is %q, want %q", e.Key(), g.Message.Payload, msg.Payload)
		case !maps.Equal(g.Message.Metadata, msg.Metadata):
			return fmt.Errorf("metadata of %q is %v, want %v", e.Key(), g.Message.Metadata, msg.Metadata)
		}
	}
	return box.Close(ctx)
}

func invalid(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	good := steps.Get(NewEvent("good", 1))
	bad := good
	bad.ID, bad.Type = "the-bad-one", ""
	var appended error
	err = h.InTx(ctx, func(ctx context.Context, tx sqltx.Execer) error {
		appended = w.box.Append(ctx, tx, good, bad)
		return nil // the caller ignores the error
	})
	if err != nil {
		return err
	}
	if appended == nil || !strings.Contains(appended.Error(), "the-bad-one") {
		return fmt.Errorf("appending an invalid event returned %v, want an error that names it", appended)
	}
	p := &Publisher{}
	steps.Do(drain(ctx, h, p, quick()))
	if n := len(p.Published()); n != 0 {
		return fmt.Errorf("%d events of a refused Append were published", n)
	}
	return nil
}

func orderPerKey(ctx context.Context, h Harness) error {
	w, err := newWriter(h)
	if err != nil {
		return err
	}
	p := &Publisher{}
	names := keys(15, "k")
	err = with(ctx, h, p, quick(), func() error {
		for i := range 20 {
			if err := w.write(ctx, names[i%5:]...); err != nil {
				return err
			}
		}
		return p.WaitFor(ctx, len(w.all))
	})
	return errors.Join(err, w.once(p.Published()), w.close(ctx))
}

func manyShards(ctx context.Context, h Harness) error {
	n, err := h.Store.Shards(ctx)
	if err != nil || n != 4 {
		return fmt.Errorf("Shards returned %d, %v; want 4", n, err)
	}
	return orderPerKey(ctx, h)
}

func manyInOne(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	w := steps.Get(newWriter(h))
	names := keys(40, "k")
	var many []string
	for range 50 {
		many = append(many, names...)
	}
	steps.Do(w.write(ctx, many...))
	p := &Publisher{}
	cfg := quick()
	cfg.MinBatch, cfg.MaxBatch = 7, 333 // batches that end at odd positions
	steps.Do(drain(ctx, h, p, cfg))
	return errors.Join(w.once(p.Published()), w.close(ctx))
}

func shardsFixed(ctx context.Context, h Harness) (err error) {
	defer steps.End(&err)
	if h.Reopen == nil {
		return fmt.Errorf("%w: the store has no configured number of shards (Harness.Reopen is nil)", errNotApplicable)
	}
	w := steps.Get(newWriter(h))
	steps.Do(w.write(ctx, "a"))
	other := steps.Get(h.Reopen(3))
	if _, err := other.Shards(ctx); !errors.Is(err, driver.ErrShards) {
		return fmt.Errorf("Shards with another number returned %v, want ErrShards", err)
	}
	relay := steps.Get(outbox.NewRelay(other, &Publisher{}, quick()))
	if err := relay.Run(ctx); !errors.Is(err, driver.ErrShards) {
		return fmt.Errorf("Run with another number returned %v, want ErrShards", err)
	}
	v := steps.Get(newWriter(Harness{Store: other, InTx: h.InTx}))
	if err := v.write(ctx, "b"); !errors.Is(err, driver.ErrShards) {
		return fmt.Errorf("Append with another number returned %v, want ErrShards", err)
	}
	return errors.Join(w.close(ctx), v.close(ctx))
}
