package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
)

func TestHTTPBounds(t *testing.T) {
	var calls int
	big := strings.Repeat("x", 1001)
	m := newHTTP(t, memidempotency.NewLeases(), idempotency.HTTPConfig{MaxRequest: 1000, MaxResponse: 1000})
	h := m.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("X-Part", "1")
		w.WriteHeader(http.StatusCreated)
		for _, c := range []byte(r.Header.Get("X-Answer")) {
			_, _ = w.Write([]byte{c})
		}
	}))
	refused(t, "a large body", request{"POST", "/", "ann", "k", big}.send(h), http.StatusRequestEntityTooLarge, "too-large")
	unknown := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader(big))) // no Content-Length
	unknown.Header.Set("Idempotency-Key", "k")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, unknown)
	refused(t, "a large body of unknown length", w, http.StatusRequestEntityTooLarge, "too-large")
	cut := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("x"), broken{}))
	cut.Header.Set("Idempotency-Key", "k")
	w = httptest.NewRecorder()
	h.ServeHTTP(w, cut)
	refused(t, "a body that breaks off", w, http.StatusBadRequest, "invalid-request")
	require.Equal(t, 0, calls, "a refused request reached the handler")

	send := func(key, answer string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Idempotency-Key", key)
		r.Header.Set("X-Answer", answer)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if w := send("fits", big[:1000]); w.Code != 201 || w.Body.Len() != 1000 {
		t.Errorf("a response that fits: %d, %d bytes", w.Code, w.Body.Len())
	}
	if w := send("fits", big[:1000]); w.Code != 201 || w.Body.Len() != 1000 || w.Header().Get("Idempotency-Replayed") == "" {
		t.Errorf("its replay: %d, %d bytes", w.Code, w.Body.Len())
	}
	if w := send("large", big); w.Code != 201 || w.Body.String() != big || w.Header().Get("X-Part") != "1" {
		t.Errorf("a response that is too large to keep: %d, %d bytes, %v", w.Code, w.Body.Len(), w.Header())
	}
	refused(t, "its repetition", send("large", big), http.StatusConflict, "response-not-kept")
	assert.Equal(t, 2, calls, "calls")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// away is a lease store that is unreachable.
type away struct{ driver.LeaseStore }

var errAway = errors.New("postgres://u:secret@db is away")

func (away) Claim(context.Context, driver.Record, time.Duration) (idempotency.Claim, error) {
	return idempotency.Claim{}, errAway
}

func TestHTTPStoreAway(t *testing.T) {
	p := &pay{}
	var log bytes.Buffer
	h := newHTTP(t, away{}, idempotency.HTTPConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Middleware(p)
	w := request{"POST", "/", "ann", "k", ""}.send(h)
	refused(t, "the store is away", w, http.StatusServiceUnavailable, "unavailable")
	if w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "secret") || p.calls.Load() != 0 || !strings.Contains(log.String(), "is away") {
		t.Errorf("%v %s, %d calls, log %s", w.Header(), w.Body, p.calls.Load(), &log)
	}
	// The store is unreachable only when the response should be kept: the client gets the
	// response.
	log.Reset()
	store := shaky{memidempotency.NewLeases(), func(call string) error { return errAway }}
	h = newHTTP(t, store, idempotency.HTTPConfig{Finish: 20 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}).Middleware(p)
	if w := (request{"POST", "/", "ann", "k", "b"}).send(h); w.Code != 200 || !strings.Contains(w.Body.String(), `"call":1`) || log.Len() == 0 {
		t.Errorf("a response that could not be kept: %d %s, log %s", w.Code, w.Body, &log)
	}
	// The outcome is unknown, so the key stays taken until the deadline.
	refused(t, "its repetition", request{"POST", "/", "ann", "k", "b"}.send(h), http.StatusConflict, "idempotency-key-in-use")
}
