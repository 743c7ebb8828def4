package redissse_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// visit is one stream as its client has seen it.
type visit struct {
	remote *remote // nil for an instance that is not killed

	mu      sync.Mutex
	status  int
	pings   []time.Time
	told    bool   // that it was evicted
	turned  bool   // away, to the inbox
	dropped bool   // by the client
	last    string // line
	ended   time.Time
}

// visit opens a stream and follows it until it ends, or drops it after a while; 0
// is never.
func (f *fleet) visit(instance int, member string, while time.Duration, opened func()) *visit {
	at, remote := f.at(instance)
	token, v := fmt.Sprint("tab", f.number.Add(1)), &visit{remote: remote}
	f.mu.Lock()
	f.visits[token] = v
	f.mu.Unlock()
	defer func() { v.mu.Lock(); v.ended = time.Now(); v.mu.Unlock() }()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"?member="+url.QueryEscape(member)+"&tab="+token, nil)
	if err != nil {
		f.t.Error(err)
		return v
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Sec-Fetch-Mode", "cors")
	drop := func() { v.mu.Lock(); v.dropped = true; v.mu.Unlock(); cancel() }
	defer context.AfterFunc(f.ctx, drop)()
	answer, err := f.web.Do(r)
	if err != nil {
		return v // its instance was killed, or is
	}
	defer answer.Body.Close()
	if while > 0 {
		defer time.AfterFunc(while, drop).Stop()
	}
	v.mu.Lock()
	v.status = answer.StatusCode
	v.mu.Unlock()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		v.mu.Lock()
		if lines.Text() != "" {
			v.last = lines.Text()
		}
		switch lines.Text() {
		case "event: ping":
			v.pings = append(v.pings, time.Now())
		case "event: evicted":
			v.told = true
		case "event: fallback":
			v.turned = true
		default:
			if opened != nil { // "retry: …"
				opened()
				opened = nil
			}
		}
		v.mu.Unlock()
	}
	return v
}
