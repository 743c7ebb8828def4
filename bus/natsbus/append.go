package natsbus

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/fault"
)

// The limits of one batch, beyond its first message: a server drops messages that arrive
// faster than it can store them.
const (
	batchEntries = 1000
	batchBytes   = 4 << 20
)

// append is logdriver.Backend.Append for entries of one topic. It sends them in one batch of
// JetStream, so that the server stores the messages in order, and nothing behind one that it does
// not store; more than fit go in several, one after the other.
func (s *store) append(ctx context.Context, entries []logdriver.Entry) error {
	rest := make([]*nats.Msg, len(entries))
	for i, e := range entries {
		m := s.message(e)
		if e.MessageID != "" && !fits(e.MessageID) {
			return fault.MarkPermanent(fmt.Errorf("the message's id %.80q is no header of NATS; give one without control characters, and without spaces at its ends", e.MessageID))
		}
		if m.Size() > int(s.conn.MaxPayload()) {
			return fault.MarkPermanent(fmt.Errorf("message %s has %d bytes with its metadata: %w, which is %d; raise max_payload on the server, or publish less",
				e.MessageID, m.Size(), nats.ErrMaxPayload, s.conn.MaxPayload()))
		}
		rest[i] = m
	}
	for len(rest) > 0 {
		batch := rest[:logdriver.Chunk(rest, batchEntries, batchBytes, (*nats.Msg).Size)]
		err := s.send(ctx, batch)
		if isGone(err) {
			known, _ := s.lanes.Topic(entries[0].Topic)
			if _, lost := s.made(ctx, known); lost == nil {
				err = s.send(ctx, batch) // no stream existed that could have stored it
			}
		}
		if err != nil {
			return err
		}
		rest = rest[len(batch):]
	}
	return nil
}

// send sends a batch and waits until the server has stored it. Each message's reply
// subject contains its number in the batch. The token before that is the batch's id, by
// which the server tells batches of a stream apart: the inbox's own, which no other has.
func (s *store) send(ctx context.Context, batch []*nats.Msg) error {
	const start, more, commit = 0, 1, 2
	var trouble error
	// The server answers to each message at most once, and twice to the first and the last.
	return s.exchange(ctx, len(batch)+2, func(inbox string) error {
		for i, m := range batch {
			op := more
			switch i {
			case len(batch) - 1:
				op = commit
			case 0:
				op = start
			}
			m.Reply = fmt.Sprintf("%s.%d.fail.%d.%d.$FI", inbox, batchEntries, i+1, op)
			if err := s.conn.PublishMsg(m); err != nil {
				return err
			}
		}
		return nil
	}, func(m *nats.Msg) (last bool, err error) {
		var answer struct {
			Type  string              `json:"type"` // while set, the answer reports progress only
			Count int                 `json:"count"`
			Error *jetstream.APIError `json:"error"`
		}
		if err := json.Unmarshal(m.Data, &answer); err != nil {
			return false, fmt.Errorf("the server answered %.200q to a batch: %w", m.Data, err)
		}
		if answer.Error != nil {
			trouble = answer.Error
		}
		switch {
		case answer.Type != "":
			return false, nil
		case trouble == nil && answer.Count < len(batch):
			trouble = fault.MarkInfrastructure(fmt.Errorf("the server stored %d of %d messages; the rest did not reach it", answer.Count, len(batch)))
		}
		return true, trouble
	})
}

// message is an entry on the wire: Watermill's form for NATS.
func (s *store) message(e logdriver.Entry) *nats.Msg {
	m := &nats.Msg{Subject: s.subject(e.Topic, s.lanes.Partition(e.Lane).N), Data: e.Payload, Header: nats.Header{idHeader: {e.MessageID}}}
	for line := range strings.Lines(e.Headers) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		m.Header[name] = []string{value}
	}
	return m
}
