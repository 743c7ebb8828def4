package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

const deadPayments = "dlq.payment"

// bury puts n dead letters of one consumer into the topic and returns their ids.
func (d *desk) bury(t *testing.T, n int) (ids []string) {
	t.Helper()
	for i := range n {
		e, err := event.New(events.PaymentSuccess, "/test", map[string]int{"n": i})
		require.NoError(t, err)
		e.ID, e.AggregateID = fmt.Sprint("letter-", i), fmt.Sprint("user-", i%2)
		m, err := event.Structured{}.Encode(e)
		require.NoError(t, err)
		for k, v := range map[string]string{
			driver.DLQOriginalTopic: events.Payments, driver.DLQGroup: events.GroupSold, driver.DLQReason: bus.ReasonPermanent, driver.DLQClass: "permanent",
			driver.DLQError: "no such seat", driver.DLQAttempts: "1", driver.DLQFirstFailure: "2026-01-02T03:04:05Z", driver.DLQLastFailure: "2026-01-02T03:04:06Z",
		} {
			m.Metadata.Set(k, v)
		}
		require.NoError(t, d.bus.Publisher().Publish(deadPayments, m))
		ids = append(ids, e.ID)
	}
	return ids
}

// text is an answer as the API sends it.
func text(t *testing.T) func(answer any, err error) string {
	return func(answer any, err error) string {
		t.Helper()
		require.NoError(t, err)
		b, err := json.Marshal(answer)
		require.NoError(t, err)
		return string(b)
	}
}

// delivered is how many messages wait for a consumer of payments.
func (d *desk) delivered(t *testing.T) int {
	t.Helper()
	waiting, err := d.bus.Pending(t.Context(), events.Payments, events.GroupSold, 1000)
	require.NoError(t, err)
	return len(waiting)
}

func holds(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		assert.Containsf(t, text, w, "%s lacks %s", what, w)
	}
}

func TestDeadLetters(t *testing.T) {
	d := sound(t)
	d.run(t)
	ids := d.bury(t, 6)
	is := text(t)
	list := func(pending int) string {
		t.Helper()
		got := is(d.ops.DeadLetters(t.Context(), deadPayments, 0))
		holds(t, "the list", got, fmt.Sprintf(`"topic":"dlq.payment","pending":%d,`, pending), `"complete":true`)
		return got
	}
	holds(t, "the list", list(6), `{"id":"letter-0","type":"PaymentSuccess","key":"user-0","originalTopic":"payment.events","group":"event-payment-consumer",`+
		`"reason":"PERMANENT","class":"permanent","error":"no such seat","attempts":1,"redrives":0,"edits":0,"at":"2026-01-02T03:04:06Z"}`)
	holds(t, "a short list", is(d.ops.DeadLetters(t.Context(), deadPayments, 2)), `"pending":6`, `"id":"letter-1"`)
	holds(t, "the report", is(d.ops.ReportNow(t.Context())), `"topic":"dlq.payment","count":6,"recent":[{"id":"letter-5"`)
	d.reports(t, `"topic":"dlq.payment","count":6,"recent":[{"id":"letter-5"`)
	if got := broken(d.audit(t)); len(got) != 1 || got[0] != "no-dead-letters" {
		t.Errorf("with dead letters broken are %v", got)
	}

	detail := is(d.ops.DeadLetter(t.Context(), deadPayments, ids[1]))
	holds(t, "the letter", detail, `"id":"letter-1"`, `"firstFailure":"2026-01-02T03:04:05Z"`, `\"n\":1`, `"encoding":"utf-8"`, `"dlq_group":"event-payment-consumer"`, `"eventError":""`)

	dry := is(d.ops.RedriveDeadLetters(t.Context(), deadPayments, ops.Selection{All: true, DryRun: true}))
	holds(t, "a dry run", dry, `"dryRun":true`, `"done":6`, `"more":false`)
	holds(t, "a dry run", is(d.ops.DropDeadLetters(t.Context(), deadPayments, ops.Selection{IDs: ids[:2], DryRun: true})), `"done":2`)
	list(6)

	holds(t, "a redrive", is(d.ops.RedriveDeadLetters(t.Context(), deadPayments, ops.Selection{IDs: []string{ids[3]}})), `"done":1`, `"failed":[]`)
	holds(t, "a drop", is(d.ops.DropDeadLetters(t.Context(), deadPayments, ops.Selection{IDs: []string{ids[4]}})), `"done":1`)
	list(4)
	holds(t, "the rest", is(d.ops.RedriveDeadLetters(t.Context(), deadPayments, ops.Selection{All: true})), `"pending":4`, `"done":4`, `"complete":true`)
	list(0)
	assert.Equal(t, 5, d.delivered(t), "events are back in their topic")
	holds(t, "the report", is(d.ops.ReportNow(t.Context())), `"topic":"dlq.payment","count":0,"recent":[]`)
	d.reports(t, `"topic":"dlq.payment","count":0,"recent":[]`)
	if got := broken(d.audit(t)); len(got) != 1 || got[0] != "consumers-drained" {
		t.Errorf("after the redrive broken are %v", got)
	}

	if _, err := d.ops.DeadLetters(t.Context(), "dlq.other", 0); !errors.Is(err, ops.ErrNoTopic) {
		t.Errorf("of a topic that nobody has: %v", err)
	}
	for what, err := range map[string]error{
		"show":    second(d.ops.DeadLetter(t.Context(), deadPayments, "nobody")),
		"redrive": second(d.ops.RedriveDeadLetters(t.Context(), deadPayments, ops.Selection{IDs: []string{"nobody"}})),
		"drop":    second(d.ops.DropDeadLetters(t.Context(), deadPayments, ops.Selection{IDs: []string{"nobody"}})),
		"edit":    d.ops.EditDeadLetter(t.Context(), deadPayments, "nobody", []byte("x")),
	} {
		assert.ErrorIsf(t, err, redrive.ErrNotFound, "%s of a letter that is not there", what)
	}
	if _, err := d.ops.RedriveDeadLetters(t.Context(), deadPayments, ops.Selection{}); err == nil || !strings.Contains(err.Error(), "the filter is empty") {
		t.Errorf("a redrive of nothing by name: %v", err)
	}
}

func second(_ any, err error) error { return err }

func TestEditDeadLetter(t *testing.T) {
	d := newDesk(t, nil)
	ids := d.bury(t, 2)
	is := text(t)
	var shown struct{ Payload string }
	require.NoError(t, json.Unmarshal([]byte(is(d.ops.DeadLetter(t.Context(), deadPayments, ids[1]))), &shown))
	assert.ErrorIs(t, d.ops.EditDeadLetter(t.Context(), deadPayments, ids[1], []byte(`{}`)), redrive.ErrPayload, "what is no event is taken")
	edited := strings.Replace(shown.Payload, `"n":1`, `"n":100`, 1)
	require.NoError(t, d.ops.EditDeadLetter(t.Context(), deadPayments, ids[1], []byte(edited)))
	holds(t, "the edited letter", is(d.ops.DeadLetter(t.Context(), deadPayments, ids[1])), `\"n\":100`, `"edits":1`)

	require.NoError(t, d.bus.Publisher().Publish(deadPayments, message.NewMessage("bytes", []byte{0xff, 0x00})))
	holds(t, "a letter that is no text", is(d.ops.DeadLetter(t.Context(), deadPayments, "bytes")), `"payload":"/wA="`, `"encoding":"base64"`, `"eventError":"`)
	holds(t, "a letter that says no topic", is(d.ops.RedriveDeadLetters(t.Context(), deadPayments, ops.Selection{IDs: []string{"bytes"}})),
		`"done":0`, `"failed":[{"id":"bytes","error":"redrive: the letter does not say`)
}

// A pass that takes longer than a request may reports that; the next call goes on,
// and skips letters that have failed again.
func TestPassGoesOn(t *testing.T) {
	d := newDesk(t, func(c *ops.Config) { c.PassTime = 300 * time.Millisecond })
	d.bury(t, 12)
	is := text(t)
	type pass struct {
		Done   int
		More   bool
		Before time.Time
	}
	run := func(s ops.Selection) (p pass) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(is(d.ops.RedriveDeadLetters(t.Context(), deadPayments, s))), &p))
		return p
	}
	first := run(ops.Selection{All: true, Rate: 10})
	if !first.More || first.Done == 12 || first.Before.IsZero() {
		t.Fatalf("the first call: %+v", first)
	}
	again := message.NewMessage("failed-again", []byte("x"))
	again.Metadata = message.Metadata{driver.DLQOriginalTopic: events.Payments, driver.DLQLastFailure: time.Now().UTC().Format(time.RFC3339Nano)}
	require.NoError(t, d.bus.Publisher().Publish(deadPayments, again))
	done, calls := first.Done, 1
	for p := first; p.More; calls++ {
		p = run(ops.Selection{All: true, Rate: 40, Before: p.Before})
		if done += p.Done; calls > 20 {
			t.Fatal("it never ends")
		}
	}
	if done != 12 || d.delivered(t) != 12 {
		t.Errorf("%d letters were redriven in %d calls, %d arrived, want 12", done, calls, d.delivered(t))
	}
	holds(t, "what is left", is(d.ops.DeadLetters(t.Context(), deadPayments, 0)), `"pending":1,`, `"id":"failed-again"`)
}

func TestOnePassAtATime(t *testing.T) {
	d := newDesk(t, func(c *ops.Config) { c.PassTime = time.Hour })
	ids := d.bury(t, 100)
	running := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		_, err := d.ops.RedriveDeadLetters(ctx, deadPayments, ops.Selection{All: true, Rate: 20})
		running <- err
	}()
	for d.delivered(t) == 0 { // it has begun
		select {
		case err := <-running:
			t.Fatalf("the pass is over: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	for what, err := range map[string]error{
		"redrive": second(d.ops.RedriveDeadLetters(t.Context(), deadPayments, ops.Selection{All: true})),
		"drop":    second(d.ops.DropDeadLetters(t.Context(), deadPayments, ops.Selection{All: true})),
		"edit":    d.ops.EditDeadLetter(t.Context(), deadPayments, ids[99], []byte("x")),
	} {
		assert.ErrorIsf(t, err, ops.ErrPass, "%s beside a pass", what)
	}
	_, err := d.ops.DeadLetter(t.Context(), deadPayments, ids[99])
	assert.NoError(t, err, "a letter cannot be shown beside a pass")
	stop()
	assert.ErrorIs(t, <-running, context.Canceled)
}
