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
	// carefulStarts is the number of the start without progress from which on messages are
	// handled alone.
	carefulStarts = 3
	// mostCareful is the most messages handled alone.
	mostCareful = 256
)

// count counts this start, before the first message is handed over: the death of an idle process
// says nothing about later messages.
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

// tellProgress records that Directory knows.
func (l *lane) tellProgress() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = true
}

// leftover returns the entries done behind the cursor's position, for the next holder. tell
// reports whether Directory has to record this stop.
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

// mostDone bounds the bytes that one stop stores: some 100,000 gaps.
const mostDone = 512 << 10

// mark distinguishes a position from any other. It has no space.
func mark(p log.Position) string { return fmt.Sprintf("%s/%s/%d", p.From, p.To, p.ID) }

// recall returns the entries that the last holder had done behind the cursor, if the cursor is
// still at the position where it stopped.
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
