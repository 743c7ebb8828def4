package sqsbus_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance(t, "sqs://region/", func(t *testing.T) place { return newPlace(t) })
}

func TestStandardConformance(t *testing.T) {
	t.Parallel()
	conformance(t, "sqs://region/", func(t *testing.T) place { return newPlace(t).standard() })
}

func TestSNSConformance(t *testing.T) {
	t.Parallel()
	conformance(t, "sns://region/", func(t *testing.T) place { return newSNSPlace(t) })
}

func TestSNSStandardConformance(t *testing.T) {
	t.Parallel()
	conformance(t, "sns://region/", func(t *testing.T) place { return newSNSPlace(t).standard() })
}

// conformance runs the suite on a fresh place for each case. Every bus has a client of its
// own, so two buses on one place are like two processes.
func conformance(t *testing.T, anyURL string, fresh func(t *testing.T) place) {
	scheme := sqsbus.Scheme(sqsbus.Config{})
	places := map[*bus.Bus]string{}
	openAt := func(t *testing.T, rawURL string) *bus.Bus {
		b, err := bus.Open(t.Context(), rawURL, scheme)
		require.NoError(t, err)
		places[b] = rawURL
		return b
	}
	bustest.Run(t, func(t *testing.T) *bus.Bus { return openAt(t, fresh(t).url) },
		bustest.Again(func(t *testing.T, b *bus.Bus) *bus.Bus { return openAt(t, places[b]) }),
		bustest.URL(anyURL, scheme), // parameters are checked before anything is asked
		bustest.Absent(func(t *testing.T, address string) (*bus.Bus, string) {
			p := fresh(t)
			moved, server := servicetest.Elsewhere(t, p.endpoint, address)
			return openAt(t, strings.Replace(p.url, url.QueryEscape(p.endpoint), url.QueryEscape(moved), 1)), server
		}),
		bustest.Quick(),
	)
}
