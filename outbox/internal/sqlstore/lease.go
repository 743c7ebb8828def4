package sqlstore

import (
	"context"
	"time"
)

// GiveBack releases a lease whose holder will not hear of it, because what comes
// after taking it failed. Else others would wait until it runs out.
func GiveBack(ctx context.Context, release func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = release(ctx) // it runs out by itself
}
