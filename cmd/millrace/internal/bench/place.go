package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// ErrTaken reports that something of the name exists already. Nothing was done.
var ErrTaken = errors.New("it is there already, and may be somebody's")

// place is where a measurement works. It is removed at the end.
type place struct {
	url    string // to work there
	what   string // the things that are created and removed
	remove func(context.Context) error
}

// taken refuses a place that is not free; by is the command that removes the place.
func taken(what, by string) error {
	return fmt.Errorf("%s: %w; use another --name, or, if a run was killed, remove it: %s", what, ErrTaken, by)
}

// removing bounds the removal, which continues after an interruption.
const removing = 30 * time.Second

// in creates a place, works there, and removes it in every case.
func (c Config) in(ctx context.Context, make func(context.Context) (*place, error), work func(context.Context, *place) error) error {
	p, err := make(ctx)
	if err != nil {
		return err
	}
	c.Step("made " + p.what)
	err = work(ctx, p)
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), removing)
	defer cancel()
	if rerr := p.remove(rest); rerr != nil {
		return errors.Join(err, fmt.Errorf("%s could not be removed; remove it by hand: %w", p.what, rerr))
	}
	c.Step("removed " + p.what)
	return err
}

// Plan describes the things that a measurement of a server creates and removes.
func (c Config) Plan(rawURL string) string {
	c = c.withDefaults()
	scheme, _, _ := strings.Cut(rawURL, "://")
	if s, ok := c.sites()[strings.ToLower(scheme)]; ok {
		return s.plan
	}
	return "the keys that begin with " + c.Name
}

// parsed is a URL, whose error does not quote it.
func parsed(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("the URL is malformed; percent-encode special characters in user and password")
	}
	return u, nil
}

// with returns a URL with other values of parameters.
func with(u url.URL, values map[string]string) string {
	query := u.Query()
	for name, value := range values {
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u.String()
}
