package catalog_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/boxtest"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
)

// copies is a store of copies in memory, whose copies never end by themselves.
type copies struct {
	mu      sync.Mutex
	text    []byte
	evicted int
	puts    int
	fail    error         // of every call
	hold    chan struct{} // evictions wait for it, when there is one
	holding chan struct{} // has something when one waits
	hangs   bool          // Get waits for its deadline
	gets    int
}

func (c *copies) Get(ctx context.Context) ([]byte, string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gets++
	if c.hangs {
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	return c.text, strconv.Itoa(c.evicted), c.fail
}

func (c *copies) Put(_ context.Context, eviction string, text []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail == nil && eviction == strconv.Itoa(c.evicted) {
		c.text = text
		c.puts++
	}
	return c.fail
}

func (c *copies) Evict(ctx context.Context) error {
	c.mu.Lock()
	hold, fail := c.hold, c.fail
	c.mu.Unlock()
	if hold != nil {
		c.holding <- struct{}{}
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if fail == nil {
		c.text = nil
		c.evicted++
	}
	return fail
}

func (c *copies) set(change func(c *copies)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// sharing makes a box use the copies, and runs the evictions.
func sharing(t *testing.T, b *boxtest.Box, c *copies) {
	t.Helper()
	b.Catalog.SetCopies(c, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Catalog.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
	})
}

// copied waits until there is a copy; earlier reads made none.
func (c *copies) copied(t *testing.T, all *catalog.Catalog) {
	t.Helper()
	boxtest.WaitFor(t, "a copy", func() bool {
		held(t, all)
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.puts > 0
	})
}

func held(t *testing.T, c *catalog.Catalog) int {
	t.Helper()
	show, err := c.Show(t.Context(), "show-1")
	require.NoError(t, err)
	return show.Seats.Held
}

// TestAChangeEvictsTheCopy: a process that changed nothing itself sees it.
func TestAChangeEvictsTheCopy(t *testing.T) {
	b := boxtest.New(t)
	other := boxtest.Open(t, b.URL) // another process on the same file
	c := &copies{}
	sharing(t, b, c)
	sharing(t, other, c)
	c.copied(t, other.Catalog)
	gets := c.gets
	// A change without an eviction is not seen: both read the one copy.
	b.Exec(t, `UPDATE shows SET title = 'changed behind their backs' WHERE show_id = 'show-1'`)
	boxtest.WaitFor(t, "the snapshot of the other process to end", func() bool { held(t, other.Catalog); c.mu.Lock(); defer c.mu.Unlock(); return c.gets > gets })
	if show, err := other.Catalog.Show(t.Context(), "show-1"); err != nil || show.Title == "changed behind their backs" {
		t.Fatalf("the copy is not what is read: %+v, %v", show, err)
	}
	b.Reserve(t, "ann", "A-1")
	boxtest.WaitFor(t, "the other process to see the hold", func() bool { return held(t, other.Catalog) == 1 })
}

// TestCopiesAreNotOlderThanOwnChanges: a process reads its own changes, although the
// copy is still there.
func TestCopiesAreNotOlderThanOwnChanges(t *testing.T) {
	b := boxtest.New(t)
	c := &copies{hold: make(chan struct{}), holding: make(chan struct{}, 100)}
	sharing(t, b, c)
	c.copied(t, b.Catalog)
	b.Reserve(t, "ann", "A-1")
	<-c.holding // the eviction is on its way, and the copy still says 0
	for range 3 {
		require.Equal(t, 1, held(t, b.Catalog), "held after one")
	}
	close(c.hold)
	boxtest.WaitFor(t, "a copy of the new state", func() bool {
		require.Equal(t, 1, held(t, b.Catalog), "held")
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.puts > 1
	})
}

// TestCopiesAway: when the copies fail or hang, the database is read, and not every
// reader asks for the copy again.
func TestCopiesAway(t *testing.T) {
	for name, away := range map[string]func(*copies){
		"fails":    func(c *copies) { c.fail = errors.New("away") },
		"hangs":    func(c *copies) { c.hangs = true },
		"nonsense": func(c *copies) { c.text = []byte("}") },
	} {
		t.Run(name, func(t *testing.T) {
			b := boxtest.New(t)
			c := &copies{}
			c.set(away)
			sharing(t, b, c)
			b.Reserve(t, "ann", "A-1")
			for range 20 {
				began := time.Now()
				require.Equal(t, 1, held(t, b.Catalog), "held")
				if took := time.Since(began); took > time.Second {
					t.Errorf("a read took %s", took)
				}
			}
			c.set(func(c *copies) { c.fail, c.hangs = nil, false })
			boxtest.WaitFor(t, "the copies to be used again", func() bool {
				held(t, b.Catalog)
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.puts > 0 && c.text != nil
			})
		})
	}
}
