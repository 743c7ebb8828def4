package gate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/queue"
)

// alive remembers the visitors that the room has heard of lately. It forgets all of
// them at once every so often, so that it holds no more than came within that time.
type alive struct {
	every time.Duration
	mu    sync.Mutex
	since time.Time
	heard map[string]struct{}
}

// due says whether the room should hear of the visitor now, and takes note that it
// will.
func (a *alive) due(user string) bool {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.since) >= a.every {
		a.since, a.heard = now, make(map[string]struct{}, len(a.heard))
	}
	if _, ok := a.heard[user]; ok {
		return false
	}
	a.heard[strings.Clone(user)] = struct{}{} // a member may be a part of a large header
	return true
}

func (a *alive) forget(user string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.heard, user)
}

// stillInside tells the room of a visitor with a pass, when it is due, and says
// whether the visitor has the place. While the room cannot be asked, the pass
// decides.
func (g *Gate) stillInside(ctx context.Context, user string) bool {
	if !g.alive.due(user) {
		return true
	}
	place, err := g.room.Heartbeat(ctx, g.cfg.Event, queue.Visitor{User: user})
	switch {
	case ctx.Err() != nil:
		g.alive.forget(user)
		return true
	case err != nil:
		g.complain("gate: the room cannot be told of a visitor inside; the pass is valid until its end", err)
		return true
	case place.Status != queue.Active:
		g.alive.forget(user)
		return false
	}
	return true
}

// keepAlive tells the room of a visitor for as long as a request is open, until the
// returned function is called.
func (g *Gate) keepAlive(ctx context.Context, user string) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var mu sync.Mutex // held while the room is told, so that stop waits for it
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(g.cfg.AliveEvery, func() {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		defer func() {
			if p := recover(); p != nil { // here it would end the process, and not a request
				g.complain("gate: the room could not be told of an open stream", fmt.Errorf("panic: %v", p))
			}
			timer.Reset(g.cfg.AliveEvery)
		}()
		g.stillInside(ctx, user)
	})
	return func() {
		cancel()
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
	}
}
