package natsbus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// errOvertaken reports that a key was written after the named revision.
var errOvertaken = errors.New("the key was written by another")

// again is the delay before a change is retried after another write: a replica may show old
// values for a moment.
var again = kit.Backoff{Initial: 2 * time.Millisecond, Max: 100 * time.Millisecond, Jitter: 0.5}

// makeBucket creates the KV bucket, which is a stream, if there is none.
func (l *link) makeBucket(ctx context.Context, replicas int) error {
	return l.do(ctx, func(ctx context.Context) error {
		_, err := l.js.KeyValue(ctx, string(l.names))
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			_, err = l.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
				Bucket: string(l.names), Description: "Millrace: cursors, leases and members", Storage: jetstream.FileStorage, Replicas: replicas,
			})
		}
		if errors.Is(err, jetstream.ErrBucketExists) { // with other settings, by another process
			return nil
		}
		return err
	})
}

// now is the time of the server that leads the bucket, which also notes when its keys
// were written.
func (l *link) now(ctx context.Context) (now time.Time, err error) {
	s, err := l.info(ctx, l.bucket(), "")
	return s.TimeStamp, err
}

// info is the server's description of a stream; it counts the messages of the subjects in
// the filter.
func (l *link) info(ctx context.Context, stream, filter string) (s jetstream.StreamInfo, err error) {
	err = l.api(ctx, "STREAM.INFO."+stream, map[string]string{"subjects_filter": filter}, &s)
	if isAPI(err, jetstream.JSErrCodeStreamNotFound) {
		err = jetstream.ErrStreamNotFound
	}
	return s, err
}

// api makes a request to JetStream and reads the answer into result.
func (l *link) api(ctx context.Context, subject string, request, result any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	return l.do(ctx, func(ctx context.Context) error {
		m, err := l.conn.RequestWithContext(ctx, "$JS.API."+subject, text)
		if err != nil {
			return err
		}
		var trouble stored
		if err := errors.Join(json.Unmarshal(m.Data, &trouble), json.Unmarshal(m.Data, result)); err != nil {
			return fmt.Errorf("the server answered %.200q to a request for %s: %w", m.Data, subject, err)
		}
		if trouble.Error != nil {
			return trouble.Error
		}
		return nil
	})
}

// read reads a key; a zero value and revision when there is none.
func read[T any](ctx context.Context, l *link, key string) (value T, of found, err error) {
	all, err := l.get(ctx, l.bucket(), query{Last: []string{l.stored(key)}, Batch: 1})
	if err != nil || len(all) == 0 {
		return value, found{}, err
	}
	value, err = decode[T](all[0])
	return value, all[0], err
}

func decode[T any](f found) (value T, err error) {
	if err = json.Unmarshal(f.Data, &value); err != nil {
		err = fmt.Errorf("the key %s cannot be read: %w", f.Header.Get("Nats-Subject"), err)
	}
	return value, err
}

// list reads all keys of a pattern.
func (l *link) list(ctx context.Context, pattern string) ([]found, error) {
	return l.get(ctx, l.bucket(), query{Last: []string{l.stored(pattern)}, Batch: mostRead})
}

// update writes a key whose last revision is known; 0 if there is none.
func update[T any](ctx context.Context, l *link, key string, value T, revision int64) (int64, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	m := &nats.Msg{Subject: l.stored(key), Data: text}
	var ack *jetstream.PubAck
	err = l.do(ctx, func(ctx context.Context) error {
		ack, err = l.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(uint64(revision)), jetstream.WithRetryAttempts(0))
		return err
	})
	if isAPI(err, jetstream.JSErrCodeStreamWrongLastSequence) {
		return 0, errOvertaken
	}
	if err != nil {
		return 0, err
	}
	return int64(ack.Sequence), nil
}

// change reads a key, changes it and writes it, and retries if it was written meanwhile.
// set receives the current value and when it was written.
func change[T any](ctx context.Context, l *link, key string, set func(have *T, was found) error) (value T, revision int64, err error) {
	for attempt := 1; ; attempt++ {
		value, was, err := read[T](ctx, l, key)
		if err == nil {
			err = set(&value, was)
		}
		if err != nil {
			return value, 0, err
		}
		revision, err = update(ctx, l, key, value, was.seq)
		if !errors.Is(err, errOvertaken) {
			return value, revision, err
		}
		if ended := kit.Sleep(ctx, again.Delay(attempt)); ended != nil {
			return value, 0, cmp.Or(ended, err)
		}
	}
}

// purge removes a subject's messages before a sequence; all of them for 0.
func (l *link) purge(ctx context.Context, stream, subject string, keep int64) (int, error) {
	var done struct {
		Purged int `json:"purged"`
	}
	err := l.api(ctx, "STREAM.PURGE."+stream, map[string]any{"filter": subject, "seq": keep}, &done)
	return done.Purged, err
}

// isAPI reports whether JetStream refused a request for that reason.
func isAPI(err error, code jetstream.ErrorCode) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && refused.ErrorCode == code
}
