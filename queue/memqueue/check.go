package memqueue

import (
	"context"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/internal/roomcalls"
)

const maxOrder = roomcalls.MaxOrder

func check(ctx context.Context, event string, r driver.Rules) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if event == "" {
		return roomcalls.Bad("the event has no name")
	}
	return roomcalls.CheckRules(r)
}
