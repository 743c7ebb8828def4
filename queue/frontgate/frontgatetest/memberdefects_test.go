package frontgatetest_test

import (
	"context"
	"sync"

	"github.com/millrace-go/millrace/queue/frontgate/driver"
)

func memberDefects() []defect {
	// memory replaces Keep by a map of positions, whose key a defect chooses.
	memory := func(key func(event string, epoch uint64, member string) any, replace bool) func(b *backend) {
		return func(b *backend) {
			kept := map[any]int64{}
			b.keep = func(ctx context.Context, event string, epoch uint64, asks []driver.Ask) ([]int64, error) {
				if err := driver.CheckKeep(ctx, event, epoch, asks); err != nil {
					return nil, err
				}
				positions := make([]int64, len(asks))
				for i, ask := range asks {
					k := key(event, epoch, ask.Member)
					if ask.Position > 0 && (replace || kept[k] == 0) {
						kept[k] = ask.Position
					}
					positions[i] = kept[k]
				}
				return positions, nil
			}
		}
	}
	type of struct {
		event  string
		epoch  uint64
		member string
	}
	return []defect{
		{name: "keeps the last position of a member", caught: []string{"members-keep-their-first"},
			with: memory(func(event string, epoch uint64, member string) any { return of{event, epoch, member} }, true)},
		{name: "keeps one position for all members", caught: []string{"members-keep-their-first"},
			with: memory(func(event string, epoch uint64, _ string) any { return of{event, epoch, ""} }, false)},
		{name: "keeps positions of lost counters", caught: []string{"members-of-counters"},
			with: memory(func(event string, _ uint64, member string) any { return of{event, 0, member} }, false)},
		{name: "keeps positions for all events", caught: []string{"members-of-counters"},
			with: memory(func(_ string, _ uint64, member string) any { return of{"", 0, member} }, false)},
		{name: "keeps positions for ever", caught: []string{"members-for-a-day"},
			with: memory(func(event string, epoch uint64, member string) any { return of{event, epoch, member} }, false)},
		{name: "looks, and then keeps", caught: []string{"members-over-callers"}, with: func(b *backend) {
			calls, second := 0, make(chan struct{})
			var mu sync.Mutex
			b.keep = func(ctx context.Context, event string, epoch uint64, asks []driver.Ask) ([]int64, error) {
				mu.Lock()
				calls++
				call := calls
				mu.Unlock()
				if call > 2 {
					return b.Store.Keep(ctx, event, epoch, asks)
				}
				// The first two callers see that there is none.
				if call == 2 {
					close(second)
				}
				<-second
				return []int64{asks[0].Position}, nil
			}
		}},
		{name: "keeps nothing", caught: []string{"members-keep-their-first", "members-over-callers", "members-for-a-day"}, with: func(b *backend) {
			b.keep = func(ctx context.Context, event string, epoch uint64, asks []driver.Ask) ([]int64, error) {
				positions := make([]int64, len(asks))
				for i, ask := range asks {
					positions[i] = ask.Position
				}
				return positions, driver.CheckKeep(ctx, event, epoch, asks)
			}
		}},
		{name: "keeps positions for an hour", caught: []string{"members-for-a-day"}, with: func(b *backend) {
			inner := memory(func(event string, epoch uint64, member string) any {
				return [2]any{of{event, epoch, member}, b.clock.get().Unix() / 3600}
			}, false)
			inner(b)
		}},
	}
}
