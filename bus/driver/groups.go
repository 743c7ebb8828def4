package driver

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Group is a consumer group of a topic.
type Group struct {
	Lag
	// Positions has the position of each partition: the position of the first message that the
	// group has not acknowledged, in the transport's numbers (offsets on Kafka, row numbers in
	// SQL, milliseconds × 2^20 + n on Redis). An unknown position is -1; for a transport without
	// positions, Positions is nil.
	Positions []int64
	// Live reports whether the group has members. A crashed member counts until its lease or
	// session ends.
	Live bool
}

// Place is a position at which reading begins in a topic. The zero Place is before the earliest
// retained message; set at most one of Latest, Since and Positions.
type Place struct {
	// Latest is behind the newest message.
	Latest bool
	// Since is before the first message of each partition that was published at this time or
	// later, to the millisecond, by the transport's clock.
	Since time.Time
	// Positions is before the first message at or behind the position of each partition.
	// Partitions that are left out keep their position.
	Positions map[int]int64
	// OnlyBack applies to a reset: partitions whose position is before the place keep it, so
	// that nothing is skipped.
	OnlyBack bool
}

// Moved is the effect of a reset on the group. It is counted while the group does not move:
// messages published during the count may be included, and messages acknowledged behind the old
// position may be missing. Kafka counts offsets, also those of transaction markers.
type Moved struct {
	Again   int64 // messages before the group's old position that the group gets again
	Skipped int64 // messages behind the old position that the group does not get
}

// GroupAdmin is implemented by drivers whose groups can be listed and deleted.
type GroupAdmin interface {
	// Groups lists the groups of the topics, or of all topics when none is named. Where the transport cannot list them, Groups returns those that this process knows.
	Groups(ctx context.Context, topics ...string) ([]Group, error)
	// DeleteGroup removes a group that has no members from a topic.
	DeleteGroup(ctx context.Context, topic, group string) error
}

// GroupResetter is implemented by drivers whose groups can get messages again.
type GroupResetter interface {
	// ResetGroup moves a group that has no members, and deletes everything else that the
	// transport stores for the group: acknowledgements behind its position, counts of crashes. A
	// member that starts during a reset gets the group before or after it, never between. With
	// dryRun it changes nothing.
	ResetGroup(ctx context.Context, topic, group string, to Place, dryRun bool) (Moved, error)
}

// Reader is implemented by drivers that can read a topic's retained messages from a place.
type Reader interface {
	// Read calls fn for each message from the place to the present end, partition by partition,
	// in the order of each. It consumes nothing. If fn returns an error, Read stops.
	Read(ctx context.Context, topic string, from Place, fn func(*message.Message) error) error
}
