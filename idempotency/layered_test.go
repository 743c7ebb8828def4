package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/idempotency"
	"github.com/millrace-go/millrace/idempotency/driver"
	"github.com/millrace-go/millrace/idempotency/idempotencytest"
	"github.com/millrace-go/millrace/idempotency/memidempotency"
	"github.com/millrace-go/millrace/sqltx"
)

// precheck counts its calls, and fails while err is set.
type precheck struct {
	driver.MemoryStore
	err           error
	asked, marked []string
}

func (p *precheck) Known(ctx context.Context, keys []string) ([]bool, error) {
	p.asked = append(p.asked, keys...)
	if p.err != nil {
		return nil, p.err
	}
	return p.MemoryStore.Known(ctx, keys)
}

func (p *precheck) Mark(ctx context.Context, keys []string) error {
	p.marked = append(p.marked, keys...)
	if p.err != nil {
		return p.err
	}
	return p.MemoryStore.Mark(ctx, keys)
}

func newPrecheck() *precheck { return &precheck{MemoryStore: memidempotency.New()} }

func layered(t testing.TB, fast driver.Precheck, truth driver.BatchStore, cfg idempotency.LayeredConfig) driver.BatchStore {
	t.Helper()
	l, err := idempotency.NewLayered(fast, truth, cfg)
	require.NoError(t, err)
	return l
}

func do(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// TestLayeredConformance runs the suite on the two layers together, with the SQL store's
// guarantees.
func TestLayeredConformance(t *testing.T) {
	notApplicable := []string{
		"prune-keeps-newer", "prune-in-chunks", // the pre-check keeps pruned keys until its own TTL
		"forgotten-keys-are-new", "forget-many", "forget-while-it-runs", "forget-no-empty-key", // keys are removed from each layer by itself
	}
	open := func(t *testing.T) idempotencytest.Harness {
		t.Helper()
		store, db := database(t)
		return idempotencytest.Harness{Store: layered(t, memidempotency.New(), store, idempotency.LayeredConfig{}), DB: db, Expires: true}
	}
	require.ElementsMatch(t, notApplicable, idempotencytest.Suite().NotApplicable(open(t)))
	idempotencytest.Run(t, open)
}

// TestLayeredMarksAfterTheCommit: a key is marked after the effect's commit and never before,
// and a known key does not reach the truth.
func TestLayeredMarksAfterTheCommit(t *testing.T) {
	store, db := database(t)
	fast := newPrecheck()
	l := layered(t, fast, store, idempotency.LayeredConfig{})
	r := driver.Record{Key: "g:1", Group: "g"}
	if _, err := l.Once(t.Context(), r, func(ctx context.Context) error {
		if len(fast.marked) > 0 {
			t.Error("the key is marked before the commit")
		}
		return errors.Join(sellIn(ctx), errHandler)
	}); !errors.Is(err, errHandler) || len(fast.marked) > 0 {
		t.Errorf("a failing handler: %v, marked %v", err, fast.marked)
	}
	if fresh, err := l.Once(t.Context(), r, sellIn); !fresh || err != nil || !slices.Equal(fast.marked, []string{"g:1"}) {
		t.Errorf("Once: %v, %v, marked %v", fresh, err, fast.marked)
	}
	db.Close() // from here on only the pre-check can answer
	if fresh, err := l.Once(t.Context(), r, sellIn); fresh || err != nil {
		t.Errorf("a known key: %v, %v; want a duplicate without a look at the truth", fresh, err)
	}
	if seen, err := l.Seen(t.Context(), "g:1"); !seen || err != nil {
		t.Errorf("Seen of a known key: %v, %v", seen, err)
	}
	if fresh, err := l.OnceBatch(t.Context(), []driver.Record{r, r}, nil); len(fresh) > 0 || err != nil {
		t.Errorf("a batch of known keys: %v, %v", fresh, err)
	}
}

// TestLayeredInOuterTransaction: inside a transaction of the caller the outcome is open, so no
// key is marked; for the next duplicate the truth decides, and the key is marked.
func TestLayeredInOuterTransaction(t *testing.T) {
	store, db := database(t)
	fast := newPrecheck()
	l := layered(t, fast, store, idempotency.LayeredConfig{})
	r := driver.Record{Key: "g:1", Group: "g"}
	for _, result := range []error{errHandler, nil} {
		err := sqltx.Do(t.Context(), db, func(ctx context.Context, _ *sql.Tx) error {
			if fresh, err := l.Once(ctx, r, sellIn); !fresh || err != nil {
				t.Errorf("Once in a transaction: %v, %v", fresh, err)
			}
			if fresh, err := l.OnceBatch(ctx, []driver.Record{r, {Key: "g:2"}}, func(context.Context, []int) error { return nil }); !slices.Equal(fresh, []int{1}) || err != nil {
				t.Errorf("OnceBatch in a transaction: %v, %v", fresh, err)
			}
			if fresh, err := l.Fresh(ctx, []driver.Record{r, {Key: "g:3"}}); !slices.Equal(fresh, []int{1}) || err != nil {
				t.Errorf("Fresh in a transaction: %v, %v", fresh, err)
			}
			return result
		})
		if !errors.Is(err, result) || len(fast.marked) > 0 {
			t.Errorf("the transaction: %v; marked %v", err, fast.marked)
		}
	}
	if fresh, err := l.Once(t.Context(), r, sellIn); fresh || err != nil || !slices.Equal(fast.marked, []string{"g:1"}) {
		t.Errorf("the next delivery: %v, %v, marked %v", fresh, err, fast.marked)
	}
	assert.Equal(t, 1, sales(t, db), "sales")
}

// TestLayeredWithoutPrecheck: after a failure the pre-check rests for a while, and the truth
// decides.
func TestLayeredWithoutPrecheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errDown := errors.New("redis is down")
		fast := newPrecheck()
		fast.err = errDown
		var errs []error
		truth := memidempotency.New()
		l := layered(t, fast, truth, idempotency.LayeredConfig{Rest: 10 * time.Second, OnError: func(err error) { errs = append(errs, err) }})
		for i, key := range []string{"a", "b", "a", "b"} {
			fresh, err := l.Once(t.Context(), driver.Record{Key: key}, do(nil))
			if fresh != (i < 2) || err != nil {
				t.Errorf("delivery %d without the pre-check: %v, %v", i, fresh, err)
			}
		}
		if len(fast.asked) != 1 || len(fast.marked) != 0 || len(errs) != 1 || !errors.Is(errs[0], errDown) {
			t.Errorf("asked %v, marked %v, errors %v; want one question in 10 s", fast.asked, fast.marked, errs)
		}
		time.Sleep(10 * time.Second)
		fast.err = nil
		if fresh, err := l.Once(t.Context(), driver.Record{Key: "a"}, do(nil)); fresh || err != nil || !slices.Equal(fast.marked, []string{"a"}) {
			t.Errorf("after the rest: %v, %v, marked %v", fresh, err, fast.marked)
		}
	})
}

// hanging does not answer.
type hanging struct{ calls int }

func (h *hanging) Known(ctx context.Context, _ []string) ([]bool, error) {
	h.calls++
	<-ctx.Done()
	return nil, ctx.Err()
}

func (h *hanging) Mark(context.Context, []string) error { return nil }

func TestLayeredTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast := &hanging{}
		l := layered(t, fast, memidempotency.New(), idempotency.LayeredConfig{})
		began := time.Now()
		fresh, err := l.Once(t.Context(), driver.Record{Key: "a"}, do(nil))
		if took := time.Since(began); !fresh || err != nil || took != 50*time.Millisecond {
			t.Errorf("%v, %v after %v; want the truth's answer after 50 ms", fresh, err, took)
		}
		// The end of a caller's own context is not a failure of the pre-check.
		time.Sleep(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = l.Once(ctx, driver.Record{Key: "b"}, do(nil))
		_, again := l.Once(t.Context(), driver.Record{Key: "b"}, do(nil))
		if !errors.Is(err, context.DeadlineExceeded) || again != nil || fast.calls != 3 {
			t.Errorf("%v, %v, %d calls", err, again, fast.calls)
		}
	})
}

func TestNewLayeredChecks(t *testing.T) {
	s := memidempotency.New()
	for want, try := range map[string]func() (driver.BatchStore, error){
		"pre-check is nil": func() (driver.BatchStore, error) {
			return idempotency.NewLayered(nil, s, idempotency.LayeredConfig{})
		},
		"decides is nil": func() (driver.BatchStore, error) {
			return idempotency.NewLayered(s, nil, idempotency.LayeredConfig{})
		},
		"Timeout": func() (driver.BatchStore, error) {
			return idempotency.NewLayered(s, s, idempotency.LayeredConfig{Timeout: -1})
		},
		"Rest": func() (driver.BatchStore, error) {
			return idempotency.NewLayered(s, s, idempotency.LayeredConfig{Rest: -1})
		},
	} {
		if _, err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewLayered = %v, want an error about %s", err, want)
		}
	}
}
