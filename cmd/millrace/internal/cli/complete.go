package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/allbus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/cmd/millrace/internal/waiting"
)

// complete gives a flag its completion. A flag without one completes no values: see finish.
func complete(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // the flag was declared before, and has one completion
	}
}

// offers gives a flag its known values. Without any, the shell offers no file names either.
func offers(cmd *cobra.Command, flag string, values ...string) {
	complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// offersFiles lets the shell offer file names after a flag.
func offersFiles(cmd *cobra.Command, flag string) {
	complete(cmd, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
}

// offersURLs gives a flag the beginnings of URLs. The shell completes no file after it, and
// adds no space.
func offersURLs(cmd *cobra.Command, flag string, schemes ...string) {
	for i, s := range schemes {
		schemes[i] = s + "://"
	}
	complete(cmd, flag, cobra.FixedCompletions(schemes, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
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
		return a.lookUp(cmd, func(ctx context.Context) (events []string, err error) {
			err = a.rooms(*f, func(rooms *waiting.Rooms) (err error) {
				events, err = rooms.Events(ctx)
				return err
			})
			return slices.DeleteFunc(events, func(e string) bool { return slices.Contains(args, e) }), err
		})
	}
}

// topics completes dead letter topics if the transport knows its groups from the start:
// those that the redrive group reads.
func (a *app) topics(raw *string) cobra.CompletionFunc {
	read := a.onBus(raw, func(ctx context.Context, b *bus.Bus) (topics []string, err error) {
		lags, err := b.Lag(ctx)
		for _, lag := range lags {
			if lag.Group == driver.RedriveGroup {
				topics = append(topics, lag.Topic)
			}
		}
		return topics, err
	})
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return read(cmd, args, word)
	}
}

// onBus completes by names that find reads from the transport, each once and in order.
func (a *app) onBus(raw *string, find func(context.Context, *bus.Bus) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
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
			names, err := find(ctx, b)
			slices.Sort(names)
			return slices.Compact(names), err
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
	d, err := database.Connect(ctx, rawURL, false, 0)
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

// ofBox completes by what find reads from the outbox, given the arguments before.
func (a *app) ofBox(b *boxFlags, find func(ctx context.Context, box database.Outbox, args []string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.lookUp(cmd, func(ctx context.Context) (found []string, err error) {
			err = a.withBox(ctx, b, func(box database.Outbox) (err error) {
				found, err = find(ctx, box, args)
				return err
			})
			return found, err
		})
	}
}

// offered is the limit of ids that a completion offers.
const offered = 50

// parkedIDs completes the ids of parked events, each with its topic.
func (a *app) parkedIDs(b *boxFlags) cobra.CompletionFunc {
	return a.ofBox(b, func(ctx context.Context, box database.Outbox, args []string) (ids []string, err error) {
		parked, err := box.Parked(ctx, 0, offered)
		for _, p := range parked {
			if id := strconv.FormatInt(p.ID, 10); !slices.Contains(args, id) {
				ids = append(ids, fmt.Sprintf("%s\t%s", id, plain(p.Topic)))
			}
		}
		return ids, err
	})
}

// shards completes the numbers of an outbox's shards.
func (a *app) shards(b *boxFlags) cobra.CompletionFunc {
	return a.ofBox(b, func(ctx context.Context, box database.Outbox, _ []string) (numbers []string, err error) {
		stats, err := box.Stats(ctx)
		for _, s := range stats {
			numbers = append(numbers, strconv.Itoa(s.Shard))
		}
		return numbers, err
	})
}
