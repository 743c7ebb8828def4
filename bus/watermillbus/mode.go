package watermillbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// WithMode adds ?mode=watermill to a scheme: open opens URLs with this parameter, which is
// removed before. native opens other URLs. without has the native parameters that have no meaning
// in the mode, each with the reason; a URL that has one is refused.
func WithMode(native bus.Scheme, without map[string]string, open func(ctx context.Context, u *url.URL) (driver.Driver, error)) bus.Scheme {
	return modeScheme{native, without, open}
}

type modeScheme struct {
	bus.Scheme // the native one
	without    map[string]string
	open       func(ctx context.Context, u *url.URL) (driver.Driver, error)
}

func (s modeScheme) Open(ctx context.Context, u *url.URL) (driver.Driver, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || !query.Has("mode") {
		return s.Scheme.Open(ctx, u)
	}
	if modes := query["mode"]; len(modes) > 1 || modes[0] != "watermill" {
		return nil, errors.New("parameter \"mode\" has another value than watermill, or several; give mode=watermill for Watermill's own adapter, or leave it out")
	}
	query.Del("mode")
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if why, ok := s.without[name]; ok {
			return nil, fmt.Errorf("parameter %q has no meaning with mode=watermill: %s; leave it out", name, why)
		}
	}
	plain := *u
	plain.RawQuery = query.Encode()
	return s.open(ctx, &plain)
}
