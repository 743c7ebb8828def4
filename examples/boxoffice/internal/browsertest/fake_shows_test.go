package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
)

// Shows and Show are the shows that the pages render.
func (f *fake) Shows(context.Context) ([]catalog.Show, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	shows := slices.Clone(f.shows)
	for i := range shows {
		f.count(&shows[i])
	}
	return shows, f.broken
}

func (f *fake) Show(_ context.Context, id string) (catalog.Show, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return catalog.Show{}, f.broken
	}
	for _, show := range f.shows {
		if show.ID == id {
			f.count(&show)
			return show, nil
		}
	}
	return catalog.Show{}, fmt.Errorf("%w: %q", catalog.ErrNoShow, id)
}

// billed is a show with its dates: always the same days from now, in the evening of
// the venue. One has performers without a name yet, one has nothing but its prices.
func billed(show catalog.Show, i int) catalog.Show {
	show.Currency = "KRW"
	show.Prices = []catalog.Price{{Class: "VIP", Price: 150_000}, {Class: "R", Price: 120_000}, {Class: "S", Price: 90_000}}
	if i == 3 {
		return show
	}
	seoul, err := time.LoadLocation("Asia/Seoul")
	if err != nil {
		panic(err) // package site brings the zones along
	}
	day := time.Now().In(seoul).AddDate(0, 0, 14*(i+1))
	show.StartsAt = time.Date(day.Year(), day.Month(), day.Day(), 19, 30, 0, 0, seoul)
	show.DoorsAt = show.StartsAt.Add(-time.Hour)
	show.Venue = catalog.Venue{Name: "Han River Hall", City: "Seoul", TimeZone: "Asia/Seoul"}
	show.Performers = []catalog.Performer{{ArtistID: "42", Name: "Luna Vale and the Tide"}, {ArtistID: "113"}}
	return show
}

func (f *fake) count(show *catalog.Show) {
	show.Seats = catalog.Counts{Total: len(f.seats[show.ID])}
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
