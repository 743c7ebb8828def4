package app

import (
	"github.com/millrace-go/millrace/examples/boxoffice/internal/api"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
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
	pages, err = site.New(site.Config{Backend: o.sales.catalog, Edge: answers.Edge, Version: o.opt.Version, Logger: o.log})
	return answers, pages, err
}
