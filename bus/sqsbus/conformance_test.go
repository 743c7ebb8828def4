package sqsbus_test

import (
	"testing"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/sqsbus"
)

// Every bus has a client of its own, so two of them on one place are to each
// other what two processes are.
func TestConformance(t *testing.T) {
	o := bus.NewOpener(sqsbus.Scheme(sqsbus.Config{}))
	places := map[*bus.Bus]string{}
	openAt := func(t *testing.T, url string) *bus.Bus {
		b, err := o.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		places[b] = url
		return b
	}
	bustest.Run(t, func(t *testing.T) *bus.Bus { return openAt(t, newPlace(t).url) },
		bustest.Again(func(t *testing.T, b *bus.Bus) *bus.Bus { return openAt(t, places[b]) }),
		bustest.URL(o, "sqs://region/"), // parameters are checked before anything is asked
		bustest.Quick(),
	)
}
