package kafkabus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver/kit"
)

// request sends the cluster a request, for requestTimeout at most, and returns when ctx or
// the driver ends. It retries while the brokers tell each other of a new topic, while
// leaders move, and while the coordinator of a group loads its state.
//
// The goroutine is for a broker that accepts connections and stays silent: until a
// connection is made, franz-go waits for it without the context. The goroutine ends soon after.
func request[T any](ctx context.Context, d *driver, ask func(context.Context) (T, error)) (answer T, err error) {
	bounded, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return answer, err
	}
	type result struct {
		answer T
		err    error
	}
	done := make(chan result, 1)
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return answer, bus.ErrClosed
	}
	d.calls.Go(func() {
		answer, err := repeated(bounded, ask)
		done <- result{answer, err}
	})
	d.mu.Unlock()
	var r result
	select {
	case r = <-done:
	case <-bounded.Done():
		r.err = bounded.Err()
	case <-d.client.Context().Done():
	}
	switch {
	case d.client.Context().Err() != nil:
		return answer, bus.ErrClosed
	case errors.Is(r.err, context.DeadlineExceeded) && ctx.Err() == nil:
		r.err = fmt.Errorf("no answer within %v: %w", requestTimeout, r.err)
	case errors.Is(r.err, io.EOF):
		r.err = fmt.Errorf("a broker closed the connection, as it does when it refuses a password or expects tls=true: %w", r.err)
	}
	r.err = kit.UntrustedHint(r.err, strings.Join(d.set.brokers, ","), "?ca=")
	return r.answer, r.err
}

func repeated[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		answer, err := ask(ctx)
		if !unsettled(err) || kit.Sleep(ctx, again.Delay(attempt)) != nil {
			return answer, err
		}
	}
}

// unsettled reports whether the cluster is changing, and asking again helps.
func unsettled(err error) bool {
	return isKerror(err, kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.LeaderNotAvailable, kerr.NotLeaderForPartition,
		kerr.ReplicaNotAvailable, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.OffsetNotAvailable, kerr.KafkaStorageError,
		kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator)
}
