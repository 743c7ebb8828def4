package kafkabus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// All cases use one cluster, as in production; names keep them apart.
func TestConformance(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		// With a short wait, members come and go sooner.
		cfg := kafkabus.Config{Logger: quiet, Options: []kgo.Opt{kgo.FetchMaxWait(100 * time.Millisecond)}}
		scheme := kafkabus.Scheme(cfg)
		open := func(t *testing.T) *bus.Bus {
			b, err := bus.Open(t.Context(), url, scheme)
			require.NoError(t, err)
			return b
		}
		bustest.Run(t, open,
			bustest.Again(func(t *testing.T, _ *bus.Bus) *bus.Bus { return open(t) }),
			bustest.URL(url, scheme),
			bustest.Absent(func(t *testing.T, address string) (*bus.Bus, string) {
				moved, server := servicetest.Elsewhere(t, url, address)
				return openBus(t, cfg, moved), server
			}),
			bustest.Quick())
	})
}
