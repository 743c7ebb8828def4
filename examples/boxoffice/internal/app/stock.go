package app

import (
	"context"
	"errors"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/queue/driver"
)

// stock is how many members a show can still serve: the seats that are not sold. Held ones
// count, since their holders are inside as well. While all are held, no member enters. A
// look at the shows is shared by all that ask at about the same time,
// so it costs a read of an index at most ten times a second.
func stock(shows *catalog.Catalog) func(ctx context.Context, event string) (int, error) {
	return func(ctx context.Context, event string) (int, error) {
		show, err := shows.Show(ctx, event)
		switch {
		case errors.Is(err, catalog.ErrNoShow):
			return driver.MaxStock, nil // a room of an operator's own
		case err != nil:
			return 0, err
		case show.Seats.Available == 0:
			return 0, nil
		}
		return show.Seats.Available + show.Seats.Held, nil
	}
}
