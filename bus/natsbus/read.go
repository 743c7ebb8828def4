package natsbus

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
)

// The limits of one read, beyond its first message. A server also lists no more keys than
// that: it fails instead.
const (
	mostRead  = 1024
	readBytes = 4 << 20
)

// query is a request of JetStream's Direct Get: messages of subjects from a sequence or a
// time on, or the last message of each subject.
type query struct {
	Seq      int64      `json:"seq,omitempty"`
	Subject  string     `json:"next_by_subj,omitempty"`
	Last     []string   `json:"multi_last,omitempty"`
	Batch    int        `json:"batch,omitempty"`
	MaxBytes int        `json:"max_bytes,omitempty"`
	From     *time.Time `json:"start_time,omitempty"`
}

// found is a message of a stream, and how many of the query come after it.
type found struct {
	*nats.Msg
	seq, after int64
	at         time.Time
}

func (f found) subject() string { return f.Header.Get(jetstream.SubjectHeader) }

// get reads the messages of a query. Servers send them without further requests, and each
// names the message sent before it. Messages behind one that was lost on the way are left out.
func (s *store) get(ctx context.Context, stream string, q query) (all []found, err error) {
	q.Batch = min(q.Batch, mostRead)
	request, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	last, broken := int64(0), false
	err = s.exchange(ctx, q.Batch+2, func(inbox string) error {
		return s.conn.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox+".r", request)
	}, func(m *nats.Msg) (bool, error) {
		switch status := status(m); status {
		case "":
		case "404", "204": // there is none; this is the end
			return true, nil
		default:
			return true, fmt.Errorf("read of %s: the server answered %s %s", stream, status, m.Header.Get("Description"))
		}
		f := found{Msg: m}
		f.seq, err = strconv.ParseInt(m.Header.Get(jetstream.SequenceHeader), 10, 64)
		if err == nil {
			f.at, err = time.Parse(time.RFC3339Nano, m.Header.Get(jetstream.TimeStampHeaer))
		}
		if err != nil {
			return true, fmt.Errorf("read of %s: the server sent a message without its place: %w", stream, err)
		}
		f.after, _ = strconv.ParseInt(m.Header.Get("Nats-Num-Pending"), 10, 64) //nolint:errcheck // a single message has none
		if before := m.Header.Get("Nats-Last-Sequence"); before != "" && before != strconv.FormatInt(last, 10) {
			broken = true
		}
		if last = f.seq; !broken {
			all = append(all, f)
		}
		return q.Batch == 0, nil
	})
	return all, err
}

// Read implements logdriver.Log. An entry may be of any writer.
func (s *store) Read(ctx context.Context, lane int, after logdriver.Position, max int) ([]logdriver.Entry, logdriver.Position, error) {
	p := s.lanes.Partition(lane)
	found, err := s.get(ctx, s.stream(p.Topic), query{Seq: after.ID + 1, Subject: s.subject(p.Topic, p.N), Batch: max, MaxBytes: readBytes})
	if err != nil {
		return nil, after, err
	}
	entries := make([]logdriver.Entry, len(found))
	for i, f := range found {
		after.ID = f.seq
		entries[i] = logdriver.Entry{
			ID: f.seq, Lane: lane, Position: after, CreatedAt: f.at, Payload: f.Data, Headers: linesOf(f.Header),
			MessageID: cmp.Or(f.Header.Get(idHeader), strconv.FormatInt(f.seq, 10)),
		}
	}
	return entries, after, nil
}

// newest is Newest of logdriver.Parts.
func (s *store) newest(ctx context.Context, lane, limit int) (all []logdriver.Entry, err error) {
	info, err := s.info(ctx, s.stream(s.lanes.Partition(lane).Topic))
	if err != nil {
		return nil, err
	}
	// Sequences belong to other partitions, or are empty: the search goes back until it has
	// enough.
	first, last := int64(info.State.FirstSeq), int64(info.State.LastSeq)
	for back := int64(limit); ; back *= 2 {
		from := max(first, last-back+1)
		all = all[:0]
		for at, more := (logdriver.Position{ID: from - 1}), true; more; {
			var some []logdriver.Entry
			if some, at, err = s.Read(ctx, lane, at, mostRead); err != nil {
				return nil, err
			}
			all, more = append(all, some...), len(some) > 0
		}
		if len(all) >= limit || from <= first {
			return all, nil
		}
	}
}

// Backlog implements logdriver.Log. The server counts.
func (s *store) Backlog(ctx context.Context, c logdriver.Cursor, lanes, limit int) (int, time.Time, error) {
	return logdriver.EachBacklog(c, lanes, func(c logdriver.Cursor) (int, time.Time, error) {
		at, _, err := s.Place(ctx, c)
		if err != nil {
			return 0, time.Time{}, err
		}
		p := s.lanes.Partition(c.Lane)
		next, err := s.get(ctx, s.stream(p.Topic), query{Seq: at.ID + 1, Subject: s.subject(p.Topic, p.N), Batch: 1})
		if err != nil || len(next) == 0 {
			return 0, time.Time{}, err
		}
		return min(int(next[0].after)+1, limit), next[0].at, nil
	})
}

// Prune implements logdriver.Log. The server removes all messages before a sequence in one
// step, so the limit is not needed.
func (s *store) Prune(ctx context.Context, lane int, before time.Time, _ int) (int, error) {
	p := s.lanes.Partition(lane)
	stream, subject := s.stream(p.Topic), s.subject(p.Topic, p.N)
	info, err := s.info(ctx, stream)
	if err != nil {
		return 0, err
	}
	keep := int64(info.State.LastSeq) + 1
	young, err := s.get(ctx, stream, query{From: &before, Subject: subject})
	if err != nil {
		return 0, err
	}
	if len(young) > 0 {
		keep = min(keep, young[0].seq)
	}
	cursors, err := list[cursor](ctx, s, s.cursor(p.Topic, p.N, "*"), mostRead)
	if err != nil {
		return 0, err
	}
	for _, c := range cursors {
		keep = min(keep, c.value.in(info.Created)+1)
	}
	if keep <= int64(info.State.FirstSeq) {
		return 0, nil
	}
	return s.purge(ctx, stream, subject, keep)
}
