package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
)

func (a *app) outboxAdoptCommand() *cobra.Command {
	var b boxFlags
	cmd := b.of(&cobra.Command{
		Use: "adopt", Short: "Keep the relays' places after pg_upgrade, and go on from them",
		Long: "adopt is for a database whose server was replaced by one that knows its transactions: after pg_upgrade relays and consumers refuse to run, because the system identifier is another one. " +
			"adopt keeps their places, so that what waits is published, and nothing is published twice. Without --kind it also adopts the postgres:// transport and the log of counters in the database. " +
			"It refuses, and changes nothing, when the rows hold transaction ids that the server has yet to give out. This is so after a dump was restored: then use rebase.",
		Example: "  millrace outbox adopt --db postgres://app:secret@db/shop\n  millrace outbox adopt --yes --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.outboxAdopt(cmd.Context(), b) },
	})
	a.yesFlag(cmd, "do not ask")
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) outboxAdopt(ctx context.Context, b boxFlags) (err error) {
	d, err := b.open(ctx, a)
	if err != nil {
		return err
	}
	defer closing(d.Close, &err)
	var kinds []database.Kind
	if b.kind != "" {
		if kinds, err = b.kinds(ctx, d); err != nil {
			return err
		}
	}
	logs, err := d.Logs(ctx, kinds...)
	if err != nil {
		return err
	}
	return a.adopt(ctx, logs)
}

// adoptReport is the outcome for programs.
type adoptReport struct {
	Logs []adoptedLog `json:"logs"`
}

type adoptedLog struct {
	Name    string `json:"name"`
	Adopted bool   `json:"adopted"` // false without an error: the places move with the data
	Error   string `json:"error,omitempty"`
}

// adopt asks, and adopts each log on its own: a refusal of one log does not stop the
// others, and adopting again is harmless.
func (a *app) adopt(ctx context.Context, logs []database.Log) error {
	var names []string
	for _, log := range logs {
		if log.Adopter != nil {
			names = append(names, log.Name)
		}
	}
	r := adoptReport{Logs: []adoptedLog{}}
	if len(names) > 0 {
		question := "Keep the places of " + strings.Join(names, ", ") + " as they are, and go on from them on this server?"
		if err := a.confirm(ctx, question); err != nil {
			return err
		}
	}
	refused := 0
	for _, log := range logs {
		one := adoptedLog{Name: log.Name}
		if log.Adopter != nil {
			err := log.Adopter.Adopt(ctx)
			if err != nil && ctx.Err() != nil {
				if len(r.Logs) == 0 {
					return ctx.Err()
				}
				return cmp.Or(a.showAdopted(r), ctx.Err())
			}
			if one.Adopted = err == nil; err != nil {
				one.Error = a.hide(err)
				refused++
			}
		}
		r.Logs = append(r.Logs, one)
	}
	if err := a.showAdopted(r); err != nil {
		return err
	}
	if refused == 0 {
		return nil
	}
	a.say("millrace: not adopted: %d of %d. Keep relays and consumers stopped. After a dump was restored on another server, use "+
		"`millrace outbox rebase --since TIME` with a time before the dump was made: it publishes again what was appended since, and nothing older.", refused, len(logs))
	return errWrong
}

func (a *app) showAdopted(r adoptReport) error {
	lines := make([]string, len(r.Logs))
	for i, one := range r.Logs {
		switch {
		case one.Error != "":
			lines[i] = one.Name + ": refused: " + one.Error
		case one.Adopted:
			lines[i] = one.Name + ": adopted; relays and consumers go on from their places"
		default:
			lines[i] = one.Name + ": positions travel with the data; nothing to adopt"
		}
	}
	return a.answer(r, "%s", strings.Join(lines, "\n"))
}
