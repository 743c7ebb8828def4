package watermillbus_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/watermillbus"
)

var errNative, errMode = errors.New("native"), errors.New("the mode")

type native struct{}

func (native) Name() string { return "any" }

func (native) Open(context.Context, *url.URL) (bus.Driver, error) { return nil, errNative }

func TestWithMode(t *testing.T) {
	var got *url.URL
	s := watermillbus.WithMode(native{}, func(_ context.Context, u *url.URL) (bus.Driver, error) {
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
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Open(t.Context(), u)
		if want != nil && !errors.Is(err, want) || want == nil && (err == nil || !strings.Contains(err.Error(), "mode=watermill")) {
			t.Errorf("%s: got %v, want %v", raw, err, want)
		}
	}
	if s.Name() != "any" || got.String() != "any://u:p@h/?a=b" {
		t.Errorf("the scheme is %s, the mode was given %s", s.Name(), got)
	}
}

func TestRefuse(t *testing.T) {
	u := &url.URL{RawQuery: "good=1&bad=s3cret"}
	err := watermillbus.Refuse(u, map[string]string{"bad": "it is not good"})
	if err == nil || !strings.Contains(err.Error(), `"bad"`) || !strings.Contains(err.Error(), "it is not good") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
	if err := watermillbus.Refuse(u, map[string]string{"other": "it is not good"}); err != nil {
		t.Error(err)
	}
}
