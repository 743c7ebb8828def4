package sqlstore

import (
	"context"
	"time"
)

// GiveBack releases a lease when a step after taking it failed, so that its holder will never
// know of it. Otherwise other relays would wait until the lease runs out.
func GiveBack(ctx context.Context, release func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = release(ctx) // the lease also runs out by itself
}
