package logsub

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/internal/log"
)

const (
	// carefulStarts is from which start without progress on messages are handled alone.
	carefulStarts = 3
	// mostCareful is how many of them at most.
	mostCareful = 256
)

// count counts this start, before the first message is handed over: a process that dies
// while it has nothing to do says nothing about what comes later.
func (l *lane) count(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	starts, err := l.sub.hub.b.Directory.Started(ctx, []log.Cursor{l.lease.Cursor})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start, l.counted = starts[0], true
	l.done = l.recall(starts[0].Done)
	if l.start.Starts >= carefulStarts || l.start.Times > 0 {
		l.careful = min(l.sub.window.Size(), mostCareful)
		l.sub.log.Warn("bus: a partition was started again and again without progress; its messages are handled one alone at a time",
			slog.Int("lane", l.lease.Lane), slog.Int("starts", l.start.Starts))
	}
	return nil
}

// unknownProgress reports whether the cursor has moved and Directory does not know.
func (l *lane) unknownProgress() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progressed && !l.told
}

// tellProgress notes that Directory knows.
func (l *lane) tellProgress() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = true
}

// leftover is what is done behind the cursor's place, for the next holder. tell is whether
// Directory has anything to learn of this stop.
func (l *lane) leftover() (done string, tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := slices.Collect(maps.Keys(l.done))
	for _, p := range l.tracker.Behind() {
		if p.id != 0 {
			ids = append(ids, p.id)
		}
	}
	if len(ids) == 0 {
		return "", l.counted && !l.told
	}
	return mark(l.reached()) + " " + kit.EncodeDone(0, ids, mostDone), true
}

// mostDone bounds in bytes what one stop keeps: some 100,000 gaps.
const mostDone = 512 << 10

// mark tells a place from any other. It has no space.
func mark(p log.Position) string { return fmt.Sprintf("%s/%s/%d", p.From, p.To, p.ID) }

// recall is what the last holder had done behind the cursor, if that is still where it
// was left.
func (l *lane) recall(kept string) map[int64]struct{} {
	at, list, ok := strings.Cut(kept, " ")
	if !ok || at != mark(l.lease.Position) {
		return nil
	}
	done, err := kit.DecodeDone(0, list)
	if err != nil {
		l.sub.log.Warn("bus: what the last holder of a partition had done behind its cursor cannot be read; it is delivered again",
			slog.Int("lane", l.lease.Lane), slog.Any("error", err))
		return nil
	}
	return done
}
