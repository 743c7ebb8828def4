package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/site"
)

// Shows and Show are what the pages render.
func (f *fake) Shows(context.Context) ([]site.Show, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	shows := slices.Clone(f.shows)
	for i := range shows {
		f.count(&shows[i])
	}
	return shows, f.broken
}

func (f *fake) Show(_ context.Context, id string) (site.Show, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return site.Show{}, f.broken
	}
	for _, show := range f.shows {
		if show.ID == id {
			f.count(&show)
			return show, nil
		}
	}
	return site.Show{}, fmt.Errorf("%w: %q", site.ErrNotFound, id)
}

func (f *fake) count(show *site.Show) {
	show.Seats = site.Seats{Total: len(f.seats[show.ID])}
	for _, seat := range f.seats[show.ID] {
		switch seat.Status {
		case "AVAILABLE":
			show.Seats.Available++
		case "HOLD":
			show.Seats.Held++
		default:
			show.Seats.Sold++
		}
	}
}

func (f *fake) getShow(r *http.Request, _ string) (int, any) {
	for _, show := range f.shows {
		if show.ID == r.PathValue("id") {
			f.count(&show)
			answer := f.social.counts(show.ID)
			answer["id"], answer["title"] = show.ID, show.Title
			answer["seats"] = map[string]int{
				"total": show.Seats.Total, "available": show.Seats.Available, "held": show.Seats.Held, "sold": show.Seats.Sold,
			}
			return 200, answer
		}
	}
	return 404, fault{"No such show", ""}
}
