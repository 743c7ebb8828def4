package sse_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sse"
)

// recorder is a typical middleware's writer, which remembers the status.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) { r.status = status; r.ResponseWriter.WriteHeader(status) }

// open is a recorder that lets flushes through.
type open struct{ recorder }

func (o *open) Unwrap() http.ResponseWriter { return o.ResponseWriter }

func TestAWriterThatCannotFlushIsFoundBeforeTheFirstByte(t *testing.T) {
	wraps := map[string]func(http.Handler) http.Handler{
		"status recorder": func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(&recorder{ResponseWriter: w}, r) })
		},
		"TimeoutHandler": func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Minute, "late") },
		"open around closed": func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(&open{recorder{ResponseWriter: &recorder{ResponseWriter: w}}}, r)
			})
		},
	}
	for name, wrap := range wraps {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, lean bool) {
				var log bytes.Buffer
				s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				behind := httptest.NewServer(wrap(s))
				defer behind.Close()
				tab := dial(t, behind.URL+"?member=ann")
				assert.Equal(t, http.StatusInternalServerError, tab.status, "the status")
				if err := <-s.served; !errors.Is(err, sse.ErrUnflushable) || fault.Of(err) != fault.Permanent {
					t.Errorf("Serve returns %v", err)
				}
				tab.over()
				assert.Contains(t, log.String(), "Unwrap", "the log")
				if st := s.Stats(); st.Opened != 0 || st.Streams != 0 {
					t.Errorf("it took a place: %+v", st)
				}
			})
		})
	}
	t.Run("Unwrap", func(t *testing.T) {
		both(t, func(t *testing.T, lean bool) {
			s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean})
			behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s.ServeHTTP(&open{recorder{ResponseWriter: w}}, r)
			}))
			t.Cleanup(behind.Close)
			t.Cleanup(s.end)
			tab := dial(t, behind.URL+"?member=ann")
			must(t, s.ToMember(t.Context(), "ann", text("x")))
			tab.gets("x")
			tab.close()
		})
	})
}

// TestALeanStreamIsNotSaidToBeCompressed: a middleware may set the header before the handler
// runs, as gin's does where a client does not send Accept: text/event-stream. A lean stream is
// written past its compressor.
func TestALeanStreamIsNotSaidToBeCompressed(t *testing.T) {
	s := start(t, newCap(t), newBroker(t), sse.Config{Lean: true})
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Vary", "Accept-Encoding")
		s.ServeHTTP(&open{recorder{ResponseWriter: w}}, r)
	}))
	t.Cleanup(behind.Close)
	t.Cleanup(s.end)
	tab := dial(t, behind.URL+"?member=ann", "Accept-Encoding", "gzip")
	assert.Empty(t, tab.header.Get("Content-Encoding"))
	assert.Equal(t, "Accept-Encoding", tab.header.Get("Vary"))
	must(t, s.ToMember(t.Context(), "ann", text("x")))
	tab.gets("x")
	tab.close()
}
