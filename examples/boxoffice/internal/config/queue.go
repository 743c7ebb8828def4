package config

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// Queue has the settings of the waiting room.
type Queue struct {
	Threshold  int           // how many may be inside an event's sale at once
	Active     time.Duration // how long each of them has
	Seen       time.Duration // a waiting member that is silent for longer is removed from the line
	Tick       time.Duration // how often the line moves
	Batch      int           // how many enter at each of these moments
	SweepEvery time.Duration // how often silent members are looked for
	Opening    Opening       // to try an on-sale
	// MemberShare is how many percent of the turns are for those with a membership; 0 for
	// no lane of theirs.
	MemberShare int
}

// minSeen is three of the longest intervals after which the room asks a client to
// poll again, each a minute and a tenth.
const minSeen = 198

func (c *Config) queueSettings() []setting {
	const day, hour = 86_400, 3_600_000 // in seconds, and in milliseconds
	q := &c.Queue
	return []setting{
		{"QUEUE_THRESHOLD", "queue-threshold", "1000", "how many may be inside an event's sale at once, unless an operator says otherwise", whole(&q.Threshold, 1, 100_000_000)},
		{"QUEUE_ACTIVE_TTL_SECONDS", "queue-active-ttl-seconds", "600", "how long each of them has, and an entry token is valid", times(&q.Active, time.Second, 1, day)},
		{"QUEUE_SEEN_TTL_SECONDS", "queue-seen-ttl-seconds", "600", "who waits and is not heard of for longer loses the place in line", times(&q.Seen, time.Second, minSeen, day)},
		{"QUEUE_ADMISSION_INTERVAL_MS", "queue-admission-interval-ms", "1000", "how often those who are first in line enter", times(&q.Tick, time.Millisecond, 10, hour)},
		{"QUEUE_ADMISSION_BATCH_SIZE", "queue-admission-batch-size", "100", "how many of an event's line enter each time, at most, over all processes", whole(&q.Batch, 1, 1_000_000)},
		{"QUEUE_STALE_CLEANUP_INTERVAL_MS", "queue-stale-cleanup-interval-ms", "30000", "how often those who are not heard of any more are taken out of the line", times(&q.SweepEvery, time.Millisecond, 1000, hour)},
		{"QUEUE_MEMBER_SHARE", "queue-member-share", "30", "how many percent of the turns go to those with a membership of the house at most, before their places in line, 0 to 74", whole(&q.MemberShare, 0, 74)},
		{"BOXOFFICE_OPENING", "opening", "", "a show whose waiting room opens by a draw, and how many seconds after this start, to try an on-sale: show-5:300; a show that has had an opening keeps it; default: all rooms are open", q.Opening.set},
		{"QUEUE_ENTRY_TOKEN_SECRET", "queue-entry-token-secret", "", "signs entry tokens and places in line, at least 32 bytes; several separated by commas: the first signs, all verify; default: made and kept in the data folder", secrets(&c.EntrySecrets)},
	}
}

// checkNotices returns the mistake in the URL of the notices.
func checkNotices(raw string, schemes []string) error {
	if strings.HasPrefix(strings.ToLower(raw), "mem://") {
		return errors.New("mem:// stays inside this process, where nobody listens; use a transport that others read, or leave it out")
	}
	return checkBus(raw, append(slices.Clone(schemes), "sqs"))
}
