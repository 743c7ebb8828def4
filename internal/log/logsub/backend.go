package logsub

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
)

// Backend is the database's part of a [Hub].
type Backend struct {
	// Log holds the messages of all topics.
	Log log.Log
	// Directory holds the other state that the instances share.
	Directory Directory
	// Append adds entries to the log, all or none. It does so in the transaction that ctx
	// carries if Joins reports true; otherwise it has committed them when it returns. Without
	// transactions it can fail for some lanes only; see partial.
	Append func(ctx context.Context, entries []log.Entry) error
	// Begin runs fn in a transaction and commits it when fn returns nil. It joins a transaction
	// of the same database that ctx carries, as sqltx.Do does, and passes it on in the context
	// of fn, where Append, Log and Directory join it.
	Begin func(ctx context.Context, fn func(ctx context.Context) error) error
	// Joins reports whether Append and Begin would join a transaction that ctx carries; optional
	// if they never do.
	Joins func(ctx context.Context) bool
	// TopicsStay reports whether Directory.Ensure commits separately even when ctx carries a
	// transaction, so that a topic can be cached at once. Otherwise the topic may vanish when
	// the transaction rolls back.
	TopicsStay bool
	// TopicsApart calls Append for each topic apart, and writes the cursors and leases of each lane
	// apart, where a part of the server can hang alone.
	TopicsApart bool
	// LeasesTogether makes a member take its partitions in one transaction, which Log.Lease then
	// joins. Set it where writers are serialized anyway: elsewhere two members could wait for
	// each other's rows.
	LeasesTogether bool
	// Announce tells other processes of changes in this one; on their side Hub.Wake and
	// Hub.WakeGroups receive them. It must not block. Optional: without it, the others find
	// changes by polling.
	Announce func(Change)
	// Classify classifies the driver's errors; optional.
	Classify fault.Classifier
	// Headers encodes a message's metadata in an entry; a JSON object by default.
	Headers Headers
}

// Headers converts non-empty metadata to Entry.Headers and back, for a log with a form of its
// own.
type Headers interface {
	Encode(message.Metadata) (string, error)
	Decode(string) (message.Metadata, error)
}

// Change is a notification for other processes.
type Change struct {
	Lanes  []int // lanes with new entries
	Groups bool  // a member joined or left, or released a lane
}

func (b Backend) announce(c Change) {
	if b.Announce != nil {
		b.Announce(c)
	}
}

// joins calls Joins, which may be nil.
func (b Backend) joins(ctx context.Context) bool { return b.Joins != nil && b.Joins(ctx) }

// leasing runs fn, which takes leases, in one transaction if LeasesTogether is set.
func (b Backend) leasing(ctx context.Context, fn func(ctx context.Context) error) error {
	if b.LeasesTogether {
		return b.Begin(ctx, fn)
	}
	return fn(ctx)
}

func (b Backend) classifiers() []fault.Classifier {
	if b.Classify == nil {
		return nil
	}
	return []fault.Classifier{b.Classify}
}

func (b Backend) headers() Headers {
	if b.Headers == nil {
		return jsonHeaders{}
	}
	return b.Headers
}

func (b Backend) validate() error {
	switch {
	case b.Log == nil:
		return errors.New("logsub: Backend.Log is nil")
	case b.Directory == nil:
		return errors.New("logsub: Backend.Directory is nil")
	case b.Append == nil:
		return errors.New("logsub: Backend.Append is nil")
	case b.Begin == nil:
		return errors.New("logsub: Backend.Begin is nil")
	}
	return nil
}

// Directory knows the topics, and the live members of each group.
type Directory interface {
	// Ensure makes the topic with its partitions if it does not exist, on lanes that no other
	// topic has or had. It returns the topic as it is then. A non-zero Retention replaces that
	// of an existing topic; its other fields do not change.
	Ensure(ctx context.Context, want Topic) (Topic, error)
	// Topics lists all topics, in any order.
	Topics(ctx context.Context) ([]Topic, error)
	// Groups lists the groups that have a cursor on every lane of the topic.
	Groups(ctx context.Context, t Topic) ([]string, error)

	// Beat extends the life of the members by ttl, by the database's clock.
	Beat(ctx context.Context, ttl time.Duration, members []Member) error
	// Members lists the ids of the group's live members in the order they joined.
	Members(ctx context.Context, topic, group string) ([]string, error)
	// Leave removes a member at once.
	Leave(ctx context.Context, m Member) error

	// Started counts one more start of each cursor with entries to handle, and returns their
	// recorded starts.
	Started(ctx context.Context, cursors []log.Cursor) ([]Start, error)
	// Alone records that a message is being handled alone, and how often it has been; "" records
	// that none is.
	Alone(ctx context.Context, c log.Cursor, message string, times int) error
	// Progress sets the number of starts of the cursors to 0, and deletes the state that Stopped
	// stored for them.
	Progress(ctx context.Context, cursors []log.Cursor) error
	// Stopped records an orderly stop of a cursor: the number of starts is 0, and done is stored
	// for the next holder. It joins a transaction of the context.
	Stopped(ctx context.Context, c log.Cursor, done string) error
}

// Start is the state that crashes of a cursor's holders have left.
type Start struct {
	Starts  int    // since the cursor moved last, this one included
	Message string // the id of the message that was being handled alone at the crash; "" for none
	Times   int    // how often it was handled alone
	Done    string // the last done of Stopped
}

// Topic is a range of lanes of the log.
type Topic struct {
	Name       string
	FirstLane  int
	Partitions int
	Retention  time.Duration // 0: the hub's default
	// Replication is how many copies a cluster keeps; 0: its own default. It is used when the
	// topic is made.
	Replication int
}

// OnEvery returns the groups that are on every lane of the topic, sorted; lanes has the number of
// lanes on which each group is.
func (t Topic) OnEvery(lanes map[string]int) []string {
	maps.DeleteFunc(lanes, func(_ string, n int) bool { return n < t.Partitions })
	return slices.Sorted(maps.Keys(lanes))
}

// Member is one subscription of a group, in one process.
type Member struct{ Topic, Group, ID string }
