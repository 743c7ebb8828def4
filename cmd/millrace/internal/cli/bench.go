package cli

import (
	"cmp"
	"context"
	"fmt"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/bench"
	"github.com/millrace-go/millrace/cmd/millrace/internal/redact"
)

// benchFlags choose the measurements and their settings.
type benchFlags struct {
	db, bus, redis string
	seconds        int
	cfg            bench.Config
}

func (a *app) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure your own servers for a few seconds",
		Long: "bench measures how fast an outbox is in the database of --db (append, drain, from commit to publish), how fast the transport of --bus carries messages (round trip, publish, handle), " +
			"and how fast the Redis of --redis decides about a limit. Without a URL those of the environment are measured.\n\n" +
			"It writes to each server, and puts load on it: up to 200,000 rows or messages of --size bytes within --seconds for each part. " +
			"It works in a place of its own, which it makes first and removes at the end, also after Ctrl-C: the schema (PostgreSQL), database (MySQL) or file (SQLite) of --name; the topic, exchange, streams or queue of that name; Redis keys that begin with it. " +
			"Where any of them is there already it refuses to run. Of a killed run it says what to remove.",
		Example: "  millrace bench --db postgres://app:secret@db/shop\n  millrace bench --bus kafka://k1,k2,k3/ --redis redis://cache/0 --seconds 10 --json > bench.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.seconds < 1 || f.seconds > 60 {
				return usage("--seconds is %d; give 1 to 60", f.seconds)
			}
			if f.cfg.Size < 1 || f.cfg.Callers < 1 { // 0 is a default of the package, and no value of a flag
				return usage("--size is %d and --callers %d; give at least 1", f.cfg.Size, f.cfg.Callers)
			}
			f.cfg.Window = time.Duration(f.seconds) * time.Second
			if err := f.cfg.Validate(); err != nil {
				return usageError{err}
			}
			if f.db+f.bus+f.redis == "" {
				f.db, f.bus, f.redis = a.Env(dbVariable), a.Env(busVariable), a.Env(redisVariable)
			}
			if f.db+f.bus+f.redis == "" {
				return usage("there is nothing to measure: give --db, --bus or --redis, or set %s, %s or %s", dbVariable, busVariable, redisVariable)
			}
			return a.bench(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.db, "db", "", "URL of a database, for the outbox (or "+dbVariable+")")
	flags.StringVar(&f.bus, "bus", "", "URL of a transport (or "+busVariable+")")
	flags.StringVar(&f.redis, "redis", "", "URL of a Redis, for the limiter (or "+redisVariable+")")
	flags.IntVar(&f.seconds, "seconds", 3, "how long each part takes, 1 to 60")
	flags.IntVar(&f.cfg.Size, "size", 500, "bytes of each payload, 1 to 65536")
	flags.IntVar(&f.cfg.Callers, "callers", 16, "how many append or publish at a time, 1 to 256; four times as many ask the limiter")
	flags.StringVar(&f.cfg.Name, "name", "millrace_bench", "of all that is made")
	offersURLs(cmd, "db", dbSchemes()...)
	offersURLs(cmd, "bus", busSchemes()...)
	offersURLs(cmd, "redis", redisSchemes()...)
	a.jsonFlag(cmd)
	return cmd
}

// benchReport is the result for programs. Parts that were not requested are null.
type benchReport struct {
	Name        string           `json:"name"`
	Seconds     int              `json:"seconds"`
	Size        int              `json:"sizeBytes"`
	Callers     int              `json:"callers"`
	Interrupted bool             `json:"interrupted"`
	Outbox      *outboxReport    `json:"outbox"`
	Transport   *transportReport `json:"transport"`
	Limiter     *limiterReport   `json:"limiter"`
}

type measured struct {
	URL   string `json:"url"` // without credentials
	Error string `json:"error,omitempty"`
}

type outboxReport struct {
	measured
	bench.OutboxResult
}

type transportReport struct {
	measured
	bench.TransportResult
}

type limiterReport struct {
	measured
	bench.LimiterResult
}

func (a *app) bench(ctx context.Context, f benchFlags) error {
	signal.Ignore(syscall.SIGPIPE) // the end of what reads the progress leaves nothing behind on a server
	for _, raw := range []string{f.db, f.bus, f.redis} {
		if raw != "" {
			a.urls = append(a.urls, raw)
			a.say("%s: makes %s, and removes it at the end", plain(redact.URL(raw)), f.cfg.Plan(raw))
		}
	}
	drawn := a.progress()
	f.cfg.Step = func(text string) { drawn.step("%s", text) }
	f.cfg.Progress = func(text string) { drawn.draw("%s", text) }
	f.cfg.Logger = a.logger()
	r := benchReport{Name: f.cfg.Name, Seconds: f.seconds, Size: f.cfg.Size, Callers: f.cfg.Callers}
	var first error
	of := func(raw string, err error) measured {
		m := measured{URL: redact.URL(raw)}
		if err != nil {
			m.Error = a.hide(err)
			if ctx.Err() == nil {
				drawn.end()
				a.say("millrace: %s: %s", plain(m.URL), m.Error)
			}
			first = cmp.Or(first, err)
		}
		return m
	}
	if f.db != "" {
		result, err := bench.Outbox(ctx, f.db, f.cfg)
		r.Outbox = &outboxReport{of(f.db, err), result}
	}
	if f.bus != "" && ctx.Err() == nil {
		result, err := bench.Transport(ctx, f.bus, f.cfg)
		r.Transport = &transportReport{of(f.bus, err), result}
	}
	if f.redis != "" && ctx.Err() == nil {
		result, err := bench.Limiter(ctx, f.redis, f.cfg)
		r.Limiter = &limiterReport{of(f.redis, err), result}
	}
	drawn.end()
	r.Interrupted = ctx.Err() != nil
	err := a.showBench(r)
	switch {
	case ctx.Err() != nil:
		a.say("what was measured by then is shown, and what was made is removed unless it says otherwise")
		if first != nil {
			a.say("%s", a.hide(first))
		}
		return ctx.Err()
	case err != nil:
		return err
	case first != nil:
		return errWrong
	}
	return nil
}

func (a *app) showBench(r benchReport) error {
	return a.list(r, r.rows(), "nothing was measured")
}

// rows are the measurements for people.
func (r benchReport) rows() [][]string {
	rows := [][]string{{"MEASURED", "PER SECOND", "P50", "P99", "OF"}}
	rate := func(name string, perSecond float64, of string) {
		if perSecond > 0 {
			rows = append(rows, []string{name, strconv.FormatFloat(perSecond, 'f', 0, 64), "-", "-", of})
		}
	}
	took := func(name, perSecond string, l *bench.Latency, of string) {
		if l != nil && l.Count > 0 {
			rows = append(rows, []string{name, perSecond, milliseconds(l.P50), milliseconds(l.P99), of})
		}
	}
	if o := r.Outbox; o != nil {
		rate("outbox append", o.AppendPS, fmt.Sprintf("%d events of %d bytes, 10 in a transaction, %d callers", o.Appended, r.Size, r.Callers))
		rate("outbox drain", o.DrainPS, counted(int(o.Drained), "event"))
		if o.ToPublish != nil {
			took("outbox commit → publish", "-", o.ToPublish, counted(int(o.ToPublish.Count), "event")+", 100 a second")
		}
	}
	if t := r.Transport; t != nil {
		if t.RoundTrip != nil {
			took("transport publish → handler", "-", t.RoundTrip, counted(int(t.RoundTrip.Count), "message")+", 100 a second")
		}
		rate("transport publish", t.PublishPS, fmt.Sprintf("%d messages of %d bytes, 100 in a call, %d callers", t.Published, r.Size, r.Callers))
		rate("transport handle", t.HandlePS, fmt.Sprintf("%d messages, beside the publishing", t.Handled))
	}
	if l := r.Limiter; l != nil {
		for _, run := range l.Runs {
			took("limiter decision", strconv.FormatFloat(run.Decisions, 'f', 0, 64), run.Latency, counted(run.Callers, "caller"))
		}
	}
	return rows
}

func milliseconds(ms float64) string {
	return time.Duration(ms * float64(time.Millisecond)).Round(time.Microsecond).String()
}
