package redisbus_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/redisbus"
	"github.com/millrace-go/millrace/internal/servicetest"
)

func TestConformance(t *testing.T) { conformance(t, single) }

func TestConformanceOnCluster(t *testing.T) { conformance(t, cluster) }

// conformance gives every case a place of its own. Every bus has a client of its own, so
// two buses on one place are like two processes.
func conformance(t *testing.T, newPlace func(testing.TB) place) {
	scheme := redisbus.Scheme(redisbus.Config{})
	places := map[*bus.Bus]string{}
	openAt := func(t *testing.T, url string) *bus.Bus {
		b, err := bus.Open(t.Context(), url, scheme)
		require.NoError(t, err)
		places[b] = url
		return b
	}
	bustest.Run(t, func(t *testing.T) *bus.Bus { return openAt(t, newPlace(t).url) },
		bustest.Again(func(t *testing.T, b *bus.Bus) *bus.Bus { return openAt(t, places[b]) }),
		bustest.URL("redis://127.0.0.1:1/", scheme), // parameters are checked before anything is opened
		bustest.Absent(func(t *testing.T, address string) (*bus.Bus, string) {
			p := newPlace(t)
			url, server := servicetest.Elsewhere(t, p.url, address)
			if _, ok := p.client.(*redis.ClusterClient); ok {
				url += "&cluster=true" // it is named by one of its nodes
			}
			return openAt(t, url), server
		}),
	)
}
