package sqsbus_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// Every bus has a client of its own, so two of them on one place are to each
// other what two processes are.
func TestConformance(t *testing.T) {
	o := bus.NewOpener(sqsbus.Scheme(sqsbus.Config{}))
	places := map[*bus.Bus]string{}
	openAt := func(t *testing.T, rawURL string) *bus.Bus {
		b, err := o.Open(t.Context(), rawURL)
		if err != nil {
			t.Fatal(err)
		}
		places[b] = rawURL
		return b
	}
	bustest.Run(t, func(t *testing.T) *bus.Bus { return openAt(t, newPlace(t).url) },
		bustest.Again(func(t *testing.T, b *bus.Bus) *bus.Bus { return openAt(t, places[b]) }),
		bustest.URL(o, "sqs://region/"), // parameters are checked before anything is asked
		bustest.Absent(func(t *testing.T, address string) (*bus.Bus, string) {
			_, server := servicetest.Elsewhere(t, servicetest.SQS(t), address)
			return openAt(t, strings.Replace(newPlace(t).url, url.QueryEscape(server), url.QueryEscape(address), 1)), server
		}),
		bustest.Quick(),
	)
}
