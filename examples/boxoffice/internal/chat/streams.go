package chat

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/sse"
)

// sendTimeout bounds each call of the live streams and of the broker.
const sendTimeout = 2 * time.Second

// Sender is the live streams' side of the chat: an [sse.Hub].
type Sender interface {
	ToRoom(ctx context.Context, room string, e sse.Event) error
	Join(ctx context.Context, member, room string) error
	Leave(ctx context.Context, member, room string) error
}

// streams are the live streams of the members, as far as this process has some.
type streams struct {
	sender Sender // nil where there are none
	counts *counts
}

// told tells the live streams of a stored change. A stream that missed it is right
// when it opens again.
func (s *streams) told(ctx context.Context, tell func(context.Context, Sender) error) bool {
	if s.sender == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := tell(ctx, s.sender); err != nil {
		s.counts.unsent.Add(1)
		return false
	}
	return true
}
