package ops_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

// The groups of the consumers are listed, and reset while they have no members; groups
// of other programs on the transport are neither.
func TestGroups(t *testing.T) {
	d := newDesk(t, nil)
	said := text(t)
	require.NoError(t, d.bus.Declare(t.Context(),
		bus.Topic{Name: events.Payments, Groups: []string{events.GroupSold}}, bus.Topic{Name: "other.events", Groups: []string{"other"}}))
	for _, topic := range []string{events.Payments, "other.events"} {
		require.NoError(t, d.bus.Publisher().Publish(topic, message.NewMessage("1", []byte("x"))))
	}
	standing := func(lag int, live bool) string {
		return fmt.Sprintf(`{"topic":%q,"group":%q,"lag":%d,"live":%t}`, events.Payments, events.GroupSold, lag, live)
	}
	if all := said(d.ops.Groups(t.Context())); !strings.Contains(all, standing(1, false)) || strings.Contains(all, "other") {
		t.Errorf("the groups are %s", all)
	}
	moved := func(dry bool, again, skipped int) string {
		return fmt.Sprintf(`{"topic":%q,"group":%q,"dryRun":%t,"again":%d,"skipped":%d}`, events.Payments, events.GroupSold, dry, again, skipped)
	}
	for _, c := range []struct {
		reset ops.Reset
		want  string
	}{
		{ops.Reset{Latest: true, DryRun: true}, moved(true, 0, 1)},
		{ops.Reset{Latest: true}, moved(false, 0, 1)},
		{ops.Reset{}, moved(false, 1, 0)},
	} {
		assert.Equalf(t, c.want, said(d.ops.ResetGroup(t.Context(), events.Payments, events.GroupSold, c.reset)), "%+v", c.reset)
	}
	for _, other := range [][2]string{{"other.events", "other"}, {events.Payments, "nobody"}} {
		if _, err := d.ops.ResetGroup(t.Context(), other[0], other[1], ops.Reset{}); !errors.Is(err, ops.ErrNoGroup) {
			t.Errorf("a reset of %v says %v", other, err)
		}
	}

	sub, err := d.bus.Subscriber(events.GroupSold, bus.SubscriberConfig{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer sub.Close()
	messages, err := sub.Subscribe(t.Context(), events.Payments)
	require.NoError(t, err)
	<-messages
	assert.Contains(t, said(d.ops.Groups(t.Context())), standing(1, true), "with a member the groups")
	if _, err := d.ops.ResetGroup(t.Context(), events.Payments, events.GroupSold, ops.Reset{}); !errors.Is(err, bus.ErrGroupLive) {
		t.Errorf("a reset of a group with a member says %v", err)
	}
}
