package filesettings_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/filesettings"
	"github.com/millrace-go/millrace/queue/memqueue"
	"github.com/millrace-go/millrace/queue/token"
)

func ExampleOpen() {
	folder, err := os.MkdirTemp("", "settings")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // of the example

	settings, err := filesettings.Open(filepath.Join(folder, "settings.json"))
	if err != nil {
		panic(err)
	}
	keys, err := token.NewRing("a secret of at least thirty-two bytes")
	if err != nil {
		panic(err)
	}
	store, err := memqueue.New(memqueue.Config{})
	if err != nil {
		panic(err)
	}
	room, err := queue.New(store, keys, queue.Config{Settings: settings})
	if err != nil {
		panic(err)
	}
	ctx := queue.By(context.Background(), "kim", "the payment provider is down")
	if _, err := room.Pause(ctx, "sale"); err != nil {
		panic(err)
	}
	kept, err := settings.Load(ctx, "sale")
	if err != nil {
		panic(err)
	}
	fmt.Printf("version %d, paused: %t, by %s: %s\n", kept.Version, kept.Paused, kept.By, kept.Why)
	// Output: version 1, paused: true, by kim: the payment provider is down
}
