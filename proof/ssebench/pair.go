package ssebench

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/proof/part"
)

// pair is a server and the crowd that is connected to it, each a process.
type pair struct {
	server, crowd *part.Part
	conns         int
	sent          int64   // messages, as the crowd should have got them
	before        float64 // bytes of the server without a stream
	fresh, idle   float64 // bytes for each stream
}

// openPair starts both and waits until an event reaches all clients.
func openPair(ctx context.Context, cfg Config, name string, conns int, ping time.Duration) (_ *pair, err error) {
	p := &pair{conns: conns}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.server, err = part.Start(ctx, Part, "server", name, strconv.Itoa(cfg.Size), ping.String()); err != nil {
		return nil, err
	}
	addr, err := p.server.Next(ctx)
	if err != nil {
		return nil, err
	}
	memory, err := p.server.Ask(ctx, "memory")
	if err != nil {
		return nil, err
	}
	p.before = memory[1]
	if p.crowd, err = part.Start(ctx, Part, "crowd", addr, strconv.Itoa(conns)); err != nil {
		return nil, err
	}
	if _, err := p.crowd.Ask(ctx, "open"); err != nil {
		return nil, err
	}
	for reached := 0.0; int(reached) < conns; { // a stream is open when something came
		if _, err := p.server.Ask(ctx, "greet"); err != nil {
			return nil, err
		}
		greeted, err := p.crowd.Ask(ctx, "greeted %d", (200 * time.Millisecond).Milliseconds())
		if err != nil {
			return nil, err
		}
		reached = greeted[0]
	}
	if memory, err = p.server.Ask(ctx, "memory"); err != nil {
		return nil, err
	}
	p.fresh, p.idle = (memory[0]-p.before)/float64(conns), (memory[1]-p.before)/float64(conns)
	return p, nil
}

func (p *pair) fan(ctx context.Context, burst int) error {
	p.sent += int64(burst) * int64(p.conns)
	if _, err := p.server.Ask(ctx, "send %d", burst); err != nil {
		return err
	}
	_, err := p.crowd.Ask(ctx, "wait %d", p.sent)
	return err
}

func (p *pair) close() error { return errors.Join(p.crowd.Close(), p.server.Close()) }
