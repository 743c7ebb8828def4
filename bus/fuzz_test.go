package bus_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
)

// spelled is a scheme that knows a parameter of each kind and connects to nothing.
type spelled struct{}

func (spelled) Names() []string { return []string{"sql"} }

func (spelled) Open(_ context.Context, u *url.URL) (driver.Driver, error) {
	p := driver.NewParams(u)
	p.String("name", "")
	p.Int("partitions", 3, 1)
	p.Duration("poll", 0)
	p.Bool("cluster", false)
	if err := p.Err(); err != nil {
		return nil, err
	}
	// As drivers do: they repeat the URL.
	return nil, fmt.Errorf("dial %s: refused", u)
}

// No URL is opened by accident, and no error shows a password.
func FuzzOpen(f *testing.F) {
	f.Add("sql", "", "h/db?partitions=3")
	f.Add("SQL", "/x", "h?poll=soon&poll=1s")
	f.Add("sql", "#", "h?cluster=perhaps&%zz")
	f.Add("other", "@", "h")
	f.Add("sql", "@a:#b@", "h?partitions=3")
	f.Add("sql", ".;@h", "d0")
	f.Add("", "%", "")
	f.Fuzz(func(t *testing.T, scheme, password, rest string) {
		const mark = "s3cr3t-9q"
		raw := scheme + "://u:" + mark + password + "@" + rest
		b, err := bus.Open(t.Context(), raw, spelled{})
		if b != nil || err == nil {
			t.Fatalf("%q was opened", raw)
		}
		if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, mark) && !strings.Contains(scheme+rest, mark) {
			t.Fatalf("%q: %s", raw, text)
		}
	})
}

// A parameter has the value in the URL, or the error names it. A parameter that is never read is
// always an error.
func FuzzParams(f *testing.F) {
	f.Add("partitions=3&poll=500ms&cluster=true")
	f.Add("partitions=-1")
	f.Add("poll=1&poll=2")
	f.Add("partition=3")
	f.Add("a;b")
	f.Fuzz(func(t *testing.T, query string) {
		p := driver.NewParams(&url.URL{RawQuery: query})
		n, d := p.Int("partitions", 3, 1), p.Duration("poll", 7)
		cluster, name := p.Bool("cluster", false), p.String("name", "none")
		err := p.Err()
		if n < 1 || d <= 0 {
			t.Fatalf("%q is %d and %v", query, n, d)
		}
		if err != nil {
			return
		}
		values, parsed := url.ParseQuery(query)
		require.NoErrorf(t, parsed, "%q was taken", query)
		for k, v := range values {
			if len(v) != 1 || k != "partitions" && k != "poll" && k != "cluster" && k != "name" {
				t.Fatalf("%q was taken with %q", query, k)
			}
		}
		if values.Has("name") != (name != "none") && values.Get("name") != "none" || cluster && !values.Has("cluster") {
			t.Fatalf("%q is the name %q, cluster %t", query, name, cluster)
		}
	})
}
