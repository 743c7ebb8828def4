// Command room serves one instance of a waiting room on Redis, until it is killed: proof/cheats
// starts four of them. It builds against older releases as well, whose folder it is copied
// into: see scripts/cheats-at.sh.
//
//	room ADDRESS REDIS-URL THRESHOLD ACTIVE
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/redisqueue"
	"github.com/millrace-go/millrace/queue/token"
)

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: room ADDRESS REDIS-URL THRESHOLD ACTIVE")
	}
	threshold, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	active, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	client, err := redisdb.Open(args[1], redisdb.Config{})
	if err != nil {
		return err
	}
	store, err := redisqueue.New(client, redisqueue.Config{})
	if err != nil {
		return err
	}
	ring, err := token.NewRing("a secret of the simulation, which protects nothing")
	if err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	room, err := queue.New(store, ring, queue.Config{Threshold: threshold, Active: active, Logger: quiet})
	if err != nil {
		return err
	}
	entries, err := token.NewEntries(ring, token.Config{})
	if err != nil {
		return err
	}
	handlers, err := queuehttp.New(room, entries, queuehttp.Config{User: func(r *http.Request) (string, error) {
		return r.Header.Get("X-Fan"), nil
	}})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	handlers.Mount(mux.Handle, "/api/queue", nil)
	failed := make(chan error, 2)
	go func() { failed <- room.Run(context.Background()) }()
	server := &http.Server{Addr: args[0], Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { failed <- server.ListenAndServe() }()
	return <-failed
}
