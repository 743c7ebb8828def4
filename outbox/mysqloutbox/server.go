package mysqloutbox

import (
	"context"
	"fmt"
	"time"

	"github.com/millrace-go/millrace/outbox/driver"
)

// server is what both stores do beyond their own rows: they look for commits of other processes,
// and find the oldest transaction.
type server struct {
	transactions
	poll  time.Duration
	watch func(ctx context.Context, idle time.Duration, wake func()) error
}

// Listen implements driver.Listener by polling, see Config.Poll.
func (s server) Listen(ctx context.Context, wake func()) error {
	if s.poll < 0 {
		return fmt.Errorf("mysqloutbox: Config.Poll is negative: %w", driver.ErrUnsupported)
	}
	return s.watch(ctx, s.poll, wake)
}
