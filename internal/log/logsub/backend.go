package logsub

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/log"
)

// Backend is what a database gives to a [Hub].
type Backend struct {
	// Log holds the messages of all topics.
	Log log.Log
	// Directory holds what else the instances must agree on.
	Directory Directory
	// Append adds entries to the log, all or none: in the transaction that ctx carries
	// where Joins says so, and else it has committed them when it returns.
	Append func(ctx context.Context, entries []log.Entry) error
	// Begin runs fn in a transaction and commits it when fn returns nil. It joins
	// a transaction of the same database that ctx carries, as sqltx.Do does, and
	// hands it on in the context of fn, where Append, Log and Directory join it.
	Begin func(ctx context.Context, fn func(ctx context.Context) error) error
	// Joins reports whether Append and Begin would join a transaction that ctx carries;
	// optional where none can.
	Joins func(ctx context.Context) bool
	// TopicsStay is whether Directory.Ensure commits by itself also when ctx
	// carries a transaction, so that a topic can be remembered at once. Else it
	// may vanish with the transaction's rollback.
	TopicsStay bool
	// LeasesTogether has a member take its partitions in one transaction, which
	// Log.Lease then joins. Set it where writers take turns anyway: elsewhere two
	// members could wait for each other's rows.
	LeasesTogether bool
	// Announce tells other processes what this one has changed; their Hub.Wake
	// and Hub.WakeGroups are the other end. It must not block. Optional: without
	// it they find out when they look by themselves.
	Announce func(Change)
	// Classify judges the driver's errors; optional.
	Classify fault.Classifier
	// Headers is how an entry carries a message's metadata; a JSON object by default.
	Headers Headers
}

// Headers turns metadata that is not empty into Entry.Headers and back, where a
// log has a form of its own for it.
type Headers interface {
	Encode(message.Metadata) (string, error)
	Decode(string) (message.Metadata, error)
}

// Change is news for other processes.
type Change struct {
	Lanes  []int // have new entries
	Groups bool  // a member came or went, or gave up a lane
}

func (b Backend) announce(c Change) {
	if b.Announce != nil {
		b.Announce(c)
	}
}

// joins is Joins of any backend.
func (b Backend) joins(ctx context.Context) bool { return b.Joins != nil && b.Joins(ctx) }

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

// Directory knows the topics, and who is alive in which group.
type Directory interface {
	// Ensure makes the topic with its partitions when it does not exist, on
	// lanes that no other topic has or had. It returns the topic as it is then.
	// A Retention that is not zero replaces that of an existing topic; nothing
	// else of it changes.
	Ensure(ctx context.Context, want Topic) (Topic, error)
	// Topics lists all topics by name.
	Topics(ctx context.Context) ([]Topic, error)
	// Groups lists the groups that have a cursor on every lane of the topic.
	Groups(ctx context.Context, t Topic) ([]string, error)

	// Beat says that the members live for another ttl, by the database's clock.
	Beat(ctx context.Context, ttl time.Duration, members []Member) error
	// Members lists the ids of the group's live members in the order they joined.
	Members(ctx context.Context, topic, group string) ([]string, error)
	// Leave removes a member at once.
	Leave(ctx context.Context, m Member) error

	// Started counts one more start of each cursor with something to do, and returns what
	// is known of them.
	Started(ctx context.Context, cursors []log.Cursor) ([]Start, error)
	// Alone notes that a message is being handled alone, and how often it was then; "" that
	// none is.
	Alone(ctx context.Context, c log.Cursor, message string, times int) error
	// Progress sets the number of starts of the cursors to 0, and forgets what Stopped
	// has kept of them.
	Progress(ctx context.Context, cursors []log.Cursor) error
	// Stopped notes that a cursor is given up in order: the number of starts is 0, and
	// done is kept for the next one. It joins a transaction of the context.
	Stopped(ctx context.Context, c log.Cursor, done string) error
}

// Start is what a cursor's crashes have left.
type Start struct {
	Starts  int    // since the cursor moved last, this one included
	Message string // the id of the message that was being handled alone then; "" for none
	Times   int    // how often it was
	Done    string // what Stopped was told last
}

// Topic is a range of lanes of the log.
type Topic struct {
	Name       string
	FirstLane  int
	Partitions int
	Retention  time.Duration // 0: the hub's default
}

// Member is one subscription of a group, in one process.
type Member struct{ Topic, Group, ID string }
