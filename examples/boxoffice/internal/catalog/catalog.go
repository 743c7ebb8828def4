package catalog

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
)

//go:embed sql/catalog.sql
var catalogSQL string

// ErrNoShow is returned for an id that names no show.
var ErrNoShow = errors.New("catalog: no such show")

type statements struct {
	Shows, Seats, Hold, Asked, Keep, Price, Sell, Release string
	Title, SoldOf, AnyAvailable, LockShow, AnyUnsold      string
	Facts, Classes, Performers                            string
}

// Catalog reads and moves seats. It is put together here of the parts that have its
// methods. It is safe for concurrent use.
type Catalog struct {
	*Listing
	*Seating
}

// New makes a Catalog on an open store.
func New(s *store.Store, outbox store.Appender) (*Catalog, error) {
	sql := &statements{}
	if err := s.Load(catalogSQL, sql); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	l := newListing(s, sql)
	return &Catalog{Listing: l, Seating: &Seating{outbox: outbox, sql: sql, listing: l}}, nil
}
