package wmsource

import (
	"context"
	"slices"
	"sync"
	"time"
)

// acknowledgements are those that the adapter may not have carried out. An adapter that is
// closed looks at the acknowledgement and at its own end in one select, and so forgets
// about half of those that were given just before. It ends the message's context when it
// has carried out the acknowledgement: that is the only sign.
type acknowledgements struct {
	mu   sync.Mutex
	open []context.Context
	look int // how many there are when it is time to drop those that have ended
}

const (
	// patience bounds the wait at the end. Adapters that never end a message's context
	// cost it at each Close.
	patience = 2 * time.Second
	// remembered bounds what such adapters cost in memory.
	remembered = 1024
)

// add remembers the context of a message that was acknowledged.
func (a *acknowledgements) add(ctx context.Context) {
	if ctx.Done() == nil || ctx.Err() != nil {
		return // there is no sign to wait for, or it was given
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = append(a.open, ctx)
	if len(a.open) <= a.look {
		return
	}
	a.open = slices.DeleteFunc(a.open, func(ctx context.Context) bool { return ctx.Err() != nil })
	if n := len(a.open); n > remembered {
		a.open = slices.Delete(a.open, 0, n-remembered)
	}
	a.look = 2*len(a.open) + 16
}

// wait returns when the contexts have ended, or after a moment.
func (a *acknowledgements) wait() {
	a.mu.Lock()
	open := a.open
	a.open = nil
	a.mu.Unlock()
	over := time.NewTimer(patience)
	defer over.Stop()
	for _, ctx := range open {
		select {
		case <-ctx.Done():
		case <-over.C:
			return
		}
	}
}
