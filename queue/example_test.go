package queue_test

import (
	"context"
	"fmt"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/token"
)

func ExampleNew() {
	store, err := memqueue.New(memqueue.Config{})
	if err != nil {
		panic(err)
	}
	keys, err := token.NewRing("0123456789abcdef0123456789abcdef") // from your secrets
	if err != nil {
		panic(err)
	}
	room, err := queue.New(store, keys, queue.Config{Threshold: 1})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	var ticket string // comes back with each poll
	for _, user := range []string{"ada", "bob", "cem"} {
		place, err := room.Check(ctx, "show-1", queue.Visitor{User: user})
		if err != nil {
			panic(err)
		}
		fmt.Println(user, place.Status, place.Position)
		ticket = place.Ticket
	}
	if err := room.Leave(ctx, "show-1", "bob"); err != nil {
		panic(err)
	}
	place, err := room.Status(ctx, "show-1", queue.Visitor{User: "cem", Ticket: ticket})
	fmt.Println("cem", place.Status, place.Position, err)
	// Output:
	// ada active 0
	// bob waiting 1
	// cem waiting 2
	// cem waiting 1 <nil>
}

func ExampleRoom_Run() {
	store, err := memqueue.New(memqueue.Config{})
	if err != nil {
		panic(err)
	}
	keys, err := token.NewRing("0123456789abcdef0123456789abcdef")
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	room, err := queue.New(store, keys, queue.Config{Threshold: 1, Notify: func(n queue.Notice) {
		fmt.Println(n.User, "has a place in", n.Event)
	}, NotifyTurn: func(n queue.Notice) {
		fmt.Println("the turn of", n.User, "has come")
		cancel() // only here: it runs as long as its process
	}})
	if err != nil {
		panic(err)
	}
	for _, user := range []string{"ada", "bob"} {
		if _, err := room.Check(ctx, "show-1", queue.Visitor{User: user}); err != nil {
			panic(err)
		}
	}
	if err := room.Done(ctx, "show-1", "ada"); err != nil {
		panic(err)
	}
	fmt.Println(room.Run(ctx))
	// Output:
	// ada has a place in show-1
	// the turn of bob has come
	// <nil>
}
