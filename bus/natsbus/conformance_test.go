package natsbus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/natsbus"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

// Every case has a prefix of its own. Every bus has a connection of its own, so two buses
// on one prefix are like two processes.
func TestConformance(t *testing.T) {
	scheme := natsbus.Scheme(natsbus.Config{})
	places := map[*bus.Bus]string{}
	openAt := func(t *testing.T, url string) *bus.Bus {
		b, err := bus.Open(t.Context(), url, scheme)
		require.NoError(t, err)
		places[b] = url
		return b
	}
	bustest.Run(t, func(t *testing.T) *bus.Bus { return openAt(t, natstest.URL(t)) },
		bustest.Again(func(t *testing.T, b *bus.Bus) *bus.Bus { return openAt(t, places[b]) }),
		bustest.URL("nats://127.0.0.1:1/", scheme), // parameters are checked before anything is opened
		bustest.Absent(func(t *testing.T, address string) (*bus.Bus, string) {
			url, server := servicetest.Elsewhere(t, natstest.URL(t), address)
			return openAt(t, url), server
		}),
	)
}
