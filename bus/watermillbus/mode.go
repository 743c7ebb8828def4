package watermillbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/millrace-go/millrace/bus"
)

// WithMode adds ?mode=watermill to a scheme: open opens URLs with this parameter, which is
// removed before. native opens other URLs.
func WithMode(native bus.Scheme, open func(ctx context.Context, u *url.URL) (bus.Driver, error)) bus.Scheme {
	return modeScheme{native, open}
}

type modeScheme struct {
	bus.Scheme // the native one
	open       func(ctx context.Context, u *url.URL) (bus.Driver, error)
}

func (s modeScheme) Open(ctx context.Context, u *url.URL) (bus.Driver, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || !query.Has("mode") {
		return s.Scheme.Open(ctx, u)
	}
	if modes := query["mode"]; len(modes) > 1 || modes[0] != "watermill" {
		return nil, errors.New("parameter \"mode\" has another value than watermill, or several; give mode=watermill for Watermill's own adapter, or leave it out")
	}
	query.Del("mode")
	plain := *u
	plain.RawQuery = query.Encode()
	return s.open(ctx, &plain)
}

// Refuse returns an error for the first parameter of the URL that has no meaning in
// ?mode=watermill. reasons has the name and the reason of each such parameter.
func Refuse(u *url.URL, reasons map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		if why, ok := reasons[name]; ok {
			return fmt.Errorf("parameter %q has no meaning with mode=watermill: %s; leave it out", name, why)
		}
	}
	return nil
}
