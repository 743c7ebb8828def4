package scenarios

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tab is one of a browser, which reconnects by itself whenever its stream ends, as an
// EventSource does: until it is answered 204.
type tab struct {
	heard   chan string // ids of notifications
	opened  atomic.Int64
	refused chan struct{} // closed when it was answered 204
}

// follow keeps the tab's stream open. It uses the URLs in turn.
func (b *tab) follow(ctx context.Context, client *http.Client, ticket string, from int, urls []string) {
	for n := from; ctx.Err() == nil; n++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, urls[n%len(urls)]+"/api/notifications/stream?ticket="+url.QueryEscape(ticket), http.NoBody)
		if err != nil {
			return
		}
		res, err := client.Do(req)
		if err != nil {
			continue // the context ends this
		}
		if res.StatusCode == http.StatusNoContent {
			_ = res.Body.Close()
			close(b.refused)
			return
		}
		if res.StatusCode == http.StatusOK {
			b.opened.Add(1)
		}
		name, lines := "", bufio.NewScanner(res.Body)
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ":")
			switch value = strings.TrimPrefix(value, " "); {
			case field == "event":
				name = value
			case field == "data" && name == "notification":
				select {
				case b.heard <- value:
				case <-ctx.Done():
				}
			}
		}
		_ = res.Body.Close()
	}
}

// login signs a member in.
func (o *office) login(base, member string) (token string) {
	o.t.Helper()
	var in struct{ Token string }
	if err := o.json(http.MethodPost, base+"/api/login", "", strings.NewReader(fmt.Sprintf(`{"memberId":%q}`, member)), &in); err != nil {
		o.t.Fatal(err)
	}
	return in.Token
}

// fourTabs: a member opens four tabs, where three may be open.
func fourTabs(t *testing.T, o *office) {
	urls := o.apis()
	ann, bea := o.login(urls[0], "ann"), o.login(urls[0], "bea")
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar, Transport: &http.Transport{MaxConnsPerHost: 16}}
	defer browser.CloseIdleConnections()
	ctx, stop := context.WithCancel(t.Context())
	var tabs []*tab
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for n := range 4 {
		var given struct{ Ticket string }
		require.NoError(t, o.json(http.MethodPost, urls[n%len(urls)]+"/api/notifications/ticket", ann, nil, &given))
		b := &tab{heard: make(chan string, 100), refused: make(chan struct{})}
		tabs = append(tabs, b)
		running.Go(func() { b.follow(ctx, browser, given.Ticket, n, urls) })
		eventually(t, "the tab is open", func() bool { return b.opened.Load() > 0 })
	}
	select {
	case <-tabs[0].refused:
	case <-time.After(30 * time.Second):
		t.Fatal("the oldest of four tabs was not sent away")
	}
	// Three tabs receive everything, repeatedly, and none is evicted any more.
	for n := range 5 {
		who := bea
		if n > 0 {
			who = o.login(urls[0], fmt.Sprint("bea", n))
		}
		require.NoError(t, o.json(http.MethodPost, urls[n%len(urls)]+"/api/members/ann/follow", who, nil, nil))
		for i, b := range tabs[1:] {
			select {
			case <-b.heard:
			case <-time.After(30 * time.Second):
				t.Fatalf("tab %d did not hear of follower %d", i+2, n+1)
			}
		}
	}
	for i, b := range tabs {
		if n := b.opened.Load(); n != 1 {
			t.Errorf("tab %d opened %d streams, want one", i+1, n)
		}
		if len(b.heard) > 0 {
			t.Errorf("tab %d heard %d notifications twice", i+1, len(b.heard))
		}
	}
	victims := o.metric("millrace_sse_victims_total", o.called("api")...)
	opened := o.metric("millrace_sse_opened_total", o.called("api")...)
	if victims != 1 || opened != 4+1 { // the one that came back, and was answered 204
		t.Errorf("%.0f streams were opened and %.0f sent away, want 5 and 1: four tabs come to rest", opened, victims)
	}
	measured(t, "%.0f streams opened, %.0f sent away, three hear everything", opened, victims)
}

// A member opens four tabs, and three may be open. The oldest is evicted and stays
// closed; the others stay open, over all processes.
func TestScenario22FourTabs(t *testing.T) {
	columns(t, func(t *testing.T) { fourTabs(t, openOffice(t, officePlan{})) },
		func(t *testing.T) { fourTabs(t, openOffice(t, officePlan{processes: apart()})) })
}
