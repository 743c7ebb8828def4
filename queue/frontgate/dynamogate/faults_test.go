package dynamogate_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/queue/frontgate/driver"
	"github.com/millrace-go/millrace/queue/frontgate/dynamogate"
)

// all makes each call, for half a second at most.
func all(ctx context.Context, s driver.TableStore) map[string]error {
	errs := map[string]error{}
	for name, call := range map[string]func(ctx context.Context) error{
		"assign":  func(ctx context.Context) error { _, err := s.Assign(ctx, "show-1", 1); return err },
		"state":   func(ctx context.Context) error { _, err := s.State(ctx, "show-1"); return err },
		"advance": func(ctx context.Context) error { _, err := s.Advance(ctx, "show-1", 1, time.Second); return err },
		"switch":  func(ctx context.Context) error { _, err := s.Switch(ctx, "show-1", true); return err },
		"events":  func(ctx context.Context) error { _, err := s.Events(ctx); return err },
	} {
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		errs[name] = call(ctx)
		cancel()
	}
	return errs
}

// A server that refuses connections, one that never answers, one that throttles,
// and one that fails: each call fails in time, as infrastructure.
func TestAway(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone.Close()
	answering := func(status int, kind string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"no"}`, kind)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	for what, endpoint := range map[string]string{
		"silent":      "http://" + silent.Addr().String(),
		"gone":        "http://" + gone.Addr().String(),
		"throttled":   answering(400, "ProvisionedThroughputExceededException"),
		"throttled 2": answering(400, "ThrottlingException"),
		"broken":      answering(500, "InternalServerError"),
		"unavailable": answering(503, "ServiceUnavailable"),
		"forbidden":   answering(400, "AccessDeniedException"),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for name, err := range all(t.Context(), newStore(t, open(t, endpoint), dynamogate.Config{})) {
				if fault.Of(err) != fault.Infrastructure {
					t.Errorf("%s: %v is %s", name, err, fault.Of(err))
				}
			}
		})
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		want fault.Class
	}{
		{nil, fault.Unclassified},
		{context.Canceled, fault.Unclassified},
		{context.DeadlineExceeded, fault.Infrastructure},
		{&smithy.GenericAPIError{Code: "ValidationException"}, fault.Permanent},
		{fmt.Errorf("x: %w", &smithy.GenericAPIError{Code: "ValidationException"}), fault.Permanent},
		{&smithy.GenericAPIError{Code: "ThrottlingException"}, fault.Infrastructure},
		{&smithy.GenericAPIError{Code: "ResourceNotFoundException"}, fault.Infrastructure},
		{errors.New("read: connection reset"), fault.Infrastructure},
	} {
		if got := dynamogate.Classify(c.err); got != c.want {
			t.Errorf("%v is %s, want %s", c.err, got, c.want)
		}
	}
}

// Processes whose clocks are apart make one round each period, in any order.
func TestClocksApart(t *testing.T) {
	client := open(t, servicetest.DynamoDB(t))
	cfg := tables(t, client)
	m := &moment{now: time.Date(2100, 3, 1, 12, 0, 0, 0, time.UTC)}
	const every = 10 * time.Second
	var stores []driver.TableStore
	for _, ahead := range []time.Duration{0, time.Second, -time.Second, dynamogate.Blur/2 - time.Millisecond, -dynamogate.Blur/2 + time.Millisecond} {
		s := newStore(t, client, cfg)
		dynamogate.Clocked(s, func() time.Time { return m.get().Add(ahead) })
		stores = append(stores, s)
	}
	ctx := t.Context()
	require.NoError(t, stores[0].CreateTables(ctx))
	_, err := stores[0].Switch(ctx, "show-1", true)
	require.NoError(t, err)
	_, err = stores[0].Assign(ctx, "show-1", 1000)
	require.NoError(t, err)
	for first := range stores {
		var all sync.WaitGroup
		moved := make(chan int64, 2*len(stores))
		for _, i := range []int{first, 0, 1, 2, 3, 4} {
			r, err := stores[i].Advance(ctx, "show-1", 5, every)
			require.NoError(t, err)
			moved <- r.Moved
		}
		for _, s := range stores[1:] {
			all.Go(func() {
				r, err := s.Advance(ctx, "show-1", 5, every)
				if err != nil {
					t.Error(err)
					return
				}
				moved <- r.Moved
			})
		}
		all.Wait()
		close(moved)
		sum := int64(0)
		for n := range moved {
			sum += n
		}
		assert.EqualValuesf(t, 5, sum, "in the period that process %d begins, rounds of 5 raised by %d", first, sum)
		m.move(every + dynamogate.Blur)
	}
}

// The time comes from the server's answers, not from this process.
func TestServerTime(t *testing.T) {
	const ahead = 50 * time.Hour
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprint(w, `{}`)
	}))
	t.Cleanup(server.Close)
	s := newStore(t, open(t, server.URL), dynamogate.Config{})
	before := time.Now()
	state, err := s.State(t.Context(), "show-1")
	require.NoError(t, err)
	if got := state.Now.Sub(before); got < ahead-time.Minute || got > ahead+time.Minute {
		t.Errorf("the server's clock is %s ahead, and the store's %s", ahead, got)
	}
	// The real server sends a Date too.
	real, _, _ := fresh(t)
	if state, err = real.State(t.Context(), "show-1"); err != nil || time.Until(state.Now).Abs() > time.Minute {
		t.Errorf("%+v, %v", state, err)
	}
}

func TestNew(t *testing.T) {
	if _, err := dynamogate.New(nil, dynamogate.Config{}); err == nil {
		t.Error("a nil client was accepted")
	}
	client := dynamodb.New(dynamodb.Options{Region: "local"})
	for _, bad := range []dynamogate.Config{{Counters: "a b"}, {Positions: "x"}, {Counters: "same", Positions: "same"}, {Audit: -1}, {Audit: time.Millisecond}} {
		if _, err := dynamogate.New(client, bad); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
