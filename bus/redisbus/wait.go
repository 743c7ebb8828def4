package redisbus

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/fault"
)

// waitTimeout bounds how long replicas have to confirm.
const waitTimeout = time.Second

// replicated runs the calls, which then have their results, and waits for as many replicas as
// ?wait= requires. Its error is of the waiting.
func (s *store) replicated(ctx context.Context, calls []*call) (err error) {
	if s.cfg.Wait == 0 {
		runAll(ctx, s.client, calls) //nolint:errcheck // the calls have it
		return nil
	}
	// WAIT counts only writes of its own connection.
	conn := s.client.(*redis.Client).Conn()
	defer conn.Close()       //nolint:errcheck // it goes back to the pool
	runAll(ctx, conn, calls) //nolint:errcheck // the calls have it
	n, err := conn.Wait(ctx, s.cfg.Wait, waitTimeout).Result()
	if err == nil && int(n) < s.cfg.Wait {
		err = fault.MarkInfrastructure(fmt.Errorf("%w: %d of %d within %s", errNotReplicated, n, s.cfg.Wait, waitTimeout))
	}
	return err
}
