package driver

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Params reads the query parameters of a transport's URL. Read each known parameter, then return
// Err: it names every parameter that is malformed, given twice, or unknown because it was not
// read. Values of unknown parameters are not repeated, since they may be secrets.
type Params struct {
	values url.Values
	known  []string
	errs   []error
}

// NewParams reads the query of u.
func NewParams(u *url.URL) *Params {
	values, err := url.ParseQuery(u.RawQuery)
	p := &Params{values: values}
	if err != nil {
		// The parser's own error quotes the offending text.
		p.errs = append(p.errs, errors.New("the query of the URL is malformed; write ?name=value&name=value"))
	}
	return p
}

// String returns the parameter, or def when it is absent.
func (p *Params) String(name, def string) string {
	if s, ok := p.get(name); ok {
		return s
	}
	return def
}

// Int returns the parameter as a whole number of at least min, or def when absent.
func (p *Params) Int(name string, def, min int) int {
	return parsed(p, name, def, fmt.Sprintf("a whole number of at least %d", min), func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= min
	})
}

// Duration returns the parameter as a positive duration such as 500ms or 72h,
// or def when absent.
func (p *Params) Duration(name string, def time.Duration) time.Duration {
	return parsed(p, name, def, "a positive duration such as 500ms or 72h", func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d > 0
	})
}

// Bool returns the parameter as true or false, or def when absent.
func (p *Params) Bool(name string, def bool) bool {
	return parsed(p, name, def, "true or false", func(s string) (bool, bool) {
		b, err := strconv.ParseBool(s)
		return b, err == nil
	})
}

func parsed[T any](p *Params, name string, def T, want string, parse func(string) (v T, ok bool)) T {
	s, given := p.get(name)
	if !given {
		return def
	}
	v, ok := parse(s)
	if !ok {
		p.errs = append(p.errs, fmt.Errorf("parameter %q is %q; give %s", name, s, want))
		return def
	}
	return v
}

// Err returns all errors of the parameters, joined, or nil.
func (p *Params) Err() error {
	errs := slices.Clone(p.errs)
	for name, vs := range p.values {
		switch {
		case !slices.Contains(p.known, name):
			errs = append(errs, fmt.Errorf("unknown parameter %q; known are: %s", name, p.knownNames()))
		case len(vs) > 1:
			errs = append(errs, fmt.Errorf("parameter %q is given %d times; give it once", name, len(vs)))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

func (p *Params) get(name string) (string, bool) {
	p.known = append(p.known, name)
	vs, ok := p.values[name]
	if !ok || len(vs) == 0 {
		return "", false
	}
	return vs[0], true
}

func (p *Params) knownNames() string {
	if len(p.known) == 0 {
		return "none"
	}
	names := slices.Clone(p.known)
	slices.Sort(names)
	return strings.Join(names, ", ")
}
