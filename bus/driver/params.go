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
	s, ok := p.get(name)
	if !ok {
		return def
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < min {
		p.errs = append(p.errs, fmt.Errorf("parameter %q is %q; give a whole number of at least %d", name, s, min))
		return def
	}
	return n
}

// Duration returns the parameter as a positive duration such as 500ms or 72h,
// or def when absent.
func (p *Params) Duration(name string, def time.Duration) time.Duration {
	s, ok := p.get(name)
	if !ok {
		return def
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		p.errs = append(p.errs, fmt.Errorf("parameter %q is %q; give a positive duration such as 500ms or 72h", name, s))
		return def
	}
	return d
}

// Bool returns the parameter as true or false, or def when absent.
func (p *Params) Bool(name string, def bool) bool {
	s, ok := p.get(name)
	if !ok {
		return def
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		p.errs = append(p.errs, fmt.Errorf("parameter %q is %q; give true or false", name, s))
		return def
	}
	return b
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
