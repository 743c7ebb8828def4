package memcoalesce_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/coalesce"
	"github.com/millrace-go/millrace/coalesce/coalescetest"
	"github.com/millrace-go/millrace/coalesce/driver"
	"github.com/millrace-go/millrace/coalesce/memcoalesce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	coalescetest.Run(t, func(*testing.T) coalescetest.Harness {
		s := memcoalesce.New()
		return coalescetest.Harness{Store: s, Backdate: s.Backdate, Lose: s.Lose}
	})
}

// TestForgetsWhatExpired: keys that are not requested any more are dropped, and locked ones
// stay.
func TestForgetsWhatExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memcoalesce.New()
		ttl := driver.TTLs{High: time.Minute, Low: time.Minute, Version: time.Hour}
		for i := range 5000 {
			_, err := s.Request(t.Context(), fmt.Sprint(i), driver.Low, false, ttl)
			require.NoError(t, err)
		}
		require.Equal(t, 5000, memcoalesce.Len(s), "keys, want all 5000: none has expired")
		time.Sleep(time.Hour + time.Second) // synctest's clock
		for i := range 5000 {
			_, err := s.Request(t.Context(), fmt.Sprint("new ", i), driver.Low, false, ttl)
			require.NoError(t, err)
		}
		assert.Equal(t, 5000, memcoalesce.Len(s), "keys, want the 5000 new ones")
	})
}

func ExampleNew() {
	store := memcoalesce.New()
	coalescer, err := coalesce.New(store, coalesce.Config{})
	if err != nil {
		panic(err)
	}
	for range 2 {
		d, err := coalescer.Request(context.Background(), "artist-7", driver.Low)
		fmt.Println(d.Outcome, err)
	}
	// Output:
	// Published <nil>
	// AlreadyProcessing <nil>
}
