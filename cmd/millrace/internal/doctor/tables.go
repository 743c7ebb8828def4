package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
)

// sqlServer examines a database server: whether it is reached at its addresses and lets the user
// of the URL in, how it is set up, and Millrace's tables in it. fix is for a URL that cannot be
// used, and refused reports why the server does not let the user in.
func (e *examination) sqlServer(ctx context.Context, addresses []string, fix string, refused func(error), setUp func(*sql.DB)) {
	d, err := database.Open(e.target.URL, false)
	if err != nil {
		e.unusable(err, fix)
		return
	}
	defer d.Close() //nolint:errcheck // everything it had to say was said
	if len(addresses) > 0 && !e.reach(ctx, addresses) {
		return
	}
	dialing, cancel := e.within(ctx)
	err = d.DB.PingContext(dialing)
	cancel()
	if err != nil {
		refused(err)
		return
	}
	setUp(d.DB)
	e.snapshot(ctx, d)
	e.tables(ctx, d)
}

// tables checks the versions of Millrace's tables.
func (e *examination) tables(ctx context.Context, d *database.Database) {
	d.Names = e.Names
	names := []string{database.PartBus}
	if e.forDatabase() {
		names = database.PartNames()
		if !e.forTransport() {
			names = slices.DeleteFunc(names, func(name string) bool { return name == database.PartBus })
		}
	}
	var current, missing []string
	for _, name := range names {
		state, err := e.stateOf(ctx, d, name)
		if err != nil {
			e.add(Error, "migrations", fmt.Sprintf("the tables of %s cannot be looked at: %s", name, e.said(err)), "give this user the right to read them")
			return
		}
		switch {
		case state.Missing() && slices.Contains(e.Packages, name):
			e.add(Error, "migrations", "the tables of "+name+" are missing", "millrace migrate up --package "+name)
		case state.Missing():
			missing = append(missing, name)
		case state.Pending() > 0:
			e.add(Error, "migrations", fmt.Sprintf("the tables of %s are behind: %d of %d migrations are pending", name, state.Pending(), len(state.Steps)),
				"millrace migrate up --package "+name)
		default:
			current = append(current, name)
		}
		if len(state.Unknown) > 0 {
			e.add(Warning, "migrations", "the tables of "+name+" were made by a newer Millrace than this tool", "use the tool of the application's version")
		}
	}
	switch {
	case len(current) > 0 && len(missing) > 0:
		e.ok("migrations", "tables up to date: %s; not there: %s", strings.Join(current, ", "), strings.Join(missing, ", "))
	case len(current) > 0:
		e.ok("migrations", "tables up to date: %s", strings.Join(current, ", "))
	case len(missing) == len(names) && e.target.Purpose == Transport:
		e.ok("migrations", "no tables yet; the transport makes them when it is first opened")
	case len(missing) == len(names):
		e.add(Warning, "migrations", "the database has no tables of Millrace", "millrace migrate up; or is it another database, or another schema?")
	}
	if slices.Contains(current, database.PartOutbox) || slices.Contains(current, database.PartStatus) {
		e.outboxes(ctx, d)
	}
}

// stateOf is the state of a part; of the idempotency table in either layout.
func (e *examination) stateOf(ctx context.Context, d *database.Database, name string) (state database.State, err error) {
	layouts := []string{""}
	if name == database.PartIdempotency {
		layouts = database.Layouts()
	}
	for _, layout := range layouts {
		parts, perr := database.Parts(d.Dialect, layout, d.Names, name)
		if perr != nil {
			return state, perr
		}
		ctx, cancel := e.within(ctx)
		state, err = d.StateOf(ctx, parts[0])
		cancel()
		if err != nil || !state.Missing() {
			return state, err
		}
	}
	return state, nil
}

// outboxes checks whether events are published.
func (e *examination) outboxes(ctx context.Context, d *database.Database) {
	ctx, cancel := e.within(ctx)
	defer cancel()
	kinds, err := d.Kinds(ctx)
	if err != nil {
		e.add(Error, "outbox", fmt.Sprintf("the outbox cannot be looked at: %s", e.said(err)), "give this user the right to read its tables")
		return
	}
	for _, kind := range kinds {
		box, err := d.Outbox(ctx, kind)
		if err != nil {
			e.add(Error, "outbox", fmt.Sprintf("the outbox (%s) cannot be opened: %s", kind, e.said(err)), "millrace migrate status")
			continue
		}
		shards, err := box.Stats(ctx)
		if err != nil {
			e.add(Error, "outbox", fmt.Sprintf("the outbox (%s) cannot be counted: %s", kind, e.said(err)),
				"after pg_upgrade: millrace outbox adopt; after a restore on another system: millrace outbox rebase; else the server's log says more")
			continue
		}
		parked, waiting := 0, 0
		for _, s := range shards {
			parked += s.Parked
			if s.Holder == "" && s.Backlog > 0 && time.Since(s.Oldest) > 10*time.Second {
				waiting += s.Backlog
			}
		}
		if parked > 0 {
			e.add(Warning, "outbox", fmt.Sprintf("events of the outbox (%s) that were given up: %d", kind, parked),
				"millrace outbox failed says why; millrace outbox retry gives them back")
		}
		if waiting > 0 {
			e.add(Warning, "outbox", fmt.Sprintf("no relay has the lease of the outbox (%s), and events wait: %d", kind, waiting), "start a relay")
		}
	}
}
