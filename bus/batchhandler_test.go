package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

func TestHandleBatch(t *testing.T) {
	view := func(id, typ string) *message.Message {
		e, err := event.New(typ, "shop", map[string]string{"show": id})
		require.NoError(t, err)
		e.AggregateID = id
		m, err := event.Structured{}.Encode(e)
		require.NoError(t, err)
		return m
	}
	in := []*message.Message{keyed("no event", 1), view("1", "Viewed"), view("2", "Liked"), view("3", "Viewed"), view("4", "Viewed")}
	timeout := errors.New("timeout")
	for name, c := range map[string]struct {
		fail func(bus.BatchError)
		err  error
		want map[int]error
	}{
		"all done":        {want: map[int]error{}},
		"one named":       {fail: func(e bus.BatchError) { e[1] = timeout }, want: map[int]error{3: timeout}},
		"the whole":       {err: timeout, want: map[int]error{1: timeout, 3: timeout, 4: timeout}},
		"one too many":    {fail: func(e bus.BatchError) { e[3] = timeout }, want: nil},
		"one and all":     {err: errors.Join(bus.BatchError{0: errors.New("invalid")}, timeout), want: map[int]error{1: timeout, 3: timeout, 4: timeout}},
		"one, wrapped":    {err: fmt.Errorf("views: %w", errors.Join(bus.BatchError{1: timeout})), want: map[int]error{3: timeout}},
		"nobody is named": {fail: func(e bus.BatchError) { e[1] = nil }, want: map[int]error{}},
	} {
		t.Run(name, func(t *testing.T) {
			h := bus.HandleBatch(func(_ context.Context, events []event.Event) error {
				var got []string
				for _, e := range events {
					got = append(got, e.AggregateID)
				}
				assert.Equalf(t, "[1 3 4]", fmt.Sprint(got), "events %v, want 1 3 4", got)
				if c.fail != nil {
					failed := bus.BatchError{}
					c.fail(failed)
					return failed.OrNil()
				}
				return c.err
			}, "Viewed")
			err := h(t.Context(), in)
			var failed bus.BatchError
			require.Truef(t, errors.As(err, &failed), "got %v", err)
			if c.want == nil {
				assert.Errorf(t, failed[3], "an index beyond the batch was taken for another: %v", failed)
				if fault.Of(failed[0]) != fault.Permanent || failed[1] == nil || failed[4] == nil {
					t.Errorf("an index beyond the batch let other messages pass: %v", failed)
				}
				return
			}
			if first := failed[0]; fault.Of(first) != fault.Permanent {
				t.Errorf("what is no event: %v", first)
			}
			for i := 1; i < len(in); i++ {
				assert.ErrorIsf(t, failed[i], c.want[i], "message %d", i)
			}
		})
	}
	var failed bus.BatchError
	if err := bus.HandleBatch(func(context.Context, []event.Event) error { return timeout })(t.Context(), in[1:]); !errors.Is(err, timeout) {
		t.Errorf("an error of the whole batch: %v", err)
	} else if errors.As(err, &failed) {
		t.Errorf("an error of the whole batch came as %v", failed)
	}
}

func TestBatchConsumerErrors(t *testing.T) {
	for want, c := range map[string]bus.BatchConsumer{
		"Topic is empty":           {Group: "g", Handler: nothing},
		"Group is empty":           {Topic: "t", Handler: nothing},
		"Handler is nil":           {Topic: "t", Group: "g"},
		"Size is -1":               {Topic: "t", Group: "g", Handler: nothing, Size: -1},
		"Window is 50, below Size": {Topic: "t", Group: "g", Handler: nothing, Window: 50},
		"Concurrency is -2":        {Topic: "t", Group: "g", Handler: nothing, Concurrency: -2},
	} {
		r, err := bus.NewRunner(memBus(t), bus.RunnerConfig{})
		require.NoError(t, err)
		if err := r.Add(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
