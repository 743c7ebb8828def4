package idempotencytest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/internal/steps"
)

// httpHerd: a hundred requests with one key arrive at once, at two instances. One has the
// effect; the others get its response, or a Retry-After.
func httpHerd(ctx context.Context, h LeaseHarness) (err error) {
	defer steps.End(&err)
	const herd = 100
	var effects, begun, answered atomic.Int32
	met := make(chan struct{})
	meet := sync.OnceFunc(func() { close(met) })
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		// Others arrive meanwhile: half of them are answered, or a second one is at work.
		if begun.Add(1) > 1 {
			meet()
		}
		select {
		case <-met:
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "payment %d", effects.Add(1)) // to a buffer
	})
	var instances []http.Handler
	for _, s := range []driver.LeaseStore{h.Store, h.Peer} {
		m := steps.Get(idempotency.NewHTTP(s, idempotency.HTTPConfig{
			Scope: func(*http.Request) string { return "ann" }, Logger: slog.New(slog.DiscardHandler),
		}))
		instances = append(instances, m.Middleware(handler))
	}
	send := func(i int) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/payments", strings.NewReader(`{"amount":5}`))
		r.Header.Set("Idempotency-Key", "herd")
		w := httptest.NewRecorder()
		instances[i%2].ServeHTTP(w, r)
		if answered.Add(1) == herd/2 {
			meet()
		}
		return w
	}
	var first, replayed, running atomic.Int32
	judge := func(w *httptest.ResponseRecorder) error {
		body := w.Body.String()
		switch {
		case w.Code == http.StatusConflict && w.Header().Get("Retry-After") != "":
			running.Add(1)
		case w.Code == http.StatusCreated && body == "payment 1" && w.Header().Get("Idempotency-Replayed") != "":
			replayed.Add(1)
		case w.Code == http.StatusCreated && body == "payment 1":
			first.Add(1)
		default:
			return fmt.Errorf("a request of the herd was answered with %d %.200s", w.Code, body)
		}
		return nil
	}
	errs := make([]error, herd)
	var wg sync.WaitGroup
	for i := range herd {
		wg.Go(func() { errs[i] = judge(send(i)) })
	}
	wg.Wait()
	steps.Do(errors.Join(errs...))
	if effects.Load() != 1 || first.Load() != 1 || replayed.Load()+running.Load() != herd-1 {
		return fmt.Errorf("%d effects, %d first responses, %d replays and %d told to come back; want one effect and one first",
			effects.Load(), first.Load(), replayed.Load(), running.Load())
	}
	before := replayed.Load()
	steps.Do(judge(send(1)))
	if replayed.Load() != before+1 {
		return errors.New("after the herd a request was not answered with the kept response")
	}
	return nil
}
