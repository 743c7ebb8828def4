package natsbus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/fault"
)

// again is the delay before a change is retried after another write: a replica may show old
// values for a moment.
var again = kit.Backoff{Initial: 2 * time.Millisecond, Max: 100 * time.Millisecond, Jitter: 0.5}

// makeBucket creates the KV bucket if there is none: a stream with the settings that NATS's
// own tools give to a bucket.
func (s *store) makeBucket(ctx context.Context) error {
	return s.create(ctx, jetstream.StreamConfig{
		Name: s.bucket(), Subjects: []string{"$KV." + string(s.names) + ".>"}, Description: "Millrace: cursors, leases and members",
		Storage: jetstream.FileStorage, Replicas: s.replicas, MaxMsgsPerSubject: 1,
		Discard: jetstream.DiscardNew, AllowDirect: true, AllowRollup: true, DenyDelete: true,
	})
}

// create creates a stream, unless another process has done it. A stream that JetStream does not
// accept stays unacceptable.
func (s *store) create(ctx context.Context, cfg jetstream.StreamConfig) error {
	err := s.do(ctx, func(ctx context.Context) error {
		_, err := s.js.CreateStream(ctx, cfg)
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		return nil
	case isBadRequest(err) && !isAPI(err, tooFewServers):
		return fault.MarkPermanent(err)
	}
	return err
}

// info is the server's description of a stream; it lists the subjects in the filter.
func (s *store) info(ctx context.Context, stream string, filter ...jetstream.StreamInfoOpt) (info *jetstream.StreamInfo, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		found, err := s.js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		if info = found.CachedInfo(); len(filter) > 0 {
			info, err = found.Info(ctx, filter...)
		}
		return err
	})
	return info, err
}

// kept is a key of the bucket with its value: seq is its revision, and at when it was written, by
// the clock of the server that leads the bucket. A key that does not exist is zero.
type kept[T any] struct {
	found
	value T
}

// list reads up to most keys whose subjects match.
func list[T any](ctx context.Context, s *store, subject string, most int) ([]kept[T], error) {
	found, err := s.get(ctx, s.bucket(), query{Last: []string{subject}, Batch: most})
	if err != nil {
		return nil, err
	}
	all := make([]kept[T], len(found))
	for i, f := range found {
		all[i].found = f
		if err := json.Unmarshal(f.Data, &all[i].value); err != nil {
			return nil, fmt.Errorf("the key %s cannot be read: %w", f.subject(), err)
		}
	}
	return all, nil
}

// change reads a key, lets set change the value, and writes it under the revision that was read;
// it retries if the key was written in between. known is the key as the caller wrote it last: it
// saves the first read.
func change[T any](ctx context.Context, s *store, subject string, known kept[T], set func(*kept[T]) error) (have kept[T], err error) {
	for attempt := 1; ; attempt++ {
		if have = known; attempt > 1 || known.seq == 0 {
			all, err := list[T](ctx, s, subject, 1)
			if err != nil {
				return have, err
			}
			if have = (kept[T]{}); len(all) > 0 {
				have = all[0]
			}
		}
		if err = set(&have); err != nil {
			return have, err
		}
		text, err := json.Marshal(have.value)
		if err != nil {
			return have, err
		}
		err = s.do(ctx, func(ctx context.Context) error {
			ack, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: text},
				jetstream.WithExpectLastSequencePerSubject(uint64(have.seq)), jetstream.WithRetryAttempts(0))
			if err == nil {
				have.seq = int64(ack.Sequence)
			}
			return err
		})
		if !isAPI(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
			return have, err
		}
		if err := kit.Sleep(ctx, again.Delay(attempt)); err != nil {
			return have, err
		}
	}
}

// purge removes a subject's messages before a sequence, all of them for 0, and returns their
// number, which the client leaves out.
func (s *store) purge(ctx context.Context, stream, subject string, before int64) (int, error) {
	var answer struct {
		Purged int                 `json:"purged"`
		Error  *jetstream.APIError `json:"error"`
	}
	request, err := json.Marshal(map[string]any{"filter": subject, "seq": before})
	if err != nil {
		return 0, err
	}
	err = s.do(ctx, func(ctx context.Context) error {
		m, err := s.conn.RequestWithContext(ctx, "$JS.API.STREAM.PURGE."+stream, request)
		if err == nil {
			err = json.Unmarshal(m.Data, &answer)
		}
		if err == nil && answer.Error != nil {
			err = answer.Error
		}
		return err
	})
	return answer.Purged, err
}
