package limitproof

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/upstream/boottime"
)

// plot has the targets of a fault, and its time.
type plot struct {
	redis   *server
	workers []*launch.Process
	budget  string
	during  span
	draw    *rand.Rand
}

// happened has the effects of a fault.
type happened struct {
	away    []span // Redis was
	forward int    // steps of its clock
	note    string
}

// some draws a time.
func (p *plot) some(from, to time.Duration) time.Duration {
	return from + time.Duration(p.draw.Int64N(int64(to-from)))
}

// share is the moment when a part of the act is over.
func (p *plot) share(part float64) time.Duration {
	return p.during.from + time.Duration(part*float64(p.during.to-p.during.from))
}

// killRedis kills Redis as kill -9 does, and starts it again from its file.
func killRedis(ctx context.Context, p *plot) (h happened, err error) {
	const away = 300 * time.Millisecond
	for _, part := range []float64{0.2, 0.55} {
		if !until(ctx, p.share(part)) {
			return h, ctx.Err()
		}
		p.redis.Kill()
		gone := boottime.Now()
		if !until(ctx, gone+away) {
			return h, ctx.Err()
		}
		h.away = append(h.away, span{gone, boottime.Now()})
		if err := p.redis.Restart(ctx); err != nil {
			return h, err
		}
	}
	return h, nil
}

func flushRedis(ctx context.Context, p *plot) (h happened, err error) {
	n := 0
	for at := p.during.from; at < p.during.to; at += p.some(150*time.Millisecond, 700*time.Millisecond) {
		if !until(ctx, at) {
			return h, ctx.Err()
		}
		if err := p.redis.flush(ctx); err != nil {
			return h, err
		}
		n++
	}
	h.note = fmt.Sprintf("flushed %d times", n)
	return h, nil
}

// stopWorkers stops up to a third of them at a time, wherever they are.
func stopWorkers(ctx context.Context, p *plot) (h happened, err error) {
	stops, longest := 0, time.Duration(0)
	var stopped []*launch.Process
	goOn := func() error {
		for len(stopped) > 0 {
			if err := stopped[0].Resume(); err != nil {
				return err
			}
			stopped = stopped[1:]
		}
		return nil
	}
	defer func() {
		if e := goOn(); err == nil {
			err = e
		}
	}()
	for at := p.during.from; at < p.during.to; at = boottime.Now() + p.some(10*time.Millisecond, 150*time.Millisecond) {
		if !until(ctx, at) {
			return h, ctx.Err()
		}
		for _, i := range p.draw.Perm(len(p.workers))[:1+p.draw.IntN(1+len(p.workers)/3)] {
			if err := p.workers[i].Suspend(); err != nil {
				return h, err
			}
			stopped = append(stopped, p.workers[i])
		}
		stops += len(stopped)
		lasts := p.some(5*time.Millisecond, 700*time.Millisecond)
		longest = max(longest, lasts)
		if !until(ctx, boottime.Now()+lasts) {
			return h, ctx.Err()
		}
		if err := goOn(); err != nil {
			return h, err
		}
	}
	h.note = fmt.Sprintf("%d stops of up to %v", stops, longest.Round(time.Millisecond))
	return h, nil
}

// stepEvery keeps two forward steps more than one second apart: the arithmetic covers
// one.
const stepEvery = 1500 * time.Millisecond

// stepClock sets the clock forward and back, a little and a lot.
func stepClock(ctx context.Context, p *plot) (h happened, err error) {
	steps := []time.Duration{2 * time.Second, -400 * time.Millisecond, time.Hour, -3 * time.Second, 24 * time.Hour, -time.Hour}
	h.note = "steps of"
	for i := 0; ; i++ {
		at := p.during.from + time.Duration(i)*stepEvery
		if at >= p.during.to {
			return h, nil
		}
		if !until(ctx, at) {
			return h, ctx.Err()
		}
		by := steps[i%len(steps)]
		err := p.redis.step(ctx, p.budget, by)
		for errors.Is(err, errNoState) && boottime.Now() < p.during.to && until(ctx, boottime.Now()+20*time.Millisecond) {
			err = p.redis.step(ctx, p.budget, by)
		}
		if err != nil {
			return h, err
		}
		if by > 0 {
			h.forward++
		}
		h.note += " " + signed(by)
	}
}

// signed prints a step with its sign.
func signed(d time.Duration) string {
	if d > 0 {
		return "+" + d.String()
	}
	return d.String()
}
