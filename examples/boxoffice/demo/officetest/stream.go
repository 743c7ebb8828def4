package officetest

import (
	"net/http"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// streams are the live streams of the members.
type streams struct {
	*trouble
	community *community
	cut       func(*http.Request, int) bool
}

// stream sends a member's events live, after the last one that the client saw.
func (s *streams) stream(w http.ResponseWriter, r *http.Request) {
	if s.drop != nil && s.drop(r) {
		panic(http.ErrAbortHandler)
	}
	who := member(r)
	w.Header().Set("Content-Type", "text/event-stream")
	at := s.welcome(who, r.Header.Get("Last-Event-ID"))
	for {
		events, news := s.fed(who, at)
		at += len(events)
		for _, e := range events {
			if s.fault == StreamTwice {
				e += e
			}
			if _, err := w.Write([]byte(e)); err != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
		if s.cut != nil && s.cut(r, at) {
			panic(http.ErrAbortHandler)
		}
		select {
		case <-r.Context().Done():
			return
		case <-news:
		}
	}
}

// welcome finds out where a stream begins.
func (s *streams) welcome(who, last string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.fault {
	case StreamOnly:
		s.community.tellNotice(who, crowd.Notice{ID: "nowhere/" + who, Type: "FOLLOW", RefID: "nobody", Message: "nobody follows you"})
	case StreamAlert:
		s.community.tell(who, "event: chat\nid: ;chat=nowhere\ndata: {\"roomId\":\"show-1\"}\n\n")
	case StreamTwice:
		s.community.notify(who, "FOLLOW", "nobody", "nobody follows you")
	}
	if last == "" {
		return 0
	}
	for i, e := range s.community.feeds[who] {
		if strings.Contains(e, "\nid: "+last+"\n") {
			return i + 1
		}
	}
	return 0
}

// fed has the next events of a stream, and a signal for more.
func (s *streams) fed(who string, from int) ([]string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.community.feeds[who][from:], s.community.news
}
