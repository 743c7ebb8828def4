package redisratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redistest"
	"github.com/millrace-go/millrace/ratelimit/driver"
)

// TestAReturnIsSentOnce loses the answer to a permit that is given back, on a Cluster, whose client
// sends other calls again: a permit that came back twice would be used twice.
func TestAReturnIsSentOnce(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprint("strict=", strict), func(t *testing.T) {
			client, lose := redistest.Lossy(t)
			s := stillIn(t, client, name(t, client), strict)
			s.ask(driver.High, false)
			s.clock.move(time.Hour)
			first, second := s.one(driver.Low), s.one(driver.Low)
			require.Equal(t, first.At, second.At)
			s.giveBack(first.At)
			s.one(driver.Low)
			lose("evalsha", func() {})
			err := s.store.Return(t.Context(), s.plan, driver.Returned{Priority: driver.Low, Size: 1, At: first.At})
			require.Equal(t, s.plan.Burst-2, s.one(driver.Low).Remaining[driver.High])
			require.Equal(t, fault.Infrastructure, fault.Of(err), "%v", err)
		})
	}
}
