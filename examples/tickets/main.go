// Command tickets sells the seats of one show: hold, pay, confirm, on one page. It is meant
// to be read and copied; README.md follows one click through its files.
//
//	go run ./examples/tickets
//
// It keeps everything in tickets.db, or in $MILLRACE_DB_URL (sqlite:// or postgres://), and
// needs no broker; $MILLRACE_BUS_URL names one.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millrace-go/millrace"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/postgres"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
	"github.com/millrace-go/millrace/sqlite"
	"github.com/millrace-go/millrace/sse"
	"github.com/millrace-go/millrace/sse/memsse"
)

// options are the program's flags.
type options struct {
	addr    string
	hold    time.Duration // how long a seat is kept for a buyer
	inside  int           // how many buyers choose seats at once
	charges string        // the payment provider's file
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:8090", "where to listen")
	flag.DurationVar(&o.hold, "hold", 2*time.Minute, "how long a seat is kept for a buyer")
	flag.IntVar(&o.inside, "inside", 50, "how many buyers choose seats at once; others wait in line")
	flag.StringVar(&o.charges, "charges", "tickets.charges", "the file of the payment provider that is played here")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends, and lets handlers and requests finish.
func run(ctx context.Context, o options) error {
	app, err := millrace.New(database(), millrace.Config{Service: "tickets"}, kafkabus.Scheme(kafkabus.Config{}))
	if err != nil {
		return err
	}
	defer app.Close() //nolint:errcheck // the program ends
	provider, err := openProvider(o.charges)
	if err != nil {
		return err
	}
	defer provider.Close() //nolint:errcheck // each charge is on the disk
	hub, err := newHub()
	if err != nil {
		return err
	}
	room, line, err := newRoom(o.inside)
	if err != nil {
		return err
	}
	s := &shop{app: app, provider: provider, hub: hub, hold: o.hold}
	s.handle()
	if err := errors.Join(app.Migrate(ctx), s.migrate(ctx)); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	fmt.Printf("tickets: http://%s\n", listener.Addr())

	server := &http.Server{Handler: millrace.Wrap(s.routes(room)), ReadHeaderTimeout: 5 * time.Second}
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range []func(context.Context) error{app.Run, hub.Run, line.Run, s.freeExpired} {
		group.Go(func() error {
			if err := part(ctx); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		})
	}
	group.Go(func() error { return server.Serve(listener) })
	group.Go(func() error {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return server.Shutdown(ending)
	})
	if err := group.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// database is the database of $MILLRACE_DB_URL, or a file.
func database() millrace.Database[*sql.Tx] {
	url := os.Getenv("MILLRACE_DB_URL")
	switch {
	case strings.HasPrefix(url, "postgres"):
		return postgres.Open(url)
	case url == "":
		url = "sqlite://tickets.db"
	}
	return sqlite.Open(url)
}

// newHub is for the live seats of one process. Package redissse has the parts for many.
func newHub() (*sse.Hub, error) {
	streams, broker := memsse.New()
	return sse.New(streams, broker, sse.Config{})
}

// newRoom is the waiting room of one process. Package redisqueue has the store for many,
// which then share a secret.
func newRoom(inside int) (*queuehttp.Handlers, *queue.Room, error) {
	store, err := memqueue.New(memqueue.Config{})
	if err != nil {
		return nil, nil, err
	}
	ring, err := token.NewRing(rand.Text() + rand.Text())
	if err != nil {
		return nil, nil, err
	}
	room, err := queue.New(store, ring, queue.Config{Threshold: inside})
	if err != nil {
		return nil, nil, err
	}
	entries, err := token.NewEntries(ring, token.Config{})
	if err != nil {
		return nil, nil, err
	}
	h, err := queuehttp.New(room, entries, queuehttp.Config{User: buyerOf, Known: onlyThisShow})
	return h, room, err
}
