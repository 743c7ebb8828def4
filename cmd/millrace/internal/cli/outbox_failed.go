package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
)

// pageFlags choose a part of a list.
type pageFlags struct {
	boxFlags
	after int64
	limit int
}

func (a *app) paged(f *pageFlags, cmd *cobra.Command) *cobra.Command {
	f.of(cmd)
	cmd.Flags().Int64Var(&f.after, "after", 0, "only ids above this one")
	cmd.Flags().IntVar(&f.limit, "limit", 100, "how many at most")
	a.jsonFlag(cmd)
	return cmd
}

// listing is a page of events and whether more follow.
type listing[T any] struct {
	Events []T  `json:"events"`
	More   bool `json:"more"`
}

// pageOf asks an outbox for a page.
func pageOf[T any](ctx context.Context, a *app, f pageFlags, list func(database.Outbox, context.Context, int64, int) ([]T, error)) (p listing[T], err error) {
	if f.limit < 1 || f.limit > 10_000 {
		return p, usage("--limit is %d; give 1 to 10000", f.limit)
	}
	var events []T
	err = a.withBox(ctx, &f.boxFlags, func(box database.Outbox) (err error) {
		events, err = list(box, ctx, f.after, f.limit+1)
		return err
	})
	p.More = len(events) > f.limit
	p.Events = events[:min(len(events), f.limit)]
	return p, err
}

// listed prints a page: as JSON, or as a table, or as a line when it is empty.
func (a *app) listed(v any, rows [][]string, more bool, none string) error {
	if err := a.list(v, rows, none); err != nil {
		return err
	}
	if more && !a.json {
		a.say("there are more: --after %s", rows[len(rows)-1][0])
	}
	return nil
}

// parkedReport is a parked event, as failed shows it.
type parkedReport struct {
	ID          int64     `json:"id"`
	Shard       int       `json:"shard"`
	Topic       string    `json:"topic"`
	MessageID   string    `json:"messageId"`
	Key         string    `json:"key"`
	Attempts    int       `json:"attempts"`
	LastError   string    `json:"lastError"`
	CreatedAt   time.Time `json:"createdAt"`
	FirstFailed time.Time `json:"firstFailedAt"`
	ParkedAt    time.Time `json:"parkedAt"`
}

func (a *app) outboxFailedCommand() *cobra.Command {
	var f pageFlags
	return a.paged(&f, &cobra.Command{
		Use: "failed", Short: "List the events that were given up",
		Long:    "failed lists parked events by id. When there are more than --limit, the last line says how to go on.",
		Example: "  millrace outbox failed --db postgres://app:secret@db/shop --limit 20",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.outboxFailed(cmd.Context(), f) },
	})
}

func (a *app) outboxFailed(ctx context.Context, f pageFlags) error {
	found, err := pageOf(ctx, a, f, database.Outbox.Parked)
	if err != nil {
		return err
	}
	shown := listing[parkedReport]{[]parkedReport{}, found.More}
	rows := [][]string{{"ID", "SHARD", "TOPIC", "EVENT", "KEY", "ATTEMPTS", "GIVEN UP", "ERROR"}}
	for _, p := range found.Events {
		shown.Events = append(shown.Events, parkedReport{p.ID, p.Shard, p.Topic, p.MessageID, p.Key, p.Attempts, p.LastError, p.CreatedAt, p.FirstFailedAt, p.ParkedAt})
		rows = append(rows, []string{
			strconv.FormatInt(p.ID, 10), strconv.Itoa(p.Shard), p.Topic, p.MessageID, orDash(short(p.Key, 24)),
			strconv.Itoa(p.Attempts), moment(p.ParkedAt), short(p.LastError, 80),
		})
	}
	return a.listed(shown, rows, shown.More, "no events were given up")
}

// failingReport is an event that fails and is retried, as failing shows it.
type failingReport struct {
	ID          int64     `json:"id"`
	Shard       int       `json:"shard"`
	Topic       string    `json:"topic"`
	MessageID   string    `json:"messageId"`
	Key         string    `json:"key"`
	Aside       bool      `json:"aside"`
	Attempts    int       `json:"attempts"`
	Retries     int       `json:"retries"`
	AgeSeconds  float64   `json:"ageSeconds"`
	LastError   string    `json:"lastError"`
	CreatedAt   time.Time `json:"createdAt"`
	FailedSince time.Time `json:"failedSince"`
	NextAttempt time.Time `json:"nextAttemptAt"`
}

func (a *app) outboxFailingCommand() *cobra.Command {
	var f pageFlags
	return a.paged(&f, &cobra.Command{
		Use: "failing", Short: "List the events that fail and are tried again",
		Long: "failing lists by id the events that have failed and are not given up yet. AGE is how long an event failed while others got through, by which it is given up; " +
			"it stands still while nothing gets through. An event that is not aside holds up all that is behind it in its shard. When there are more than --limit, the last line says how to go on.",
		Example: "  millrace outbox failing --db postgres://app:secret@db/shop --limit 20\n  millrace outbox failing --json | jq -r '.events[].lastError'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.outboxFailing(cmd.Context(), f) },
	})
}

func (a *app) outboxFailing(ctx context.Context, f pageFlags) error {
	found, err := pageOf(ctx, a, f, database.Outbox.Failing)
	if err != nil {
		return err
	}
	shown := listing[failingReport]{[]failingReport{}, found.More}
	rows := [][]string{{"ID", "SHARD", "TOPIC", "EVENT", "KEY", "ASIDE", "ATTEMPTS", "RETRIES", "AGE", "SINCE", "NEXT ATTEMPT", "ERROR"}}
	for _, e := range found.Events {
		shown.Events = append(shown.Events, failingReport{
			e.ID, e.Shard, e.Topic, e.MessageID, e.Key, e.Aside, e.Attempts, e.Retries, e.Age.Seconds(), e.LastError, e.CreatedAt, e.FailedSince, e.NextAttemptAt,
		})
		rows = append(rows, []string{
			strconv.FormatInt(e.ID, 10), strconv.Itoa(e.Shard), e.Topic, e.MessageID, orDash(short(e.Key, 24)), yesOrNo(e.Aside),
			strconv.Itoa(e.Attempts), strconv.Itoa(e.Retries), e.Age.Round(time.Second).String(), moment(e.FailedSince), moment(e.NextAttemptAt), short(e.LastError, 80),
		})
	}
	return a.listed(shown, rows, shown.More, "no event fails")
}
