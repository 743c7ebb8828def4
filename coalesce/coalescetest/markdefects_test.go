package coalescetest_test

import (
	"context"
	"sync"

	"github.com/millrace-go/millrace/coalesce/driver"
)

// mistakes are possible mistakes with the marks of [coalesce.Coalescer.Again].
type mistakes struct {
	ignores, everyRun, keeps, own, firstPriority, alwaysHigh, notMoved, notCleared, notExtended, oldVersion bool
}

// mark is a request for one more run after that of a version.
type mark struct {
	of       int64
	priority driver.Priority
	count    int
}

// marking is a store that keeps the marks beside a correct one, with a mistake.
func marking(s driver.MemoryStore, m mistakes) driver.Store {
	var mu sync.Mutex
	marks := map[string]mark{}
	return backend{
		Store: s,
		request: func(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
			mu.Lock()
			defer mu.Unlock()
			before, was := holder(ctx, s, key, ttl)
			d, err := s.Request(ctx, key, p, false, ttl)
			if err != nil {
				return d, err
			}
			old := marks[key]
			switch {
			case d.Outcome == driver.Upgraded && was && !m.notMoved && old.of == before.Version:
				old.of = d.Ticket.Version
				marks[key] = old
			case d.Outcome == driver.Published && m.notCleared:
				old.of = d.Ticket.Version
				marks[key] = old
			}
			if !again || m.ignores || d.Mine() && !m.own {
				return d, nil
			}
			if old = marks[key]; old.of != d.Ticket.Version {
				old = mark{of: d.Ticket.Version}
			}
			if old.priority == "" || p == driver.High && !m.firstPriority {
				old.priority = p
			}
			if m.alwaysHigh {
				old.priority = driver.High
			}
			old.count++
			marks[key] = old
			return d, nil
		},
		done: func(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (driver.End, error) {
			mu.Lock()
			defer mu.Unlock()
			end, err := s.Done(ctx, t, ttl)
			asked, ok := marks[t.Key]
			if err != nil || !end.Released || !ok || asked.of != t.Version || asked.count == 0 {
				return end, err
			}
			d, err := s.Request(ctx, t.Key, asked.priority, false, ttl)
			delete(marks, t.Key)
			if asked.count--; m.keeps || m.everyRun && asked.count > 0 {
				asked.of = d.Ticket.Version
				marks[t.Key] = asked
				if m.keeps {
					asked.count = 1
					marks[t.Key] = asked
				}
			}
			end.Again, end.Next = true, d.Ticket
			if m.oldVersion {
				end.Next.Version = t.Version
			}
			return end, err
		},
		extend: func(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if m.notExtended {
				delete(marks, t.Key)
			}
			return s.Extend(ctx, t, ttl)
		},
	}
}

func markDefects() []defect {
	var out []defect
	for _, d := range []struct {
		name   string
		with   mistakes
		caught []string
	}{
		{"ignores who asks for one more run", mistakes{ignores: true}, []string{"again-once", "again-priority", "again-moves-with-an-upgrade"}},
		{"runs once for each who asks", mistakes{everyRun: true}, []string{"again-once"}},
		{"runs again and again", mistakes{keeps: true}, []string{"again-once", "again-moves-with-an-upgrade"}},
		{"marks the asker's own lock", mistakes{own: true}, []string{"again-is-asked-of-the-holder"}},
		{"takes the priority of who asked first", mistakes{firstPriority: true}, []string{"again-priority"}},
		{"makes every other run a high one", mistakes{alwaysHigh: true}, []string{"again-priority", "again-once"}},
		{"loses marks in an upgrade", mistakes{notMoved: true}, []string{"again-moves-with-an-upgrade"}},
		{"keeps marks beyond their lock", mistakes{notCleared: true}, []string{"again-ends-with-the-lock"}},
		{"loses marks in an extension", mistakes{notExtended: true}, []string{"again-lives-with-the-lock"}},
		{"gives the other run the same version", mistakes{oldVersion: true}, []string{"again-once", "versions-grow"}},
	} {
		out = append(out, defect{d.name, d.caught, func(s driver.MemoryStore) driver.Store { return marking(s, d.with) }})
	}
	return out
}
