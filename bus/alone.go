package bus

import (
	"context"
	"errors"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/eventlog"
	"github.com/millrace-go/millrace/fault"
)

// maxDeaths is how many process deaths are charged to a message before it is a dead letter.
const maxDeaths = 2

// crashed is the error of a message that kills processes.
type crashed struct{ error }

func (crashed) FailureReason() string { return ReasonCrashed }

var errCrashed = fault.MarkPermanent(crashed{errors.New("bus: the process died twice while this message was handled alone; its handler was not run again")})

// suspected reports whether d has to be handled alone, with no other message of the consumer.
func (d *delivery) suspected() bool {
	s, ok := d.from.(driver.Suspected)
	return ok && s.Alone()
}

// mayGo reports whether d may be handed out beside the messages that are out. It records whether
// d has to be alone.
func (s *subscription) mayGo(d *delivery) bool {
	d.secluded = !s.dispatcher.consumer.onChannel() && d.suspected()
	if d.secluded && s.busy > 0 {
		return false
	}
	s.secluded = d.secluded
	return true
}

// alone runs the handler of a message. For a message that is handled alone, it first leaves a
// note that survives a crash. A message that was alone when processes died is not run again: it
// fails with errCrashed.
func (c *consumer) alone(ctx context.Context, d *delivery, run func() error) error {
	if !d.secluded {
		return run()
	}
	s := d.from.(driver.Suspected)
	deaths, err := s.Begin(ctx)
	if err != nil {
		return fault.MarkInfrastructure(err)
	}
	defer func() {
		if err := s.End(context.WithoutCancel(ctx)); err != nil {
			c.log.WarnContext(ctx, "it could not be noted that a message was handled; after a crash it is suspected of it", eventlog.Message(d.source), "error", err)
		}
	}()
	if deaths >= maxDeaths {
		return errCrashed
	}
	return run()
}
