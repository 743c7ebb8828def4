package redissse

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/sse/driver"
)

const (
	// page is the number of members in a call of Sweep.
	page = 100
	// registerWithin bounds the call that puts members into the registry.
	registerWithin = 2 * time.Second
	// cursor begins Swept.Next, before the name of the last member.
	cursor = "after "
)

// add puts members into the registry, which is a sorted set with equal scores: it is
// read in the order of names, so that a sweep can continue, also at a replica that
// has taken over.
func (c *connections) add(ctx context.Context, members []string) ([]struct{}, error) {
	all := make([]redis.Z, len(members))
	for i, member := range members {
		all[i].Member = member
	}
	return make([]struct{}, len(members)), c.client.ZAdd(ctx, c.keys.members(), all...).Err()
}

// Sweep removes the ghosts of up to a hundred members; see [driver.Cap].
func (c *connections) Sweep(ctx context.Context, r driver.Rules, live driver.Live, from string) (driver.Swept, error) {
	const what = "sweep"
	if err := checkRules(what, r); err != nil {
		return driver.Swept{}, err
	}
	after := "-"
	if from != "" {
		name, ok := strings.CutPrefix(from, cursor)
		if !ok || name == "" {
			return driver.Swept{}, bad(what, "it is to go on at %.20q, where no other has ended; give Swept.Next", from)
		}
		after = "(" + name
	}
	members, err := c.client.ZRangeByLex(ctx, c.keys.members(), &redis.ZRangeBy{Min: after, Max: "+", Count: page}).Result()
	if err != nil {
		return driver.Swept{}, c.failed(what, err)
	}
	removed, err := c.sweep(ctx, r, live, members)
	if err != nil {
		return driver.Swept{}, c.failed(what, err)
	}
	swept := driver.Swept{Removed: removed, Done: len(members) < page}
	if !swept.Done {
		swept.Next = cursor + members[len(members)-1]
	}
	return swept, nil
}

func (c *connections) sweep(ctx context.Context, r driver.Rules, live driver.Live, members []string) (removed int, err error) {
	counts, err := c.purge(ctx, r, live, members)
	if err != nil {
		return 0, err
	}
	var empty []string
	for i, member := range members {
		removed += int(counts[i][0])
		if counts[i][1] == 0 {
			empty = append(empty, member)
		}
	}
	if len(empty) > 0 {
		err = c.forget(ctx, r, live, empty)
	}
	return removed, err
}

// purge removes ghosts, and returns for each member how many there were, and how
// many entries are left.
func (c *connections) purge(ctx context.Context, r driver.Rules, live driver.Live, members []string) ([][]int64, error) {
	if len(members) == 0 {
		return nil, nil
	}
	asks := make([]ask, len(members))
	for i, member := range members {
		asks[i] = ask{c.keys.of(member), ghostArgs(r, live)}
	}
	answers, err := c.runAll(ctx, c.scripts.sweep, asks)
	if err != nil {
		return nil, err
	}
	counts := make([][]int64, len(members))
	for i, answer := range answers {
		if counts[i], err = answer.Int64Slice(); err == nil && len(counts[i]) != 2 {
			err = errAnswer
		}
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// forget takes members out of the registry, and puts back those that have opened a
// stream before that. A stream that opens later registers its member after it.
func (c *connections) forget(ctx context.Context, r driver.Rules, live driver.Live, members []string) error {
	all := make([]any, len(members))
	for i, member := range members {
		all[i] = member
	}
	if err := c.client.ZRem(ctx, c.keys.members(), all...).Err(); err != nil {
		return err
	}
	counts, err := c.purge(ctx, r, live, members)
	if err != nil {
		// Members with streams may be among them.
		_, added := c.add(ctx, members)
		if added == nil {
			added = err
		}
		return added
	}
	var back []string
	for i, member := range members {
		if counts[i][1] > 0 {
			back = append(back, member)
		}
	}
	if len(back) == 0 {
		return nil
	}
	_, err = c.add(ctx, back)
	return err
}
