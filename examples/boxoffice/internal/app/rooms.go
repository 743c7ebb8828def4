package app

import (
	"context"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

// operatedRooms adds the waiting room of each show to the operator's reports.
func (a *App) operatedRooms(cfg *ops.Config) {
	if a.waiting == nil {
		return
	}
	cfg.Rooms = &ops.RoomsConfig{Room: a.waiting.room, Gate: a.waiting.gate, Shows: func(ctx context.Context) ([]ops.RoomShow, error) {
		shows, err := a.catalog.Shows(ctx)
		if err != nil {
			return nil, err
		}
		all := make([]ops.RoomShow, len(shows))
		for i, show := range shows {
			all[i] = ops.RoomShow{ID: show.ID, Title: show.Title}
		}
		return all, nil
	}}
}
