package bus_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/membus"
)

// scheme is a scheme whose Open calls open.
type scheme struct {
	name string
	open func(u *url.URL) (driver.Driver, error)
}

func (s scheme) Names() []string { return []string{s.name} }
func (s scheme) Open(_ context.Context, u *url.URL) (driver.Driver, error) {
	return s.open(u)
}

func TestOpenErrors(t *testing.T) {
	const password = "hunter2"
	o := []bus.Scheme{membus.Scheme(), scheme{"sql", func(u *url.URL) (driver.Driver, error) {
		p := driver.NewParams(u)
		p.Int("pool", 1, 1)
		if err := p.Err(); err != nil {
			return nil, err
		}
		// As drivers do, it repeats its URL.
		return nil, errors.New("cannot connect to " + u.User.Username() + ":" + password + "@" + u.Host)
	}}}
	for rawURL, want := range map[string][]string{
		"kafka://user:hunter2@host":         {"unknown scheme", `"kafka"`, "mem, sql"},
		"":                                  {"no scheme", "mem://…, sql://…"},
		"just text":                         {"no scheme"},
		"user:hunter2@host":                 {"no scheme"},
		"/path/hunter2://x":                 {"no scheme"},
		"sql://user:hunter2@host?poll=3":    {"sql", `unknown parameter "poll"`, "known are: pool"},
		"sql://user:hunter2@host?pool=no":   {`"pool" is "no"`, "at least 1"},
		"sql://user:hunter2@host?a;b":       {"malformed"},
		"sql://user:hunter2@host/db":        {"cannot connect to user:xxxxx@host"},
		"sql://user:hunter2/%zz@host/db":    {"sql", "malformed", "percent-encode"},
		"sql://user:hunter2%zz@host/db":     {"malformed"},
		"mem://?secret=hunter2&retention=1": {`unknown parameter "secret"`, "known are: retention"},
	} {
		b, err := bus.Open(t.Context(), rawURL, o...)
		if err == nil {
			b.Close()
			t.Errorf("%q was opened", rawURL)
			continue
		}
		for _, w := range want {
			assert.Containsf(t, err.Error(), w, "%q: %v; want %q in it", rawURL, err, w)
		}
		assert.NotContainsf(t, err.Error(), password, "%q: the error shows the password: %v", rawURL, err)
	}
	if _, err := bus.Open(t.Context(), "kafka://h", o...); !errors.Is(err, bus.ErrUnknownScheme) {
		t.Errorf("got %v, want ErrUnknownScheme", err)
	}
	if _, err := bus.Open(t.Context(), "mem://"); err == nil || !strings.Contains(err.Error(), "given no schemes") {
		t.Errorf("Open without schemes: %v", err)
	}
}

func TestOpenIgnoresTheCaseOfTheScheme(t *testing.T) {
	b, err := bus.Open(t.Context(), "MEM://", membus.Scheme())
	require.NoError(t, err)
	defer b.Close()
	assert.Equal(t, "mem", b.Name(), "Name")
}

func TestParams(t *testing.T) {
	u, err := url.Parse("x://h?s=text&n=7&d=1m30s&b=true")
	require.NoError(t, err)
	p := driver.NewParams(u)
	if p.String("s", "") != "text" || p.Int("n", 0, 1) != 7 || p.Duration("d", 0) != 90*time.Second || !p.Bool("b", false) {
		t.Error("a value was misread")
	}
	if p.String("s2", "def") != "def" || p.Int("n2", 5, 1) != 5 || p.Duration("d2", time.Second) != time.Second || !p.Bool("b2", true) {
		t.Error("a default was misread")
	}
	assert.NoError(t, p.Err())
	u, err = url.Parse("x://h?d=-1s&b=perhaps&n=0&twice=1&twice=2&unknown=secret")
	require.NoError(t, err)
	p = driver.NewParams(u)
	p.Duration("d", 0)
	p.Bool("b", false)
	p.Int("n", 1, 1)
	p.String("twice", "")
	got := p.Err()
	for _, want := range []string{`"d" is "-1s"`, `"b" is "perhaps"`, `"n" is "0"`, `"twice" is given 2 times`, `unknown parameter "unknown"; known are: b, d, n, twice`} {
		if got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("%v; want %q in it", got, want)
		}
	}
	assert.NotContainsf(t, got.Error(), "secret", "the value of an unknown parameter is shown: %v", got)
}
