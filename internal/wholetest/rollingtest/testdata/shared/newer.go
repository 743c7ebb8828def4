package main

import (
	"context"

	"github.com/millrace-go/millrace/queue"
)

// admit admits users from the lines until the context ends. older.txt has the same for
// releases whose rooms do not run themselves.
func admit(ctx context.Context, room *queue.Room) error { return room.Run(ctx) }
