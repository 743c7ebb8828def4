package inbox_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

// age makes notifications as old.
func (o *office) age(by time.Duration, ids ...string) {
	o.t.Helper()
	for _, id := range ids {
		o.Exec(o.t, `UPDATE notifications SET created_at = now_ms() - $2 WHERE notification_id = $1`, id, by.Milliseconds())
	}
}

func TestRetentionInSteps(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	lease, err := o.Store.TakeLease(t.Context(), "notification-retention", "test", time.Minute)
	require.NoError(t, err)
	all := o.reserved("ann", 12)
	kept := all[10:]
	o.age(inbox.Keep-time.Minute, kept...)
	o.age(inbox.Keep+time.Minute, all[:3]...)
	// The rest are of one moment, which a step may have to cut in two.
	for _, id := range all[3:10] {
		o.Exec(t, `UPDATE notifications SET created_at = 1000 WHERE notification_id = $1`, id)
	}
	if err := o.inbox.Read(t.Context(), "ann", all[5]); err != nil { // read or not
		t.Fatal(err)
	}
	left := 12
	for _, want := range []int{4, 4, 2, 0} {
		n, err := o.inbox.Retain(t.Context(), lease, 4)
		if n != want || err != nil {
			t.Fatalf("a step deleted %d, %v; want %d", n, err, want)
		}
		left -= want
		require.Len(t, o.list("ann"), left, "are")
		if left == 8 && !slices.Contains(ids(o.list("ann")), all[0]) {
			t.Error("the oldest are not deleted first")
		}
	}
	if got := ids(o.list("ann")); !slices.Equal(got, reversed(kept)) || o.inbox.Stats().Deleted != 10 {
		t.Errorf("kept %v, want %v; %+v", got, kept, o.inbox.Stats())
	}
}

func TestRetentionIsFenced(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	o.age(inbox.Keep+time.Minute, o.reserved("ann", 2)...)
	lost, err := o.Store.TakeLease(t.Context(), "notification-retention", "before", time.Millisecond)
	require.NoError(t, err)
	boxtest.WaitFor(t, "the lease to end", func() bool {
		_, err := o.Store.TakeLease(t.Context(), "notification-retention", "now", time.Minute)
		return err == nil
	})
	if n, err := o.inbox.Retain(t.Context(), lost, 10); n != 0 || !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("%d, %v", n, err)
	}
	assert.Len(t, o.list("ann"), 2, "are")
}

// By itself, in more than one step, and without the young ones.
func TestRetentionRuns(t *testing.T) {
	o := newOffice(t, inbox.Config{})
	young := o.reserved("ann", 1)
	for i := range 6 {
		o.Exec(t, `INSERT INTO notifications (notification_id, member_id, type, message, ref_id, created_at, position)
			SELECT seat_id || $1, 'ann', 'FOLLOW', 'old', 'x', 1000, 0 FROM seats WHERE show_id = 'show-1' AND position < 100`, string(rune('a'+i)))
	}
	was := len(o.list("ann"))
	o.run()
	boxtest.WaitFor(t, "the old ones to go", func() bool { return len(o.list("ann")) == 1 })
	if got := ids(o.list("ann")); !slices.Equal(got, young) || was < 500 {
		t.Errorf("%d were there, %v is left", was, got)
	}
	// The lease is returned at once: another process could continue.
	boxtest.WaitFor(t, "the lease", func() bool {
		_, err := o.Store.TakeLease(t.Context(), "notification-retention", "other", time.Minute)
		return err == nil
	})
}
