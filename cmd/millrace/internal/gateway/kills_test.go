package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/cmd/millrace/internal/gateway"
	"github.com/millrace-go/millrace/internal/redistest"
)

// Variables that make the test program a gate, with the URLs of its Redis and its site, and
// a site, with its address.
const (
	sharedGate  = "MILLRACE_TEST_GATE_SHARED"
	siteProcess = "MILLRACE_TEST_SITE"
)

// places is how many visitors may be inside.
const places = 4

func serveShared(urls string) {
	redis, to, _ := strings.Cut(urls, " ")
	s := gateway.Settings{
		Judge: "none", To: to, Redis: redis, Listen: "127.0.0.1:0", Event: "sale", Threshold: places, Pass: []string{"/static/**"},
		Secrets: []string{strings.Repeat("n", 32)}, Logger: slog.New(slog.DiscardHandler),
	}
	server, err := gateway.Open(context.Background(), s)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("http://" + server.Addr())
	_ = server.Run(context.Background())
}

func serveSite(at string) {
	l, err := net.Listen("tcp", at)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // it is killed
		fmt.Fprint(w, "the site at ", r.URL.Path) //nolint:errcheck // the client tells
	}))
}

// The site, Redis and one of two gates are killed in turn while visitors come and poll.
// The visitors' own logs tell the rest: each answer is one that is promised, no visitor
// without a place reaches the site, and no place is lost or changed.
func TestKilledInTurn(t *testing.T) {
	redis := redistest.StartServer(t, "--appendonly", "yes")
	lines, _, killSite := spawn(t, siteProcess, "127.0.0.1:0")
	at := lines.Text()
	gate := func() (home string, kill func()) {
		lines, _, kill := spawn(t, sharedGate, redis.URL()+" http://"+at)
		return lines.Text(), kill
	}
	first, killGate := gate()
	second, _ := gate()
	c := newCrowd(t, 3*places, first, second)
	inside := func(w *witness) bool { return w.number < places }
	queued := func(w *witness) string { return fmt.Sprint("queued at ", w.number-places+1) }

	calm := func(w *witness) round {
		if inside(w) {
			return round{"site", "site", "active"}
		}
		return round{"waits", "site", queued(w)}
	}
	c.settles("at first", calm)
	killSite()
	c.settles("without the site", func(w *witness) round {
		if inside(w) {
			return round{"no site", "no site", "active"}
		}
		return round{"waits", "no site", queued(w)}
	})
	spawn(t, siteProcess, at)
	c.settles("with the site again", calm)
	redis.Kill()
	c.settles("without Redis", func(w *witness) round {
		if inside(w) {
			return round{"site", "site", "busy"}
		}
		return round{"waits", "site", "busy"}
	})
	redis.Start()
	c.settles("with Redis again", calm)
	killGate()
	c.settles("without a gate", calm)
	c.stop()

	cut := 0
	for _, w := range c.all {
		for _, answer := range w.log {
			switch {
			case strings.HasPrefix(answer, "cut"):
				cut++
			case strings.HasPrefix(answer, "wrong"), strings.HasPrefix(answer, "queued") && answer != queued(w), answer == "enters" && !inside(w), answer == "none":
				t.Errorf("visitor %d got: %s", w.number, answer)
			}
		}
	}
	if cut == 0 {
		t.Error("no visitor has seen the gate being killed")
	}
	// The line moves on: the first in it has the place of the one who leaves, and no other.
	require.Equal(t, "left", c.all[0].ask("POST", "/millrace-gate/leave/sale", "application/json"))
	next := c.all[places]
	for deadline := time.Now().Add(30 * time.Second); next.round().page != "site"; {
		if time.Now().After(deadline) {
			t.Fatalf("the first in line does not enter: %q", next.log[len(next.log)-3:])
		}
	}
	for _, w := range c.all[places+1:] {
		if got := w.round(); got.page != "waits" || got.poll == "active" {
			t.Errorf("visitor %d: %+v", w.number, got)
		}
	}
}
