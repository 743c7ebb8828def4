package mysqloutbox

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/outbox/driver"
)

// Read implements driver.Store.
func (s *store) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	b, err := s.Store.Read(ctx, l, q)
	return b, slow(err)
}

// Read implements driver.Store.
func (s *statusStore) Read(ctx context.Context, l driver.Lease, q driver.Query) (driver.Batch, error) {
	b, err := s.Store.Read(ctx, l, q)
	return b, slow(err)
}

// slow marks the error of a read that the server ended as ErrSlow.
func slow(err error) error {
	if mysqldb.IsTimeout(err) {
		return fmt.Errorf("%w: %w", driver.ErrSlow, err)
	}
	return err
}
