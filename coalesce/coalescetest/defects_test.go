package coalescetest_test

import (
	"context"
	"strings"
	"time"

	"github.com/millrace-go/millrace/coalesce/driver"
)

// answering changes a store's answers to requests.
func answering(change func(d *driver.Decision)) func(s driver.MemoryStore) driver.Store {
	return func(s driver.MemoryStore) driver.Store {
		return backend{Store: s, request: func(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
			d, err := s.Request(ctx, key, p, again, ttl)
			change(&d)
			return d, err
		}}
	}
}

// lasting changes the TTLs of requests.
func lasting(change func(ttl *driver.TTLs)) func(s driver.MemoryStore) driver.Store {
	return func(s driver.MemoryStore) driver.Store {
		return backend{Store: s, request: func(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
			change(&ttl)
			return s.Request(ctx, key, p, again, ttl)
		}}
	}
}

// rekeyed changes keys before they reach the store, and restores them in the answers.
func rekeyed(change func(string) string) func(s driver.MemoryStore) driver.Store {
	return func(s driver.MemoryStore) driver.Store {
		return backend{
			Store: s,
			request: func(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
				d, err := s.Request(ctx, change(key), p, again, ttl)
				d.Ticket.Key = key
				return d, err
			},
			release: func(ctx context.Context, t driver.Ticket) (bool, error) {
				t.Key = change(t.Key)
				return s.Release(ctx, t)
			},
			done: func(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (driver.End, error) {
				key := t.Key
				t.Key = change(key)
				end, err := s.Done(ctx, t, ttl)
				end.Next.Key = key
				return end, err
			},
			current: func(ctx context.Context, key string) (int64, bool, error) { return s.Current(ctx, change(key)) },
		}
	}
}

func defects() []defect {
	return []defect{
		{
			"calls a held key free",
			[]string{"free-is-published", "held-is-processing", "release-frees"},
			answering(func(d *driver.Decision) { d.Outcome = driver.Published }),
		},
		{
			"lets low take over from low",
			[]string{"held-is-processing", "concurrent-upgrades"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, request: func(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
					d, err := s.Request(ctx, key, p, again, ttl)
					if d.Outcome != driver.AlreadyProcessing || d.Ticket.Priority == driver.High || err != nil {
						return d, err
					}
					if _, err := s.Release(ctx, d.Ticket); err != nil {
						return d, err
					}
					d, err = s.Request(ctx, key, p, again, ttl)
					d.Outcome = driver.Upgraded
					return d, err
				}}
			},
		},
		{
			"never upgrades",
			[]string{"high-upgrades-low", "upgrade-has-its-own-ttl", "again-moves-with-an-upgrade", "concurrent-upgrades"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, request: func(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
					if t, ok := holder(ctx, s, key, ttl); ok {
						return driver.Decision{Outcome: driver.AlreadyProcessing, Ticket: t}, nil
					}
					return s.Request(ctx, key, p, again, ttl)
				}}
			},
		},
		{
			"upgrades without a new version",
			[]string{"high-upgrades-low", "versions-grow"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, request: func(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
					before, _, _ := s.Current(ctx, key)
					d, err := s.Request(ctx, key, p, again, ttl)
					if d.Outcome == driver.Upgraded {
						d.Ticket.Version = before
					}
					return d, err
				}}
			},
		},
		{
			"never lets go of a lock",
			[]string{"lock-expires", "upgrade-has-its-own-ttl", "extend", "extend-compares", "again-priority"},
			func(s driver.MemoryStore) driver.Store {
				long := func(ttl driver.TTLs) driver.TTLs {
					return driver.TTLs{High: 100 * time.Hour, Low: 100 * time.Hour, Version: ttl.Version}
				}
				return backend{
					Store: s,
					request: func(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
						return s.Request(ctx, key, p, again, long(ttl))
					},
					done: func(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (driver.End, error) {
						return s.Done(ctx, t, long(ttl))
					},
					extend: func(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (bool, error) {
						return s.Extend(ctx, t, long(ttl))
					},
				}
			},
		},
		{
			"lets go of a lock too soon",
			[]string{"lock-expires", "upgrade-has-its-own-ttl"},
			lasting(func(ttl *driver.TTLs) { ttl.High, ttl.Low = ttl.High/4, ttl.Low/4 }),
		},
		{
			"gives a high lock the TTL of a low one",
			[]string{"lock-expires", "upgrade-has-its-own-ttl"},
			lasting(func(ttl *driver.TTLs) { ttl.High = ttl.Low }),
		},
		{
			"never forgets a version",
			[]string{"version-expires"},
			lasting(func(ttl *driver.TTLs) { ttl.Version *= 100 }),
		},
		{
			"forgets a version too soon",
			[]string{"version-expires"},
			lasting(func(ttl *driver.TTLs) { ttl.Version /= 2 }),
		},
		{
			"counts versions from one again",
			[]string{"versions-grow", "release-frees", "lost-state", "lock-expires", "version-expires"},
			answering(func(d *driver.Decision) { d.Ticket.Version = 1 }),
		},
		{
			"remembers who had the lock when it is lost",
			[]string{"lost-state"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, release: func(ctx context.Context, t driver.Ticket) (bool, error) {
					_, err := s.Release(ctx, t)
					return true, err
				}}
			},
		},
		{
			"releases for anybody",
			[]string{"release-compares", "release-frees", "lock-expires", "high-upgrades-low"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, release: func(ctx context.Context, t driver.Ticket) (bool, error) {
					if has, ok := holder(ctx, s, t.Key, ttls); ok {
						t = has
					}
					return s.Release(ctx, t)
				}}
			},
		},
		{
			"compares the version only",
			[]string{"release-compares", "done-compares", "extend-compares"},
			func(s driver.MemoryStore) driver.Store {
				swap := func(ctx context.Context, t driver.Ticket) driver.Ticket {
					if has, ok := holder(ctx, s, t.Key, ttls); ok && has.Version == t.Version {
						return has
					}
					return t
				}
				return backend{
					Store:   s,
					release: func(ctx context.Context, t driver.Ticket) (bool, error) { return s.Release(ctx, swap(ctx, t)) },
					done: func(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (driver.End, error) {
						return s.Done(ctx, swap(ctx, t), ttl)
					},
					extend: func(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (bool, error) {
						return s.Extend(ctx, swap(ctx, t), ttl)
					},
				}
			},
		},
		{
			"compares the beginning of the version",
			[]string{"release-compares", "done-compares"},
			func(s driver.MemoryStore) driver.Store {
				swap := func(ctx context.Context, t driver.Ticket) driver.Ticket {
					if has, ok := holder(ctx, s, t.Key, ttls); ok && has.Version/10 == t.Version {
						return has
					}
					return t
				}
				return backend{
					Store:   s,
					release: func(ctx context.Context, t driver.Ticket) (bool, error) { return s.Release(ctx, swap(ctx, t)) },
					done: func(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (driver.End, error) {
						return s.Done(ctx, swap(ctx, t), ttl)
					},
				}
			},
		},
		{
			"keeps a released lock",
			[]string{"release-frees", "again-ends-with-the-lock"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, release: func(context.Context, driver.Ticket) (bool, error) { return true, nil }}
			},
		},
		{
			"keeps the lock of a run that has ended",
			[]string{"done-frees", "again-once"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, done: func(context.Context, driver.Ticket, driver.TTLs) (driver.End, error) {
					return driver.End{Released: true}, nil
				}}
			},
		},
		{
			"forgets the version with the lock",
			[]string{"done-frees", "current"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, current: func(ctx context.Context, key string) (int64, bool, error) {
					t, ok := holder(ctx, s, key, ttls)
					return t.Version, ok, nil
				}}
			},
		},
		{
			"knows a version of every key",
			[]string{"current", "version-expires", "lost-state"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, current: func(ctx context.Context, key string) (int64, bool, error) {
					v, _, err := s.Current(ctx, key)
					return v, true, err
				}}
			},
		},
		{
			"ignores extensions",
			[]string{"extend", "again-lives-with-the-lock"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, extend: func(context.Context, driver.Ticket, driver.TTLs) (bool, error) { return true, nil }}
			},
		},
		{
			"extends the lock and not the version",
			[]string{"extend"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, extend: func(ctx context.Context, t driver.Ticket, ttl driver.TTLs) (bool, error) {
					ttl.Version = time.Nanosecond
					return s.Extend(ctx, t, ttl)
				}}
			},
		},
		{
			"compares keys without regard to case",
			[]string{"keys"},
			rekeyed(strings.ToLower),
		},
		{
			"ends keys at a brace",
			[]string{"keys"},
			rekeyed(func(key string) string {
				head, _, _ := strings.Cut(key, "}")
				return head + "x"
			}),
		},
		{
			"escapes keys so that two become one",
			[]string{"keys"},
			rekeyed(func(key string) string {
				return strings.ReplaceAll(key, "}", "%7D")[:min(len(key), 300)]
			}),
		},
		{
			"takes any argument",
			[]string{"arguments"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, request: func(ctx context.Context, key string, p driver.Priority, again bool, ttl driver.TTLs) (driver.Decision, error) {
					return s.Request(ctx, "k"+key[:min(len(key), 10)], driver.Low, again, ttl)
				}}
			},
		},
		{
			"does not heed its context",
			[]string{"cancelled-context"},
			func(s driver.MemoryStore) driver.Store {
				return backend{Store: s, release: func(ctx context.Context, t driver.Ticket) (bool, error) {
					return s.Release(context.WithoutCancel(ctx), t)
				}}
			},
		},
	}
}
