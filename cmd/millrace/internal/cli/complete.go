package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/cmd/millrace/internal/waiting"
)

// offers gives a flag its known values, none for a flag of any other value, so that the
// shell does not offer file names.
func offers(cmd *cobra.Command, flag string, values ...string) {
	complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag's name is written two lines above
	}
}

// offersFiles lets the shell offer file names after a flag.
func offersFiles(cmd *cobra.Command, flag string) {
	complete := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // as above
	}
}

// offersURLs gives a flag the beginnings of URLs. The shell completes no file after it, and
// adds no space.
func offersURLs(cmd *cobra.Command, flag string, schemes ...string) {
	for i, s := range schemes {
		schemes[i] = s + "://"
	}
	complete := cobra.FixedCompletions(schemes, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // as above
	}
}

// The schemes that URLs begin with.
func dbSchemes() []string    { return []string{"postgres", "mysql", "sqlite"} }
func redisSchemes() []string { return []string{"redis", "rediss"} }
func busSchemes() []string {
	var names []string
	for _, s := range allbus.Schemes(allbus.Config{}) {
		names = append(names, s.Names()...)
	}
	slices.Sort(names)
	ofProcess := func(scheme string) bool { return scheme == "mem" } // another process's
	return slices.DeleteFunc(names, ofProcess)
}

// lookUp asks a server for the values of an argument, for Streams.LookUp at most, and
// offers nothing if that fails: a completion cannot show an error.
func (a *app) lookUp(cmd *cobra.Command, find func(context.Context) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), cmp.Or(a.LookUp, time.Second))
	defer cancel()
	found := make(chan []string, 1)
	go func() { // a driver that ignores its context ends with the process
		values, err := find(ctx)
		if err != nil {
			values = nil
		}
		found <- values
	}()
	select {
	case values := <-found:
		return values, cobra.ShellCompDirectiveNoFileComp
	case <-ctx.Done():
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// events completes the ids of events that are in use, one or any number.
func (a *app) events(f *queueFlags, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.lookUp(cmd, func(ctx context.Context) (_ []string, err error) {
			raw, err := a.url("redis", f.redis, redisVariable)
			if err != nil {
				return nil, err
			}
			rooms, err := waiting.Open(raw, f.prefix)
			if err != nil {
				return nil, err
			}
			defer closing(rooms.Close, &err)
			events, err := rooms.Events(ctx)
			return slices.DeleteFunc(events, func(e string) bool { return slices.Contains(args, e) }), err
		})
	}
}

// topics completes dead letter topics if the transport knows its groups from the start:
// those that the redrive group reads.
func (a *app) topics(raw *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.lookUp(cmd, func(ctx context.Context) (_ []string, err error) {
			url, err := a.url("bus", *raw, busVariable)
			if err != nil {
				return nil, err
			}
			if there, err := hasTables(ctx, url); err != nil || !there {
				return nil, err // opening the transport would create them
			}
			b, err := a.openBus(ctx, url)
			if err != nil {
				return nil, err
			}
			defer closing(b.Close, &err)
			lags, err := b.Lag(ctx)
			var topics []string
			for _, lag := range lags {
				if lag.Group == driver.RedriveGroup {
					topics = append(topics, lag.Topic)
				}
			}
			slices.Sort(topics)
			return slices.Compact(topics), err
		})
	}
}

// hasTables reports whether a transport in a database has its tables. Other transports need
// none.
func hasTables(ctx context.Context, rawURL string) (bool, error) {
	if _, err := database.DialectOf(rawURL); err != nil {
		return true, nil
	}
	state, err := busState(ctx, rawURL)
	return err == nil && !state.Missing() && state.Pending() == 0, err
}

// busState is the state of the tables of a transport in a database.
func busState(ctx context.Context, rawURL string) (_ database.State, err error) {
	d, err := database.Open(rawURL, false)
	if err != nil {
		return database.State{}, err
	}
	defer closing(d.Close, &err)
	parts, err := database.Parts(d.Dialect, "", d.Names, database.PartBus)
	if err != nil {
		return database.State{}, err
	}
	return d.StateOf(ctx, parts[0])
}

// withBox asks an outbox for the values of an argument or a flag.
func (a *app) withBox(cmd *cobra.Command, b *boxFlags, find func(context.Context, database.Outbox) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	return a.lookUp(cmd, func(ctx context.Context) (_ []string, err error) {
		d, err := b.open(a)
		if err != nil {
			return nil, err
		}
		defer closing(d.Close, &err)
		box, err := b.box(ctx, d)
		if err != nil {
			return nil, err
		}
		return find(ctx, box)
	})
}

// offered is the limit of ids that a completion offers.
const offered = 50

// parkedIDs completes the ids of parked events, each with its topic.
func (a *app) parkedIDs(b *boxFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.withBox(cmd, b, func(ctx context.Context, box database.Outbox) ([]string, error) {
			parked, err := box.Parked(ctx, 0, offered)
			var ids []string
			for _, p := range parked {
				if id := strconv.FormatInt(p.ID, 10); !slices.Contains(args, id) {
					ids = append(ids, fmt.Sprintf("%s\t%s", id, plain(p.Topic)))
				}
			}
			return ids, err
		})
	}
}

// shards completes the numbers of an outbox's shards.
func (a *app) shards(b *boxFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.withBox(cmd, b, func(ctx context.Context, box database.Outbox) ([]string, error) {
			stats, err := box.Stats(ctx)
			var numbers []string
			for _, s := range stats {
				numbers = append(numbers, strconv.Itoa(s.Shard))
			}
			return numbers, err
		})
	}
}

// boxCompletions completes the flags of outbox commands.
func (a *app) boxCompletions(cmd *cobra.Command) {
	offersURLs(cmd, "db", dbSchemes()...)
	offers(cmd, "kind", string(database.Cursor), string(database.Status))
}
