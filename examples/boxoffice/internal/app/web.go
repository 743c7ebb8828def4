package app

import (
	"context"
	"errors"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/site"
)

// newWeb makes the API and the site.
func newWeb(o *office) (answers *api.API, pages *site.Site, err error) {
	login, err := auth.NewLogin(o.cfg.Secret)
	if err != nil {
		return nil, nil, err
	}
	cfg := api.Config{
		Store: o.store, Catalog: o.sales.catalog, Booking: o.sales.booking, Payments: o.sales.payments, Door: o.sales.door, Login: login,
		Room: o.waiting.room, Entries: o.waiting.entries, Gate: o.waiting.gate, PassKeys: o.waiting.edge, Lane: laneOf(o.base, o.sales.payments), AdminToken: o.cfg.AdminToken, Operator: o.operator, Logger: o.log,
		Social: o.social, Inbox: o.news.inbox, Live: o.news.live, Chat: o.news.chat, Admissions: o.admitted,
	}
	if o.artists != nil {
		cfg.Artists = o.artists.mirror
	}
	if answers, err = api.New(cfg); err != nil {
		return nil, nil, err
	}
	pages, err = site.New(site.Config{Backend: shows{o.sales.catalog}, Edge: answers.Edge, Version: o.opt.Version, Logger: o.log})
	return answers, pages, err
}

// shows are the shows that the site renders on the server.
type shows struct{ catalog *catalog.Catalog }

func (s shows) Shows(ctx context.Context) ([]site.Show, error) {
	all, err := s.catalog.Shows(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]site.Show, len(all))
	for i, show := range all {
		out[i] = siteShow(show)
	}
	return out, nil
}

func (s shows) Show(ctx context.Context, id string) (site.Show, error) {
	show, err := s.catalog.Show(ctx, id)
	if errors.Is(err, catalog.ErrNoShow) {
		return site.Show{}, site.ErrNotFound
	}
	return siteShow(show), err
}

func siteShow(s catalog.Show) site.Show {
	out := site.Show{
		ID: s.ID, Title: s.Title,
		Seats:    site.Seats{Total: s.Seats.Total, Available: s.Seats.Available, Held: s.Seats.Held, Sold: s.Seats.Sold},
		StartsAt: s.StartsAt, DoorsAt: s.DoorsAt, Venue: site.Venue(s.Venue), Currency: s.Currency,
	}
	for _, p := range s.Prices {
		out.Prices = append(out.Prices, site.Price(p))
	}
	for _, p := range s.Performers {
		out.Performers = append(out.Performers, site.Performer(p))
	}
	return out
}
