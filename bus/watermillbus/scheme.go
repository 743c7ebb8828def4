package watermillbus

import (
	"context"
	"net/url"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// Scheme returns a scheme whose URLs open a Watermill Pub/Sub. open reads the URL, with
// [driver.NewParams] for its query, and does not connect.
func Scheme(name string, open func(ctx context.Context, u *url.URL) (Config, error)) bus.Scheme {
	return scheme{name, func(ctx context.Context, u *url.URL) (driver.Driver, error) {
		cfg, err := open(ctx, u)
		if err != nil {
			return nil, err
		}
		return New(cfg)
	}}
}

type scheme struct {
	name string
	open func(ctx context.Context, u *url.URL) (driver.Driver, error)
}

func (s scheme) Names() []string { return []string{s.name} }

func (s scheme) Open(ctx context.Context, u *url.URL) (driver.Driver, error) { return s.open(ctx, u) }
