package officetest

import (
	"net/http"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// stream sends a member's events live, after the last one that the client saw.
func (o *Office) stream(w http.ResponseWriter, r *http.Request) {
	if o.drop != nil && o.drop(r) {
		panic(http.ErrAbortHandler)
	}
	who := member(r)
	w.Header().Set("Content-Type", "text/event-stream")
	at := o.welcome(who, r.Header.Get("Last-Event-ID"))
	for {
		events, news := o.fed(who, at)
		at += len(events)
		for _, e := range events {
			if o.fault == StreamTwice {
				e += e
			}
			if _, err := w.Write([]byte(e)); err != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
		if o.cut != nil && o.cut(r, at) {
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
func (o *Office) welcome(who, last string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch o.fault {
	case StreamOnly:
		o.tellNotice(who, crowd.Notice{ID: "nowhere/" + who, Type: "FOLLOW", RefID: "nobody", Message: "nobody follows you"})
	case StreamAlert:
		o.tell(who, "event: chat\nid: ;chat=nowhere\ndata: {\"roomId\":\"show-1\"}\n\n")
	case StreamTwice:
		o.notify(who, "FOLLOW", "nobody", "nobody follows you")
	}
	if last == "" {
		return 0
	}
	for i, e := range o.community.feeds[who] {
		if strings.Contains(e, "\nid: "+last+"\n") {
			return i + 1
		}
	}
	return 0
}

// fed has the next events of a stream, and a signal for more.
func (o *Office) fed(who string, from int) ([]string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.community.feeds[who][from:], o.community.news
}
