package redrive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/event"
)

func TestFilters(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		special := dead(t, "special", "OrderPaid")
		for k, v := range map[string]string{driver.DLQOriginalTopic: "payments", driver.DLQGroup: "mailer", driver.DLQReason: "API_4XX",
			driver.DLQLastFailure: "2026-03-02T10:00:00Z"} {
			special.Metadata.Set(k, v)
		}
		bury(t, b, "1")
		publish(t, b, dlt, special)
		bury(t, b, "2")
		day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
		l := letters(t, b)
		for want, f := range map[string]redrive.Filter{
			"[special]": {Type: "OrderPaid"}, " [special]": {Reason: "API_4XX"}, "  [special]": {Group: "mailer"},
			"[special] ": {OriginalTopic: "payments"}, "[special]  ": {Since: day}, " [special] ": {All: true, IDs: []string{"special"}},
			"[1 2]": {Until: day}, " [1 2]": {Type: "OrderPlaced", Group: "billing"}, "[]": {IDs: []string{}},
			"[1 special 2]": {}, "[] ": {Type: "OrderPaid", Group: "billing"},
		} {
			got, err := l.List(t.Context(), f, 0)
			require.NoError(t, err)
			ids := []string{}
			for _, l := range got.Letters {
				ids = append(ids, l.ID)
			}
			is(t, fmt.Sprintf("%+v", f), fmt.Sprint(ids), strings.TrimSpace(want))
			if !got.Complete || got.Pending != 3 {
				t.Errorf("%+v: complete %t, pending %d", f, got.Complete, got.Pending)
			}
		}
		for _, change := range []func(context.Context, redrive.Filter, redrive.Options) (redrive.Result, error){l.Redrive, l.Drop} {
			if _, err := change(t.Context(), redrive.Filter{}, redrive.Options{}); err == nil || !strings.Contains(err.Error(), "the filter is empty") {
				t.Errorf("an empty filter: %v", err)
			}
			if res, err := change(t.Context(), redrive.Filter{IDs: []string{}}, redrive.Options{}); err != nil || res.Done != 0 {
				t.Errorf("no ids: %+v %v", res, err)
			}
		}
		is(t, "pending", pending(t, b), "1 special 2")
	})
}

func TestListSettlesNothing(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, numbers(1, 5)...)
		publish(t, b, dlt, dead(t, "2", "OrderPlaced")) // twice in the topic, as after a crash
		l := letters(t, b)
		for range 3 {
			is(t, "pending", pending(t, b), "1 2 3 4 5")
			got, err := l.List(t.Context(), redrive.Filter{}, 2)
			if err != nil || len(got.Letters) != 2 || got.Complete {
				t.Errorf("with a limit: %d letters, complete %t, %v", len(got.Letters), got.Complete, err)
			}
			res, err := l.Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{DryRun: true})
			require.NoError(t, err)
			is(t, "dry run", summary(res), "seen 6 matched 5 done 5 duplicates 0 moved 0 failed 0 complete true")
		}
		is(t, "original topic", delivered(t, b), "")
		res, err := l.Redrive(t.Context(), redrive.Filter{All: true}, redrive.Options{})
		require.NoError(t, err)
		is(t, "result", summary(res), "seen 6 matched 5 done 5 duplicates 1 moved 0 failed 0 complete true")
		is(t, "original topic", delivered(t, b), "1 2 3 4 5")
	})
}

func TestShow(t *testing.T) {
	each(t, func(t *testing.T, b *bus.Bus) {
		bury(t, b, "1", "2")
		foreign := message.NewMessage("foreign", []byte("{"))
		publish(t, b, dlt, foreign)
		l := letters(t, b)
		got, err := l.Show(t.Context(), "2")
		require.NoError(t, err)
		if got.ID != "2" || got.OriginalTopic != "orders" || got.Group != "billing" || got.Reason != bus.ReasonExhausted || got.Class != "transient" ||
			got.Error != "timeout" || got.Stack != "main.go:1" || got.Attempts != 4 || got.Worker != "w-1" || got.Redrives != 0 ||
			got.LastFailure.Sub(got.FirstFailure) != 7500*time.Millisecond || got.Type != "OrderPlaced" || got.Event.AggregateID != "key" ||
			got.Metadata["custom"] != "header of 2" || !strings.Contains(string(got.Payload), `"of":"2"`) {
			t.Errorf("got %+v", got)
		}
		if got, err = l.Show(t.Context(), "foreign"); err != nil || got.Event != nil || !errors.Is(got.EventError, event.ErrNotEvent) || got.OriginalTopic != "" {
			t.Errorf("what is no event: %+v %v", got, err)
		}
		if _, err = l.Show(t.Context(), "3"); !errors.Is(err, redrive.ErrNotFound) || !strings.Contains(err.Error(), "3 in orders.DLT") {
			t.Errorf("an unknown id: %v", err)
		}
		is(t, "pending", pending(t, b), "1 2 foreign")
	})
}
