package redisqueue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/redisqueue"
)

// A sample replaces an earlier one of its minute, times in line add up, and old minutes
// are neither told nor kept.
func TestFigures(t *testing.T) {
	for kind, connect := range servers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := connect(t)
			prefix := redistest.Prefix(t, client)
			store, err := redisqueue.New(client, redisqueue.Config{Prefix: prefix})
			require.NoError(t, err)
			now, err := client.Time(t.Context()).Result()
			require.NoError(t, err)
			minute := now.Unix() / 60
			samples, err := store.(driver.Recorder).Samples(t.Context(), "e")
			require.NoError(t, err)
			require.Empty(t, samples)
			first := driver.Sample{Minute: minute - 70, Epoch: 1<<53 - 1, Joined: 5, Entered: 2, NoShows: 1, Waiting: 3, Entitled: 1, Active: 2, Highest: 1<<53 - 3, Waits: map[int]int64{3: 1}}
			later := first
			left := 40
			later.Joined, later.Waits, later.Returned, later.Returning, later.Stock, later.Laned = 9, map[int]int64{3: 4, 40: 2}, 3, 1, &left, 4
			first.Laned = 2
			last := driver.Sample{Minute: minute, Epoch: 7, Joined: 20}
			old := driver.Sample{Minute: minute - 721, Epoch: 7, Joined: 1}
			for _, one := range []driver.Sample{last, first, later, old} {
				require.NoError(t, store.(driver.Recorder).Record(t.Context(), "e", one))
			}
			require.NoError(t, store.(driver.Recorder).Record(t.Context(), "other", last))
			samples, err = store.(driver.Recorder).Samples(t.Context(), "e")
			require.NoError(t, err)
			later.Laned += first.Laned
			later.Waits, last.Waits = map[int]int64{3: 5, 40: 2}, map[int]int64{}
			require.Equal(t, []driver.Sample{later, last}, samples)
			for name, ttl := range ttls(t, client, prefix) {
				require.True(t, strings.HasPrefix(name, "figures:"), name)
				require.InDelta(t, 13*time.Hour, ttl, float64(time.Minute))
			}
		})
	}
}
