package countertest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/millrace-go/millrace/conformance"
	"github.com/millrace-go/millrace/counter/countertest"
	"github.com/millrace-go/millrace/counter/driver"
	"github.com/millrace-go/millrace/counter/memcounter"
)

// store is a correct store with one call replaced.
type store struct {
	driver.MemoryStore
	add     func(ctx context.Context, s driver.MemoryStore, name, key string, n int64) error
	pending func(ctx context.Context, s driver.MemoryStore, name string, keys []string) (map[string]int64, error)
	take    func(ctx context.Context, s driver.MemoryStore, name string, limit int) ([]driver.Taken, error)
	aside   func(ctx context.Context, s driver.MemoryStore, name string) ([]driver.Taken, error)
	forget  func(ctx context.Context, s driver.MemoryStore, name string, ids []string) error
}

func (s store) Add(ctx context.Context, name, key string, n int64) error {
	if s.add != nil {
		return s.add(ctx, s.MemoryStore, name, key, n)
	}
	return s.MemoryStore.Add(ctx, name, key, n)
}

func (s store) Pending(ctx context.Context, name string, keys []string) (map[string]int64, error) {
	if s.pending != nil {
		return s.pending(ctx, s.MemoryStore, name, keys)
	}
	return s.MemoryStore.Pending(ctx, name, keys)
}

func (s store) Take(ctx context.Context, name string, limit int) ([]driver.Taken, error) {
	if s.take != nil {
		return s.take(ctx, s.MemoryStore, name, limit)
	}
	return s.MemoryStore.Take(ctx, name, limit)
}

func (s store) Aside(ctx context.Context, name string) ([]driver.Taken, error) {
	if s.aside != nil {
		return s.aside(ctx, s.MemoryStore, name)
	}
	return s.MemoryStore.Aside(ctx, name)
}

func (s store) Forget(ctx context.Context, name string, ids []string) error {
	if s.forget != nil {
		return s.forget(ctx, s.MemoryStore, name, ids)
	}
	return s.MemoryStore.Forget(ctx, name, ids)
}

func TestBrokenStores(t *testing.T) {
	adding := func(change func(name, key string, n int64) (string, string, int64)) store {
		return store{add: func(ctx context.Context, s driver.MemoryStore, name, key string, n int64) error {
			name, key, n = change(name, key, n)
			return s.Add(ctx, name, key, n)
		}}
	}
	taking := func(change func(taken []driver.Taken) []driver.Taken) store {
		return store{take: func(ctx context.Context, s driver.MemoryStore, name string, limit int) ([]driver.Taken, error) {
			taken, err := s.Take(ctx, name, limit)
			return change(taken), err
		}}
	}
	var calls atomic.Int64
	defects := map[[2]string]store{
		{"drops what it takes", "TakenAndForgotten"}: {aside: func(context.Context, driver.MemoryStore, string) ([]driver.Taken, error) { return nil, nil }},
		{"hides what lies aside", "TakenAndForgotten"}: {pending: func(ctx context.Context, s driver.MemoryStore, name string, keys []string) (map[string]int64, error) {
			aside, err := s.Aside(ctx, name)
			if err != nil || len(aside) > 0 {
				return nil, err
			}
			return s.Pending(ctx, name, keys)
		}},
		{"forgets nothing", "TakenAndForgotten"}: {forget: func(ctx context.Context, s driver.MemoryStore, name string, ids []string) error {
			return s.Add(ctx, name, "a", 1)
		}},
		{"takes what is zero", "ZeroIsNotTaken"}: func() store {
			once := false
			return taking(func(taken []driver.Taken) []driver.Taken {
				if once || len(taken) > 0 {
					return taken
				}
				once = true
				return []driver.Taken{{ID: "zero", Deltas: []driver.Delta{{Key: "a"}}}}
			})
		}(),
		{"cuts spaces off keys", "Keys"}: adding(func(name, key string, n int64) (string, string, int64) { return name, strings.TrimSpace(key), n }),
		{"folds keys", "Keys"}:           adding(func(name, key string, n int64) (string, string, int64) { return name, strings.ToLower(key), n }),
		{"mixes counters", "CountersApart"}: {
			add: func(ctx context.Context, s driver.MemoryStore, _, key string, n int64) error {
				return s.Add(ctx, "all", key, n)
			},
			take: func(ctx context.Context, s driver.MemoryStore, _ string, limit int) ([]driver.Taken, error) {
				return s.Take(ctx, "all", limit)
			},
		},
		{"finds what lies aside of another counter", "CountersApart"}: func() store {
			last := ""
			return store{
				add: func(ctx context.Context, s driver.MemoryStore, name, key string, n int64) error {
					last = name
					return s.Add(ctx, name, key, n)
				},
				aside: func(ctx context.Context, s driver.MemoryStore, _ string) ([]driver.Taken, error) {
					return s.Aside(ctx, last)
				},
			}
		}(),
		{"leaves what it takes", "TakenAndForgotten"}: {take: func(ctx context.Context, s driver.MemoryStore, name string, limit int) ([]driver.Taken, error) {
			taken, err := s.Take(ctx, name, limit)
			for _, t := range taken {
				for _, d := range t.Deltas {
					err = errors.Join(err, s.Add(ctx, name, d.Key, d.N))
				}
			}
			return taken, err
		}},
		{"takes all at once", "Bounded"}: {take: func(ctx context.Context, s driver.MemoryStore, name string, _ int) ([]driver.Taken, error) {
			return s.Take(ctx, name, 1000)
		}},
		{"gives ids twice", "Bounded"}: taking(func(taken []driver.Taken) []driver.Taken {
			for i := range taken {
				taken[i].ID = "the same"
			}
			return taken
		}),
		{"takes a key twice in a batch", "Bounded"}: taking(func(taken []driver.Taken) []driver.Taken {
			for i := range taken {
				taken[i].Deltas = append(taken[i].Deltas[:1:1], taken[i].Deltas[0])
			}
			return taken
		}),
		{"takes less than it could", "NoneIsLeft"}: {take: func(ctx context.Context, s driver.MemoryStore, name string, limit int) ([]driver.Taken, error) {
			return s.Take(ctx, name, limit-1)
		}},
		{"forgets what was added since", "AddedLater"}: {forget: func(ctx context.Context, s driver.MemoryStore, name string, ids []string) error {
			s.Lose()
			return nil
		}},
		{"counts in floats", "LargeSums"}: adding(func(name, key string, n int64) (string, string, int64) {
			return name, key, int64(float64(n))
		}),
		{"forgets all for one", "ForgetOne"}: {forget: func(ctx context.Context, s driver.MemoryStore, name string, _ []string) error {
			aside, err := s.Aside(ctx, name)
			for _, a := range aside {
				err = errors.Join(err, s.Forget(ctx, name, []string{a.ID}))
			}
			return err
		}},
		{"refuses unknown ids", "ForgetTwice"}: {forget: func(ctx context.Context, s driver.MemoryStore, name string, ids []string) error {
			if slices.Contains(ids, "never-was") {
				return errors.New("unknown")
			}
			return s.Forget(ctx, name, ids)
		}},
		{"loses an addition in a hundred", "Concurrent"}: {add: func(ctx context.Context, s driver.MemoryStore, name, key string, n int64) error {
			if calls.Add(1)%100 == 0 {
				return nil
			}
			return s.Add(ctx, name, key, n)
		}},
	}
	var all []conformance.Mutant[countertest.StoreHarness]
	for names, s := range defects {
		all = append(all, conformance.Mutant[countertest.StoreHarness]{Name: names[0], Cases: names[1:], Open: func(*testing.T) countertest.StoreHarness {
			s.MemoryStore = memcounter.New()
			return countertest.StoreHarness{Store: s}
		}})
	}
	countertest.StoreSuite().Mutants(t, all)
}
