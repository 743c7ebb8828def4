package inbox_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/memsse"
)

// streams serves one member's streams from an inbox; the wire has the events sent to
// them.
func streams(t *testing.T, o *office, member string) (*httptest.Server, *wire) {
	t.Helper()
	limit, broker := memsse.New()
	hub, err := sse.New(limit, broker, sse.Config{Retry: time.Millisecond, Spread: time.Millisecond})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		assert.NoError(t, hub.Run(ctx), "hub")
	})
	require.NoError(t, hub.Ready(ctx))
	sent := &wire{before: hub.ToMember}
	o.inbox.SetSender(sent)
	replay := sse.Replayer(func(ctx context.Context, since sse.Cursors) (sse.Missed, error) {
		return o.inbox.Replay(ctx, member, since)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = hub.Serve(w, r, sse.Stream{Member: member, Token: "tab", Replay: replay}) // the client sees the outcome
	}))
	t.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
	})
	return server, sent
}

// tab reads a stream as a browser does: it reconnects with the last id it saw.
type tab struct {
	t      *testing.T
	server *httptest.Server
	last   string
	seen   []string
}

// read opens the stream and reads until enough accepts the ids seen. It calls first
// after the first of them: the server has read what the stream missed by then.
func (b *tab) read(first func(), enough func() bool) {
	b.t.Helper()
	ctx, cut := context.WithTimeout(b.t.Context(), time.Minute)
	defer cut()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.server.URL, http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	if b.last != "" {
		r.Header.Set("Last-Event-ID", b.last)
	}
	response, err := b.server.Client().Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was cut
	lines := bufio.NewScanner(response.Body)
	for !enough() {
		if !lines.Scan() {
			b.t.Fatalf("the stream ended by itself after %d: %v", len(b.seen), lines.Err())
		}
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			b.seen, b.last = append(b.seen, id), id
			first()
		}
	}
}

func TestStreamWithoutGapOrDuplicate(t *testing.T) {
	// A batch that takes longer than half of SendLease is left to the inbox.
	o := newOffice(t, inbox.Config{Page: 2, SendLease: 2 * time.Minute})
	o.follow("ann", 3) // f-000 reads the stream
	before := o.reserved("f-000", 12)
	server, sent := streams(t, o, "f-000")
	o.run()
	boxtest.WaitFor(t, "what was there to be sent to nobody", func() bool { return o.inbox.Stats().Sent == 12 })

	const writers, each = 4, 20
	all := 10 + writers*each // the newest ten, and then the new ones
	client := &tab{t: t, server: server}
	chance := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable chance is what a test needs
	// A replay is bounded, so the writers must not be too far ahead.
	ahead := make(chan struct{}, 30)
	var wrote sync.WaitGroup
	begin := sync.OnceFunc(func() {
		for w := range writers {
			wrote.Go(func() {
				for i := range each {
					ahead <- struct{}{}
					e := notice(t, "PostLiked", "ann", fmt.Sprintf("show-%d", i))
					if w%2 == 0 {
						e = notice(t, "ReservationNotice", "f-000", fmt.Sprintf("r-%d", i))
					}
					_, err := o.try(context.WithoutCancel(t.Context()), e, nil)
					assert.NoError(t, err)
				}
			})
		}
	})
	credited := 0
	for len(client.seen) < all {
		cut := min(all, len(client.seen)+1+chance.IntN(8))
		client.read(begin, func() bool {
			for ; credited < len(client.seen)-10; credited++ {
				<-ahead
			}
			return len(client.seen) >= cut
		})
		// A client reconnects after a pause. The events it has seen are on the wire by
		// then.
		boxtest.WaitFor(t, client.last+" on the wire", func() bool { return slices.Contains(sent.all(), client.last) })
	}
	wrote.Wait()
	want := reversed(ids(o.list("f-000")))[2:]
	if !slices.Equal(want[:10], before[2:]) || !slices.Equal(client.seen, want) {
		t.Errorf("seen %d\n%s\nstored %d\n%s", len(client.seen), strings.Join(client.seen, "\n"), len(want), strings.Join(want, "\n"))
	}
}
