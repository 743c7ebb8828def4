package crowd_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/officetest"
)

func TestCommunity(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100})
	c := run(t, o, crowd.Config{Fans: 120, Concurrency: 60})
	assert.Equal(t, "", wrong(c), "a right box office was found wrong")
	comments, deleted, messages, likes, takenBack, follows, streams, notices, read := 0, 0, 0, 0, 0, 0, 0, 0, 0
	for _, rec := range c.Records() {
		said := rec.Community.Comment
		if said != nil {
			if comments++; said.ID == "" || said.Sent != 1 || said.Place == "" || said.Deleting != said.Deleted {
				t.Errorf("%s commented %+v", rec.Member, said)
			}
			if said.Deleted {
				deleted++
			}
		}
		for i, m := range rec.Community.Messages {
			if messages++; m.ID == "" || m.Sent != 1 || i > 0 && m.Text == rec.Community.Messages[i-1].Text {
				t.Errorf("%s said %+v", rec.Member, m)
			}
		}
		if like := rec.Community.Like; like != nil {
			if likes++; !like.Told {
				t.Errorf("%s likes %+v", rec.Member, like)
			}
			if !like.Likes {
				takenBack++
			}
		}
		if rec.Community.Follows != "" {
			follows++
		}
		streams, notices, read = streams+rec.Stream.Opened, notices+len(rec.Stream.Notices), read+len(rec.Community.Read)
		if len(rec.Stream.Twice) > 0 {
			t.Errorf("%s heard twice: %v", rec.Member, rec.Stream.Twice)
		}
	}
	for name, n := range map[string]int{"comments": comments, "deleted": deleted, "messages": messages, "likes": likes, "taken back": takenBack,
		"follows": follows, "streams": streams, "notices": notices, "read": read, "alerts": len(c.Alerts())} {
		if n == 0 {
			t.Errorf("no %s", name)
		}
	}
	if p := c.Progress(); p.Comments != comments || p.Messages != messages || p.Notices != notices || p.Reopened != 0 {
		t.Errorf("%+v; %d comments, %d messages, %d notices", p, comments, messages, notices)
	}
}

// Each answer to a comment or a message is lost: no fan sends one again.
func TestLostComments(t *testing.T) {
	o := officetest.Start(t, officetest.Config{Seats: 100, Drop: func(r *http.Request) bool {
		return r.Method == http.MethodPost && (strings.HasSuffix(r.URL.Path, "/comments") || strings.HasSuffix(r.URL.Path, "/messages"))
	}})
	c := run(t, o, crowd.Config{Fans: 60})
	assert.Equal(t, "", wrong(c), "lost answers were taken for a fault")
	said := 0
	for _, rec := range c.Records() {
		all := rec.Community.Messages
		if rec.Community.Comment != nil {
			all = append(all, rec.Community.Comment)
		}
		for _, s := range all {
			if said++; s.ID != "" || s.Sent != 1 || s.Deleting {
				t.Errorf("%s lost %+v", rec.Member, s)
			}
		}
	}
	if p := c.Progress(); said < 10 || p.Comments+p.Messages != 0 || p.Lost != said {
		t.Errorf("%d sent: %+v", said, p)
	}
}

func TestWhatIsNotTakenIsSentAgain(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	client := &crowd.Client{URL: server.URL, HTTP: crowd.NewHTTP(1), Patience: time.Minute}
	defer client.HTTP.CloseIdleConnections()
	sent := 0
	code, err := client.Do(t.Context(), crowd.Call{Method: http.MethodPost, Once: true, Sent: &sent}, nil)
	if code != http.StatusCreated || err != nil || sent != 3 {
		t.Errorf("%d %v, sent %d times", code, err, sent)
	}
}

// Every stream breaks after each event.
func TestStreamComesBack(t *testing.T) {
	var mu sync.Mutex
	cuts, back := map[string]int{}, 0
	o := officetest.Start(t, officetest.Config{Seats: 100, Cut: func(r *http.Request, told int) bool {
		mu.Lock()
		defer mu.Unlock()
		who := r.Header.Get("Authorization")
		if cuts[who] > 0 {
			if back++; r.Header.Get("Last-Event-ID") == "" {
				t.Errorf("%s came back without the id it saw last", who)
			}
		}
		if told <= cuts[who] {
			return false
		}
		cuts[who] = told
		return true
	}})
	c := run(t, o, crowd.Config{Fans: 100, Think: 30 * time.Millisecond})
	assert.Equal(t, "", wrong(c), "streams that break were taken for a fault")
	for _, rec := range c.Records() {
		if len(rec.Stream.Twice) > 0 {
			t.Errorf("%s heard twice: %v", rec.Member, rec.Stream.Twice)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if p := c.Progress(); back == 0 || p.Reopened == 0 {
		t.Errorf("%d streams went on after a cut: %+v", back, p)
	}
}

func TestStreamNonsense(t *testing.T) {
	for says, answer := range map[string]http.HandlerFunc{
		"answered with 404":     http.NotFound,
		"answered with 204":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"it was evicted":        tells("event: evicted\ndata: {}\n\n"),
		`the notification "7"`:  tells("id: 7\nevent: notification\ndata: {}\n\n"),
		`the chat event ";c=7"`: tells("id: ;c=7\nevent: chat\ndata: {\"roomId\":\"show-1\"}\n\n"),
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("POST /api/login", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"token":"t"}`)) })
		mux.HandleFunc("GET /api/notifications/stream", answer)
		mux.HandleFunc("GET /api/shows", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`[]`)) })
		var c *crowd.Crowd
		mux.HandleFunc("GET /api/notifications", func(w http.ResponseWriter, r *http.Request) {
			for !strings.Contains(wrong(c), says) { // no fan leaves before a stream was found wrong
				if crowd.Sleep(r.Context(), time.Millisecond) != nil {
					return
				}
			}
			_, _ = w.Write([]byte(`{}`))
		})
		server := httptest.NewServer(mux)
		c, err := crowd.New(crowd.Config{URL: server.URL, Fans: 12})
		require.NoError(t, err)
		assert.NoError(t, c.Run(t.Context()))
		server.Close()
		assert.Contains(t, wrong(c), says)
	}
}

func tells(events string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(events))
	}
}
