package config

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
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

// rawQueue has the settings of the waiting room.
type rawQueue struct {
	threshold, active, seen, tick, batch, sweepEvery, entrySecret, opening, memberShare string
}

func (r *rawQueue) settings() []setting {
	return []setting{
		{"QUEUE_THRESHOLD", "queue-threshold", "1000", "how many may be inside an event's sale at once, unless an operator says otherwise", &r.threshold},
		{"QUEUE_ACTIVE_TTL_SECONDS", "queue-active-ttl-seconds", "600", "how long each of them has, and an entry token is valid", &r.active},
		{"QUEUE_SEEN_TTL_SECONDS", "queue-seen-ttl-seconds", "600", "who waits and is not heard of for longer loses the place in line", &r.seen},
		{"QUEUE_ADMISSION_INTERVAL_MS", "queue-admission-interval-ms", "1000", "how often those who are first in line enter", &r.tick},
		{"QUEUE_ADMISSION_BATCH_SIZE", "queue-admission-batch-size", "100", "how many of an event's line enter each time, at most, over all processes", &r.batch},
		{"QUEUE_STALE_CLEANUP_INTERVAL_MS", "queue-stale-cleanup-interval-ms", "30000", "how often those who are not heard of any more are taken out of the line", &r.sweepEvery},
		{"QUEUE_MEMBER_SHARE", "queue-member-share", "30", "how many percent of the turns go to those with a membership of the house at most, before their places in line, 0 to 74", &r.memberShare},
		{"BOXOFFICE_OPENING", "opening", "", "a show whose waiting room opens by a draw, and how many seconds after this start, to try an on-sale: show-5:300; a show that has had an opening keeps it; default: all rooms are open", &r.opening},
		{"QUEUE_ENTRY_TOKEN_SECRET", "queue-entry-token-secret", "", "signs entry tokens and places in line, at least 32 bytes; several separated by commas: the first signs, all verify; default: made and kept in the data folder", &r.entrySecret},
	}
}

// check puts the settings into c.
func (r *rawQueue) check(c *Config, number func(env, text string, low, high int) int, bad func(env, format string, args ...any)) {
	seconds := func(env, text string, low int) time.Duration {
		return time.Duration(number(env, text, low, 86_400)) * time.Second
	}
	ms := func(env, text string, low int) time.Duration {
		return time.Duration(number(env, text, low, 3_600_000)) * time.Millisecond
	}
	c.Queue = Queue{
		Threshold:   number("QUEUE_THRESHOLD", r.threshold, 1, 100_000_000),
		Active:      seconds("QUEUE_ACTIVE_TTL_SECONDS", r.active, 1),
		Seen:        seconds("QUEUE_SEEN_TTL_SECONDS", r.seen, minSeen),
		Tick:        ms("QUEUE_ADMISSION_INTERVAL_MS", r.tick, 10),
		Batch:       number("QUEUE_ADMISSION_BATCH_SIZE", r.batch, 1, 1_000_000),
		SweepEvery:  ms("QUEUE_STALE_CLEANUP_INTERVAL_MS", r.sweepEvery, 1000),
		MemberShare: number("QUEUE_MEMBER_SHARE", r.memberShare, 0, 74),
	}
	var err error
	if c.Queue.Opening, err = parseOpening(r.opening); err != nil {
		bad("BOXOFFICE_OPENING", "%v", err)
	}
	if r.entrySecret == "" {
		return
	}
	c.EntrySecrets = strings.Split(r.entrySecret, ",")
	for _, s := range c.EntrySecrets {
		if err := auth.CheckSecret(s); err != nil {
			bad("QUEUE_ENTRY_TOKEN_SECRET", "%v", err)
		}
	}
}

// checkNotices returns the mistake in the URL of the notices.
func checkNotices(raw string, schemes []string) error {
	if strings.HasPrefix(strings.ToLower(raw), "mem://") {
		return errors.New("mem:// stays inside this process, where nobody listens; use a transport that others read, or leave it out")
	}
	return checkBus(raw, append(slices.Clone(schemes), "sqs"))
}
