package bus_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// The same in batches: after a partial failure, the messages of a key resume in order where they
// stopped.
func TestRandomHistoriesOfBatchesKeepOrderAndLoseNothing(t *testing.T) {
	histories(t, 2, 60, 100, func(h *history) bus.AnyConsumer {
		handle := func(ctx context.Context, messages []*message.Message) (err error) {
			h.beginBatch(messages, h.number)
			failed := bus.BatchError{}
			all := false
			defer func() {
				h.endBatch(messages, h.number, func(i int) bool { return all && failed[i] == nil })
			}()
			if err := h.work(ctx); err != nil {
				return err
			}
			switch h.roll(12) {
			case 0:
				return errors.New("timeout")
			case 1:
				return errDown
			case 2:
				return fault.MarkPermanent(errors.New("invalid"))
			case 3:
				panic("boom")
			case 4, 5, 6:
				stopped := map[string]bool{}
				for i, m := range messages {
					switch key := event.Key(m); {
					case stopped[key]:
						failed[i] = bus.ErrHeldBack
					case h.roll(4) == 0:
						stopped[key] = true
						failed[i] = []error{errors.New("timeout"), errDown, fault.MarkPermanent(errors.New("invalid"))}[h.roll(3)]
					}
				}
			}
			all = true
			return failed.OrNil()
		}
		return bus.BatchConsumer{
			Topic: "t", Group: "g", Handler: handle, Size: 1 + h.roll(20), Concurrency: 1 + h.roll(4),
			Wait: h.millis(100), Window: 20 + h.roll(100), Hooks: h.hooks(),
		}
	})
}
