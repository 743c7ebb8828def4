package wmsource

import (
	"context"
	"slices"
	"sync"
	"time"
)

// acknowledgements has the acknowledgements that the adapter may not have carried out. A closing
// adapter waits for the acknowledgement and its own end in one select, and so loses about half
// of those made just before. It ends the message's context when it has carried out the
// acknowledgement: that is the only sign.
type acknowledgements struct {
	mu   sync.Mutex
	open []context.Context
	look int // the number at which ended ones are dropped
}

const (
	// patience bounds the wait at the end. Adapters that never end a message's context
	// cost it at each Close.
	patience = 2 * time.Second
	// remembered bounds the memory that such adapters cost.
	remembered = 1024
)

// add stores the context of an acknowledged message.
func (a *acknowledgements) add(ctx context.Context) {
	if ctx.Done() == nil || ctx.Err() != nil {
		return // there is no sign to wait for, or it was received
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

// wait returns when the contexts have ended, or after patience.
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
