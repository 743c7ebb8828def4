package ssebench

import (
	"context"
	"errors"
	"time"

	"github.com/millrace-go/millrace/proof/report"
	"github.com/millrace-go/millrace/proof/together"
)

// fleet is several servers with their crowds.
type fleet []*pair

// openFleet opens streams over as many servers as a process's limit of open files requires.
// Close its result even beside an error.
func openFleet(ctx context.Context, cfg Config, name string, streams int, ping time.Duration) (f fleet, err error) {
	servers := (streams + cfg.Most - 1) / cfg.Most
	for i := range servers {
		p, err := openPair(ctx, cfg, name, streams*(i+1)/servers-streams*i/servers, ping)
		if err != nil {
			return f, err
		}
		f = append(f, p)
	}
	return f, nil
}

// load sends events to all streams, the next when the last has arrived everywhere.
func (f fleet) load(ctx context.Context, span time.Duration, burst int) (report.Pace, error) {
	if err := f.fan(ctx, burst); err != nil { // the first finds no buffers
		return report.Pace{}, err
	}
	before, err := f.sum(ctx, "cpu")
	if err != nil {
		return report.Pace{}, err
	}
	start, sent := time.Now(), f.sent()
	for time.Since(start) < span {
		if err := f.fan(ctx, burst); err != nil {
			return report.Pace{}, err
		}
	}
	took, messages := time.Since(start), float64(f.sent()-sent)
	after, err := f.sum(ctx, "cpu")
	if err != nil {
		return report.Pace{}, err
	}
	return report.Pace{Rate: messages / took.Seconds(), CPU: time.Duration((after - before) / messages)}, nil
}

// fan has all servers send at the same time.
func (f fleet) fan(ctx context.Context, burst int) error {
	return together.All(len(f), func(i int) error { return f[i].fan(ctx, burst) })
}

// sent is how many messages the crowds should have got.
func (f fleet) sent() (n int64) {
	for _, p := range f {
		n += p.sent
	}
	return n
}

// sum asks all servers.
func (f fleet) sum(ctx context.Context, what string) (total float64, err error) {
	for _, p := range f {
		got, err := p.server.Ask(ctx, what)
		if err != nil {
			return 0, err
		}
		total += got[0]
	}
	return total, nil
}

func (f fleet) close() (err error) {
	for _, p := range f {
		err = errors.Join(err, p.close())
	}
	return err
}
