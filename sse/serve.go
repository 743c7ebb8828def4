package sse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sse/driver"
)

// Stream describes the stream of a request.
type Stream struct {
	// Member is the stream's member; 1 to 256 bytes. The caller has to authenticate it.
	Member string
	// Token is an opaque id of the tab, the same when it comes back; at most 128
	// bytes. A tab that was evicted gets no stream by its token for a lifetime. One
	// that comes back before its old connection was noticed to be dead takes its
	// place. Without a token, each request counts as another tab, and the client
	// has to act on the `evicted` event.
	Token string
	// Address is the key that Config.PerAddress counts by, such as the network of
	// the client; at most 128 bytes. "" is not counted.
	Address string
	// Rooms are the rooms of the member.
	Rooms []string
	// Muted holds back the events of Config.Muted.
	Muted bool
	// OnlyIfFree opens the stream only if it evicts no other: for a tab that was
	// evicted and would like a place that has become free.
	OnlyIfFree bool
	// Replay reads the missed events of the client; nil when none are stored.
	Replay Replayer
}

// Serve answers a request with a stream. It returns when the stream has ended, or
// with Config.Lean when the stream goes on without it. The request has been
// answered in any case: the error says why there was no stream, and is nil for a
// stream that has ended for any reason.
//
// A tab that was evicted is answered 204, after which an EventSource stops, and so is
// one with OnlyIfFree that finds no free place. While the Cap is unreachable an
// EventSource gets a stream of one `fallback` event with Config.Inbox and comes back
// by itself, and others get 503 with Retry-After. Where the ResponseWriter cannot
// flush the answer is 500, and the class of the error [fault.Permanent]. A HEAD gets
// the head of a stream, and opens none.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, st Stream) error {
	if err := st.validate(); err != nil {
		http.Error(w, "the stream cannot be opened", http.StatusBadRequest)
		return err
	}
	if !flushes(w) && !(h.mayHijack(r) && has[http.Hijacker](w)) {
		return h.unflushable(w)
	}
	if r.Method == http.MethodHead {
		streamHeader(w.Header())
		w.WriteHeader(http.StatusOK)
		return nil
	}
	s, err := h.open(r, st)
	switch {
	case errors.Is(err, ErrFull):
		h.stats.evictions.Add(1)
		w.WriteHeader(http.StatusNoContent)
		return err
	case err != nil:
		h.stats.outages.Add(1)
		h.refuse(w, r)
		return err
	}
	if h.mayHijack(r) {
		if taken, err := h.serveLean(w, r, s); taken {
			return err
		}
	}
	return h.servePortable(w, r, s)
}

func (st Stream) validate() error {
	if err := checkName("member", st.Member); err != nil {
		return err
	}
	if len(st.Token) > driver.MaxToken {
		return invalid("a stream's token has %d bytes; give at most %d", len(st.Token), driver.MaxToken)
	}
	if len(st.Address) > driver.MaxToken {
		return invalid("a stream's address has %d bytes; give at most %d", len(st.Address), driver.MaxToken)
	}
	for _, room := range st.Rooms {
		if err := checkName("room", room); err != nil {
			return err
		}
	}
	return nil
}

// open registers a stream: first with this process, holding back its live events,
// and then in the Cap, so that it misses neither an event nor its own eviction.
func (h *Hub) open(r *http.Request, st Stream) (*stream, error) {
	held, err := h.leased()
	if err != nil {
		return nil, err
	}
	id := held.instance + "." + strconv.FormatInt(h.number.Add(1), 36)
	token := id
	if st.Token != "" { // a part of the request, as the member is, of which the rest is not kept
		token = strings.Clone(st.Token)
	}
	s := &stream{
		hub:    h,
		conn:   driver.Conn{Member: strings.Clone(st.Member), ID: id, Token: token},
		replay: st.Replay, muted: st.Muted, address: strings.Clone(st.Address),
		expires: time.Since(h.made) + h.cfg.lifetime(),
		wheelAt: -1,
		holding: true,
		cursors: h.cursorsOf(r),
		away:    r.Context().Done(),
	}
	s.since = s.stands()
	// The last events of the client may have been replayed, and be published only
	// now.
	for i, seen := range s.cursors {
		if seen != "" {
			s.recent = append(s.recent, h.key(h.cfg.Cursors[i], seen))
		}
	}
	if err := h.audience.add(s, st.Rooms, held.generation); err != nil {
		return nil, err
	}
	h.stats.opened.Add(1)
	// For a client that leaves now, the calls take no longer than their timeouts. The
	// request's context would keep its cancellation data as long as the stream lives.
	ctx := context.WithoutCancel(r.Context())
	opened, err := h.register(ctx, held, s, st.OnlyIfFree)
	if err != nil {
		s.end(endedRefused, nil)
		refused := errors.Is(err, driver.ErrEvicted) || errors.Is(err, ErrFull)
		h.close(s, !refused)
		switch {
		case errors.Is(err, ErrFull):
			return nil, ErrFull
		case refused:
			return nil, errEvicted
		}
		h.stats.storeErrors.Add(1)
		return nil, unavailable(fmt.Errorf("open: %w", err))
	}
	h.stats.ghosts.Add(int64(opened.Ghosts))
	h.stats.victims.Add(int64(len(opened.Evicted)))
	h.disconnect(ctx, opened)
	return s, nil
}

// disconnect tells the instances of the victims. An instance that misses the
// message finds out with the next ping.
func (h *Hub) disconnect(ctx context.Context, opened driver.Opened) {
	for _, victims := range [...][]driver.Conn{opened.Replaced, opened.Evicted} {
		for _, victim := range victims {
			if s := h.audience.connection(victim.ID); s != nil {
				s.end(endedEvicted, []byte(evictedFrame))
				continue
			}
			if err := h.publish(ctx, driver.Message{Kind: driver.Disconnect, To: victim.Member, Arg: victim.ID}); err != nil {
				h.cfg.Logger.Warn("sse: an eviction could not be told", "error", err)
			}
		}
	}
}

// close removes a stream; every way out comes here. registered says that there may
// be an entry in the Cap.
func (h *Hub) close(s *stream, registered bool) {
	s.mu.Lock()
	if s.ended == 0 {
		s.ended = endedGone
	}
	why := s.ended
	s.pending, s.recent = nil, nil
	s.forgetHeld()
	s.forgetTraced()
	s.mu.Unlock()
	h.wheel.remove(s)
	if registered {
		h.stats.leftOver.Add(int64(h.closer.add(s.conn)))
	}
	h.audience.remove(s, func() { h.stats.ended[why].Add(1) })
}

// unflushable answers requests whose stream would not reach its client.
func (h *Hub) unflushable(w http.ResponseWriter) error {
	err := fault.MarkPermanent(fmt.Errorf("%w: %T has neither Flush nor Unwrap; "+
		"serve streams outside the middleware that wraps it, or give its writer the method Unwrap() http.ResponseWriter", errUnflushable, w))
	h.cfg.Logger.Error("sse: no stream can be served", "error", err)
	http.Error(w, "the stream cannot be opened", http.StatusInternalServerError)
	return err
}

// flushes says whether http.ResponseController can flush.
func flushes(w http.ResponseWriter) bool {
	return has[http.Flusher](w) || has[interface{ FlushError() error }](w)
}

// has looks for a method where http.ResponseController looks.
func has[T any](w http.ResponseWriter) bool {
	for {
		if _, ok := w.(T); ok {
			return true
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = inner.Unwrap()
	}
}

// refuse answers while there are no streams.
func (h *Hub) refuse(w http.ResponseWriter, r *http.Request) {
	after := h.cfg.spread()
	header := w.Header()
	if h.cfg.Browser(r) {
		streamHeader(header)
		w.WriteHeader(http.StatusOK)
		// A client that has left by now needs no answer.
		_, _ = w.Write(fallbackFrame(after, h.cfg.Inbox))
		return
	}
	header.Set("Retry-After", strconv.Itoa(int((after+time.Second-1)/time.Second)))
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = fmt.Fprintf(w, `{"type":"about:blank","title":"Streams are not available","status":503,"inbox":%s}`+"\n", quote(h.cfg.Inbox))
}

// The header values of all streams.
var (
	contentType  = []string{"text/event-stream"}
	cacheControl = []string{"no-cache, no-transform"}
	noBuffering  = []string{"no"}
	keepAlive    = []string{"keep-alive"}
)

func streamHeader(header http.Header) {
	header["Content-Type"] = contentType
	header["Cache-Control"] = cacheControl
	header["X-Accel-Buffering"] = noBuffering
}
