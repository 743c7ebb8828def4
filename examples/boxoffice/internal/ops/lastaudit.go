package ops

import (
	"context"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
)

const (
	auditFor = 15 * time.Second
	// firstAudit is how long a caller waits for the very first audit.
	firstAudit = time.Second
)

// lastAudit is the last audit, for callers that do not wait for one.
type lastAudit struct {
	wanted signal.Signal // the last one is asked for

	mu    sync.Mutex
	first chan struct{} // closed with the first outcome
	audit *Audit        // nil: none has worked
	at    time.Time
	err   error // why the latest did not work
}

func newLastAudit() *lastAudit {
	return &lastAudit{wanted: signal.New(), first: make(chan struct{})}
}

type recentAudit struct {
	Audit
	AgeSeconds *float64 `json:"ageSeconds"` // null when no audit has worked yet
	Error      string   `json:"error"`      // why the latest did not work
}

func (l *lastAudit) note(a Audit, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.audit == nil && l.err == nil {
		close(l.first)
	}
	if l.err = err; err == nil {
		l.audit, l.at = &a, time.Now()
	}
}

func (l *lastAudit) last() recentAudit {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := recentAudit{Audit: Audit{Checks: []Check{}}}
	if l.err != nil {
		r.Error = l.err.Error()
	}
	if l.audit != nil {
		r.Audit, r.AgeSeconds = *l.audit, seconds(time.Since(l.at))
	}
	return r
}

// Run audits while audits are asked for, at most once in Every.
func (b *Books) Run(ctx context.Context) {
	for {
		select {
		case <-b.recent.wanted:
		case <-ctx.Done():
			return
		}
		limited, cancel := context.WithTimeout(ctx, auditFor)
		a, err := b.AuditNow(limited)
		cancel()
		b.recent.note(a, err)
		select {
		case <-time.After(b.every):
		case <-ctx.Done():
			return
		}
	}
}

// RecentInvariants returns the last audit and its age, and starts the next one. It waits a moment
// for the first one alone, and never for the transport.
func (b *Books) RecentInvariants(ctx context.Context) (any, error) {
	b.recent.wanted.Wake()
	wait, cancel := context.WithTimeout(ctx, firstAudit)
	defer cancel()
	select {
	case <-b.recent.first:
	case <-wait.Done():
	}
	return b.recent.last(), ctx.Err()
}
