package api_test

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/live"
	"github.com/millrace-go/millrace/sse"
)

// newStreams makes streams in memory, which begin by saying hello.
func newStreams(t *testing.T) *live.Live {
	t.Helper()
	shared, err := live.Memory()
	require.NoError(t, err)
	l, err := live.New(secret, shared, live.Config{
		Replayers: []live.Replayer{hello{}},
		Streams:   sse.Config{Lease: 2 * time.Minute, Timeout: 30 * time.Second}, // a loaded machine is no outage
		Logger:    slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return l
}

type hello struct{}

func (hello) Replay(_ context.Context, member string, _ sse.Cursors) (sse.Missed, error) {
	return sse.Missed{Events: []sse.Event{{Name: "hello", Data: []byte(member)}}}, nil
}

func (o *office) signIn(member string) string {
	o.t.Helper()
	token, _ := o.do(call{method: http.MethodPost, path: "/api/login", body: map[string]string{"memberId": member}}).body["token"].(string)
	return token
}

func (o *office) ticketOf(member string) string {
	o.t.Helper()
	got := o.do(call{method: http.MethodPost, path: "/api/notifications/ticket", token: o.signIn(member), body: "{}"})
	ticket, _ := got.body["ticket"].(string)
	expires, err := time.Parse(time.RFC3339, got.body["expiresAt"].(string))
	if left := time.Until(expires); got.status != http.StatusOK || ticket == "" || err != nil || left > 30*time.Second {
		o.t.Fatalf("a ticket: %d %v", got.status, got.body)
	}
	return ticket
}

// TestStreamRefused: each refusal of a stream states its reason.
func TestStreamRefused(t *testing.T) {
	streams := newStreams(t)
	o := newOffice(t, func(c *api.Config) { c.Live = streams })
	token, spent := o.signIn("ann"), o.ticketOf("ann")
	_, err := streams.Redeem(t.Context(), spent)
	require.NoError(t, err)
	ticket := o.ticketOf("ann")
	for name, c := range map[string]struct {
		call           call
		status         int
		problem, field string
		reason         string
	}{
		"ticket, signed out": {call{method: "POST", path: "/api/notifications/ticket"}, 401, "sign-in-required", "", "missing"},
		"nobody":             {call{method: "GET", path: live.Path}, 401, "sign-in-required", "", "missing"},
		"bad sign-in":        {call{method: "GET", path: live.Path, token: "x"}, 401, "sign-in-required", "", "malformed"},
		"no ticket":          {call{method: "GET", path: live.Path + "?ticket="}, 401, "ticket-refused", "ticket", "missing"},
		"bad ticket":         {call{method: "GET", path: live.Path + "?ticket=x"}, 401, "ticket-refused", "ticket", "malformed"},
		"changed ticket":     {call{method: "GET", path: live.Path + "?ticket=e30" + ticket}, 401, "ticket-refused", "ticket", "bad_signature"},
		"used ticket":        {call{method: "GET", path: live.Path + "?ticket=" + spent}, 401, "ticket-refused", "ticket", "spent"},
		"sign-in as ticket":  {call{method: "GET", path: live.Path + "?ticket=" + token}, 401, "ticket-refused", "ticket", "malformed"},
		"ticket as sign-in":  {call{method: "GET", path: live.Path, token: ticket}, 401, "sign-in-required", "", "malformed"},
		"bad tab":            {call{method: "GET", path: live.Path + "?tab=" + strings.Repeat("x", 65), token: token}, 400, "invalid-request", "tab", ""},
		"bad place":          {call{method: "GET", path: live.Path + "?place=mine", token: token}, 400, "invalid-request", "place", ""},
		"head":               {call{method: "HEAD", path: live.Path + "?ticket=" + ticket}, 405, "method-not-allowed", "", ""},
		"post":               {call{method: "POST", path: live.Path, token: token}, 405, "method-not-allowed", "", ""},
	} {
		got := o.do(c.call)
		field, _ := got.body["field"].(string)
		reason, _ := got.body["reason"].(string)
		if got.status != c.status || got.body["type"] != "/problems/"+c.problem || field != c.field || reason != c.reason {
			t.Errorf("%s: %d %v", name, got.status, got.body)
		}
		if len(got.cookies) > 0 {
			t.Errorf("%s: the cookies %v", name, got.cookies)
		}
	}
	// The streams have not begun, or are ending.
	got := o.do(call{method: "GET", path: live.Path, token: token})
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || got.body["inbox"] != "/api/notifications" {
		t.Errorf("without streams: %d %v", got.status, got.body)
	}
	assert.Equal(t, http.StatusNotFound, newOffice(t, nil).do(call{method: "GET", path: live.Path, token: token}).status, "in an office without streams")
}

// TestStream: streams by a ticket and by a sign-in, and the effect of a tab's name.
func TestStream(t *testing.T) {
	streams := newStreams(t)
	o := newOffice(t, func(c *api.Config) { c.Live = streams })
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- streams.Run(ctx) }()
	require.NoError(t, streams.Hub().Ready(t.Context()))
	server := httptest.NewServer(o.api)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	t.Cleanup(func() {
		end()
		assert.NoError(t, <-done)
		server.Close()
		client.CloseIdleConnections()
	})
	open := func(query, token string) (*http.Response, *bufio.Scanner) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+live.Path+query, nil)
		require.NoError(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { answer.Body.Close() }) //nolint:errcheck // of a stream
		return answer, bufio.NewScanner(answer.Body)
	}
	wants := func(lines *bufio.Scanner, line string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == line {
				return
			}
		}
		t.Fatalf("the stream ends (%v) before %q", lines.Err(), line)
	}
	token := o.signIn("ann")

	byTicket, first := open("?ticket="+url.QueryEscape(o.ticketOf("ann")), "") //nolint:bodyclose // open's cleanup does it
	wants(first, "data: ann")
	if c := byTicket.Cookies(); len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || c[0].Path != live.Path {
		t.Errorf("the cookies are %v", c)
	}
	if ct := byTicket.Header.Get("Content-Type"); byTicket.StatusCode != 200 || ct != "text/event-stream" {
		t.Errorf("%d, %s", byTicket.StatusCode, ct)
	}
	named, second := open("?tab=left", token) //nolint:bodyclose // open's cleanup does it
	wants(second, "data: ann")
	assert.Empty(t, named.Cookies(), "a sign-in is given the cookies")
	// The same name is the same tab, and takes its own place.
	_, again := open("?tab=left", token) //nolint:bodyclose // the end of the stream or of the test does it
	wants(again, "data: ann")
	wants(second, "event: evicted")
	for range 3 {
		_, s := open("", token) //nolint:bodyclose // the end of the stream or of the test does it
		wants(s, "data: ann")
	}
	wants(first, "event: evicted")
	wants(again, "event: evicted")
	if polite, _ := open("?tab=polite&place=free", token); polite.StatusCode != http.StatusNoContent { //nolint:bodyclose // the end of the stream or of the test does it
		t.Errorf("without a free place a polite tab is answered %d", polite.StatusCode)
	}
	if back, _ := open("?tab=left", token); back.StatusCode != http.StatusNoContent { //nolint:bodyclose // the end of the stream or of the test does it
		t.Errorf("an evicted tab is answered %d", back.StatusCode)
	}
}
