package natsbus

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"

	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/fault"
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

// get reads the messages of a query. Servers send them without further requests, and each
// names the message sent before it. Messages behind one that was lost on the way are left out.
func (l *link) get(ctx context.Context, stream string, q query) (all []found, err error) {
	q.Batch = min(q.Batch, mostRead)
	request, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	last, broken := int64(0), false
	err = l.exchange(ctx, q.Batch+2, func(inbox string) error {
		return l.conn.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox+".r", request)
	}, func(m *nats.Msg) (bool, error) {
		switch status := status(m); status {
		case "":
		case "404", "204": // there is none; this is the end
			return true, nil
		default:
			return true, fault.MarkInfrastructure(fmt.Errorf("read of %s: the server answered %s %s", stream, status, m.Header.Get("Description")))
		}
		f := found{Msg: m}
		f.seq, err = strconv.ParseInt(m.Header.Get(placeHeader), 10, 64)
		if err == nil {
			f.at, err = time.Parse(time.RFC3339Nano, m.Header.Get("Nats-Time-Stamp"))
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

// Read implements logdriver.Log.
func (l *streamLog) Read(ctx context.Context, lane int, after logdriver.Position, max int) ([]logdriver.Entry, logdriver.Position, error) {
	p := l.registry.partition(lane)
	found, err := l.get(ctx, l.stream(p.topic), query{
		Seq: after.ID + 1, Subject: l.subject(p.topic, p.number), Batch: max, MaxBytes: readBytes,
	})
	if err != nil {
		return nil, after, err
	}
	entries := make([]logdriver.Entry, len(found))
	for i, f := range found {
		after.ID = f.seq
		entries[i] = entryOf(f)
		entries[i].Lane, entries[i].Position = lane, after
	}
	return entries, after, nil
}

// entryOf reads an entry of any writer.
func entryOf(f found) logdriver.Entry {
	return logdriver.Entry{
		ID: f.seq, CreatedAt: f.at, Payload: f.Data, Headers: linesOf(f.Header),
		MessageID: cmp.Or(f.Header.Get(idHeader), strconv.FormatInt(f.seq, 10)),
	}
}

// Backlog implements logdriver.Log. The server counts.
func (l *streamLog) Backlog(ctx context.Context, c logdriver.Cursor, lanes, limit int) (int, time.Time, error) {
	return logdriver.EachBacklog(c, lanes, func(c logdriver.Cursor) (int, time.Time, error) {
		at, err := l.directory.position(ctx, c)
		if err != nil {
			return 0, time.Time{}, err
		}
		p := l.registry.partition(c.Lane)
		next, err := l.get(ctx, l.stream(p.topic), query{Seq: at + 1, Subject: l.subject(p.topic, p.number), Batch: 1})
		if err != nil || len(next) == 0 {
			return 0, time.Time{}, err
		}
		return min(int(next[0].after)+1, limit), next[0].at, nil
	})
}

// Prune implements logdriver.Log. The server removes all messages before a sequence in one
// step, so the limit is not needed.
func (l *streamLog) Prune(ctx context.Context, lane int, before time.Time, _ int) (int, error) {
	p := l.registry.partition(lane)
	stream, subject := l.stream(p.topic), l.subject(p.topic, p.number)
	s, err := l.directory.find(ctx, p.topic)
	if err != nil {
		return 0, err
	}
	keep := int64(s.State.LastSeq) + 1
	young, err := l.get(ctx, stream, query{From: &before, Subject: subject})
	if err != nil {
		return 0, err
	}
	if len(young) > 0 {
		keep = min(keep, young[0].seq)
	}
	cursors, err := l.list(ctx, cursorKey(p, "*"))
	if err != nil {
		return 0, err
	}
	for _, f := range cursors {
		c, err := decode[cursor](f)
		if err != nil {
			return 0, err
		}
		keep = min(keep, c.place(s.Created)+1)
	}
	if keep <= int64(s.State.FirstSeq) {
		return 0, nil
	}
	return l.purge(ctx, stream, subject, keep)
}

// collect reads up to max messages of a topic from a sequence on, in as many requests as
// necessary.
func (l *streamLog) collect(ctx context.Context, topic, subject string, from int64, max int) (all []found, err error) {
	for len(all) < max {
		some, err := l.get(ctx, l.stream(topic), query{Seq: from, Subject: subject, Batch: max - len(all), MaxBytes: readBytes})
		if err != nil || len(some) == 0 {
			return all, err
		}
		all = append(all, some...)
		from = some[len(some)-1].seq + 1
	}
	return all, nil
}

// newest reads the newest messages of all partitions.
func (l *streamLog) newest(ctx context.Context, topic string, limit int) ([]found, error) {
	s, err := l.directory.find(ctx, topic)
	if err != nil {
		return nil, err
	}
	first, last := int64(s.State.FirstSeq), int64(s.State.LastSeq)
	// Some sequences are empty: the search goes back until it has enough.
	for back := int64(limit); ; back *= 2 {
		from := max(first, last-back+1)
		all, err := l.collect(ctx, topic, l.subjects(topic), from, int(last-from)+1)
		if err != nil || len(all) >= limit || from == first {
			return all[max(0, len(all)-limit):], err
		}
	}
}

// messagesOf returns the messages as they were published. A message is worth showing even
// without its metadata.
func messagesOf(all []found) []*message.Message {
	out := make([]*message.Message, len(all))
	for i, f := range all {
		e := entryOf(f)
		out[i] = message.NewMessage(e.MessageID, e.Payload)
		out[i].Metadata, _ = headers{}.Decode(e.Headers) //nolint:errcheck // see above
	}
	return out
}
