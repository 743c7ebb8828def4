package mysqloutbox

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/outbox"
)

// Read implements outbox.Store.
func (s *Store) Read(ctx context.Context, l outbox.Lease, q outbox.Query) (outbox.Batch, error) {
	b, err := s.Store.Read(ctx, l, q)
	return b, slow(err)
}

// Read implements outbox.Store.
func (s *StatusStore) Read(ctx context.Context, l outbox.Lease, q outbox.Query) (outbox.Batch, error) {
	b, err := s.Store.Read(ctx, l, q)
	return b, slow(err)
}

// slow marks the error of a read that the server ended as ErrSlow.
func slow(err error) error {
	if mysqldb.IsTimeout(err) {
		return fmt.Errorf("%w: %w", outbox.ErrSlow, err)
	}
	return err
}
