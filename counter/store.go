package counter

import "context"

// Delta is by how much the count of a key changes.
type Delta struct {
	Key string
	N   int64
}

// Taken is deltas that were moved aside together.
type Taken struct {
	// ID is unique: no other batch, of any counter, ever has it.
	ID string
	// Deltas are not zero, and have each key once.
	Deltas []Delta
}

// Store holds the deltas that are not in the totals yet. All methods are safe for
// concurrent use, also by several processes. Calls that fail may have been carried
// out. Counter names and keys are checked before.
type Store interface {
	// Add changes the delta of a key by n.
	Add(ctx context.Context, counter, key string, n int64) error
	// Pending returns the deltas of the keys, with what lies aside; keys without
	// any may be absent. While deltas are moved it may see them twice or not at all.
	Pending(ctx context.Context, counter string, keys []string) (map[string]int64, error)
	// Take moves deltas that are not zero aside, in batches of at most max keys each,
	// and returns these. A delta is either moved with all that was added to it or
	// stays, and goes into one batch. When none of the batches has max keys, all that
	// was added before the call began has been moved. It forgets keys whose delta is zero.
	Take(ctx context.Context, counter string, max int) ([]Taken, error)
	// Aside returns batches that were taken and not forgotten, at least one when
	// there are any, and all of them in calls between which those are forgotten.
	Aside(ctx context.Context, counter string) ([]Taken, error)
	// Forget drops batches; unknown ids are no error.
	Forget(ctx context.Context, counter string, ids []string) error
}
