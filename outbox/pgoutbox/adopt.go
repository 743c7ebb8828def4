package pgoutbox

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/internal/log/pglog"
)

func adopt(ctx context.Context, log *pglog.Log) error {
	if err := log.Adopt(ctx); err != nil {
		return fmt.Errorf("outbox: adopt: %w", err)
	}
	return nil
}
