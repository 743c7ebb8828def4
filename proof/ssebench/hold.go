package ssebench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/proof/part"
	"github.com/millrace-go/millrace/proof/report"
)

// hold opens more streams than a process may have files, over as many servers as
// needed, and keeps them with pings.
func hold(ctx context.Context, cfg Config, name string, out *report.Recorder) (err error) {
	start := time.Now()
	f, err := openFleet(ctx, cfg, name, cfg.Held, cfg.Ping)
	defer func() { err = errors.Join(err, f.close()) }()
	if err != nil {
		return err
	}
	out.Title("%d streams held, %s, by %d servers, opened in %s, a ping every %s", cfg.Held, name, len(f), time.Since(start).Round(100*time.Millisecond), cfg.Ping)
	before, err := f.sum(ctx, "cpu")
	if err != nil {
		return err
	}
	for _, p := range f {
		if _, err := p.crowd.Ask(ctx, "forget"); err != nil {
			return err
		}
	}
	start = time.Now()
	least, ended, err := f.pings(ctx, cfg)
	if err != nil {
		return err
	}
	took := time.Since(start)
	after, err := f.sum(ctx, "cpu")
	if err != nil {
		return err
	}
	memory, empty := 0.0, 0.0
	for _, p := range f {
		now, err := p.server.Ask(ctx, "memory")
		if err != nil {
			return err
		}
		memory, empty = memory+now[1], empty+p.before
	}
	out.Told("MB of all servers, "+name, report.Value(memory/1e6, "MB"))
	out.Told("kB of a stream, "+name, report.Value((memory-empty)/1e3/float64(cfg.Held), "kB"))
	out.Told(fmt.Sprintf("%% of a CPU, of all servers, over %s, %s", took.Round(time.Second), name), report.Value(100*(after-before)/float64(took), "%"))
	out.AtLeast("pings that each of them got, at least, "+name, report.Value(least, "pings"), float64(cfg.Pings))
	out.Exactly("streams that have ended, "+name, report.Value(ended, "streams"), 0)
	if ended > 0 {
		return fmt.Errorf("%.0f streams have ended", ended)
	}
	return nil
}

// pings waits until each stream has got its pings.
func (f fleet) pings(ctx context.Context, cfg Config) (least, ended float64, err error) {
	give := time.NewTimer(time.Duration(cfg.Pings+1)*cfg.Ping + part.Patience)
	defer give.Stop()
	again := time.NewTicker(cfg.Ping / 20)
	defer again.Stop()
	for {
		least, ended = float64(1<<30), 0
		for _, p := range f {
			got, err := p.crowd.Ask(ctx, "pings")
			if err != nil {
				return 0, 0, err
			}
			least, ended = min(least, got[0]), ended+got[1]
		}
		if int(least) >= cfg.Pings || ended > 0 {
			return least, ended, nil
		}
		select {
		case <-again.C:
		case <-give.C:
			return least, ended, nil
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		}
	}
}
