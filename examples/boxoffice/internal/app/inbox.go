package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
)

// buildInbox makes the members' inbox. It is made before the streams, which read
// missed notices from it.
func (a *App) buildInbox() (err error) {
	a.inbox, err = inbox.New(a.store, inbox.Config{Holder: a.holder, Traces: a.tracing != nil, Logger: a.log})
	return err
}

// joinInbox lets the inbox send to the streams, once these are made.
func (a *App) joinInbox() {
	if a.live != nil {
		a.inbox.SetSender(a.live.Hub())
	}
}

// startInbox starts the inbox's own work: it fans out, sends live and deletes old
// notices.
func (a *App) startInbox(run *stages) {
	if a.cfg.Has(config.RoleWorker) {
		run.start("notifications", a.inbox.Run)
	}
}

// inboxCollectors are the metrics of the inbox, in processes that run it.
func (a *App) inboxCollectors() []prometheus.Collector {
	if !a.cfg.Has(config.RoleWorker) {
		return nil
	}
	return []prometheus.Collector{a.inbox.Collector()}
}
