package driver

import "context"

// Delta is a change to the count of a key.
type Delta struct {
	Key string
	N   int64
}

// Taken is a batch of deltas that were moved aside together.
type Taken struct {
	// ID is unique: no other batch, of any counter, ever has it.
	ID string
	// Deltas are not zero; each key occurs once.
	Deltas []Delta
}

// Store holds the deltas that are not in the totals yet. All methods are safe for concurrent
// use, also by several processes. Calls that fail may have been executed. Counter names and
// keys are checked by the caller.
type Store interface {
	// Add changes the delta of a key by n.
	Add(ctx context.Context, counter, key string, n int64) error
	// Pending returns the deltas of the keys, including those aside; keys without any may be
	// absent. While deltas are moved, Pending may see them twice or not at all.
	Pending(ctx context.Context, counter string, keys []string) (map[string]int64, error)
	// Take moves non-zero deltas aside, in batches of at most max keys each, and returns these
	// batches. A delta either stays or is moved as a whole, into one batch. If no batch has max
	// keys, all deltas added before the call began have been moved. Take forgets keys whose
	// delta is zero.
	Take(ctx context.Context, counter string, max int) ([]Taken, error)
	// Aside returns batches that were taken and not forgotten: at least one if there are any,
	// and all of them over several calls if each call's batches are forgotten.
	Aside(ctx context.Context, counter string) ([]Taken, error)
	// Forget drops batches; unknown ids are not an error.
	Forget(ctx context.Context, counter string, ids []string) error
}
