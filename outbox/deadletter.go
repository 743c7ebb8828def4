package outbox

import (
	"strconv"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/outbox/driver"
	"github.com/millrace-go/millrace/outbox/internal/headers"
)

// Metadata that a dead letter has in addition to the event's own: the names and values of
// package bus, so that one tool redrives both.
const (
	dlqOriginalTopic = "dlq_original_topic"
	dlqGroup         = "dlq_group" // "outbox"
	dlqReason        = "dlq_reason"
	dlqClass         = "dlq_class"
	dlqError         = "dlq_error"
	dlqAttempts      = "dlq_attempts"
	dlqFirstFailure  = "dlq_first_failure"
	dlqLastFailure   = "dlq_last_failure"
	dlqWorker        = "dlq_worker"
)

// refusals is how often the dead letter of an event may be refused. After that the event is
// parked without a dead letter, because the store keeps the event.
const refusals = 3

// bury publishes the dead letter of an event that is to be parked. An accepted dead letter is
// also evidence that the publisher works: a lone event, for which no other event can show this,
// is parked after its retries if its dead letter is accepted.
func (rd *round) bury(it *driver.Item, f *failure) {
	r := rd.s.r
	lone := r.cfg.MaxRetries > 0 && it.Attempts >= r.cfg.MaxRetries && !rd.barren
	if !f.spent && !lone {
		return
	}
	topic := r.cfg.DeadLetter(it.Topic)
	if topic == "" {
		return
	}
	tried := f.spent
	f.spent = false
	if rd.stop.Load() || !rd.s.term.Valid(time.Now()) {
		return // retry in the next round
	}
	returned, err := rd.call(laneContext{rd.s.msgs, rd.s.revoke}, it, topic, []*message.Message{rd.deadLetter(it, f)})
	if !returned {
		return
	}
	class := fault.Of(err, r.cfg.Classifiers...)
	switch {
	case err == nil:
		f.spent, f.retries = true, max(f.retries, it.Attempts)
		return
	case rd.s.msgs.Err() != nil:
		rd.stop.Store(true)
		return
	case class == fault.Infrastructure:
		rd.unreachable(it, err)
		return
	}
	f.refused++
	rd.barren = rd.barren || !tried
	if f.spent = tried && (class == fault.Permanent || f.refused >= refusals); f.spent {
		r.cfg.Logger.Error("outbox: the dead letter is refused; the event stays in the outbox alone",
			"shard", rd.s.id, "topic", topic, loggedAs(it), "error", err)
	}
}

// deadLetter returns a copy of the event's message, with the same id and the reason of the
// failure.
func (rd *round) deadLetter(it *driver.Item, f *failure) *message.Message {
	msg := message.NewMessage(it.MessageID, it.Payload)
	msg.SetContext(rd.s.msgs)
	var d headers.Decoder
	if err := d.Decode(msg.Metadata, it.Headers, it.Key); err != nil {
		msg.Metadata = message.Metadata{} // the headers are the reason of the failure
	}
	reason, class := "RETRIES_EXHAUSTED", fault.Transient
	if f.permanent {
		reason, class = "PERMANENT", fault.Permanent
	}
	for name, value := range map[string]string{
		dlqOriginalTopic: it.Topic,
		dlqGroup:         "outbox",
		dlqReason:        reason,
		dlqClass:         class.String(),
		dlqError:         bounded(f.err.Error()),
		dlqAttempts:      strconv.Itoa(it.Attempts + 1),
		dlqFirstFailure:  earliest(it.FailedSince, f.at).UTC().Format(time.RFC3339Nano),
		dlqLastFailure:   f.at.UTC().Format(time.RFC3339Nano),
		dlqWorker:        rd.s.r.cfg.Holder,
	} {
		msg.Metadata[name] = value
	}
	return msg
}

// bounded truncates an error's text to a size that brokers accept as a header.
func bounded(s string) string {
	const most = 4 << 10
	if s = strings.ToValidUTF8(s, "\uFFFD"); len(s) > most {
		s = strings.ToValidUTF8(s[:most-len("…")], "") + "…"
	}
	return s
}
