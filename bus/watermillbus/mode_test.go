package watermillbus_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/watermillbus"
)

var errNative, errMode = errors.New("native"), errors.New("the mode")

type native struct{}

func (native) Names() []string { return []string{"any"} }

func (native) Open(context.Context, *url.URL) (driver.Driver, error) { return nil, errNative }

func TestWithMode(t *testing.T) {
	var got *url.URL
	s := watermillbus.WithMode(native{}, map[string]string{"bad": "it is not good"}, func(_ context.Context, u *url.URL) (driver.Driver, error) {
		got = u
		return nil, errMode
	})
	for raw, want := range map[string]error{
		"any://u:p@h/?a=b":                         errNative,
		"any://u:p@h/?a=%zz":                       errNative, // the error names the mistake
		"any://u:p@h/?mode=watermill&a=%zz":        errNative, // and it is not lost on the way to the mode
		"any://u:p@h/?a=b&mode=watermill":          errMode,
		"any://u:p@h/?mode=tx":                     nil,
		"any://u:p@h/?mode=":                       nil,
		"any://u:p@h/?mode=watermill&mode=another": nil,
	} {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		_, err = s.Open(t.Context(), u)
		if want != nil && !errors.Is(err, want) || want == nil && (err == nil || !strings.Contains(err.Error(), "mode=watermill")) {
			t.Errorf("%s: got %v, want %v", raw, err, want)
		}
	}
	if !slices.Equal(s.Names(), []string{"any"}) || got.String() != "any://u:p@h/?a=b" {
		t.Errorf("the scheme is %s, the mode was given %s", s.Names(), got)
	}
}

func TestWithModeRefusesParameters(t *testing.T) {
	s := watermillbus.WithMode(native{}, map[string]string{"bad": "it is not good"}, func(context.Context, *url.URL) (driver.Driver, error) {
		return nil, errMode
	})
	_, err := s.Open(t.Context(), &url.URL{RawQuery: "mode=watermill&good=1&bad=s3cret"})
	if err == nil || !strings.Contains(err.Error(), `"bad"`) || !strings.Contains(err.Error(), "it is not good") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Open(t.Context(), &url.URL{RawQuery: "mode=watermill&good=1"}); !errors.Is(err, errMode) {
		t.Error(err)
	}
}
