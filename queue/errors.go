package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/millrace-go/millrace/fault"
)

// The states that a caller can test for. Waiting, paused and full are no errors:
// they are a [Place].
var (
	// ErrUnavailable says that the store cannot be asked, and hence that no user
	// enters. Its class is [fault.Infrastructure], unless the store says that a
	// retry cannot help. It wraps the cause.
	ErrUnavailable = errors.New("queue: the store cannot be asked; nobody enters")
	// ErrNotActive is the answer of [Room.Verify] for a user not, or no longer,
	// inside by that admission.
	ErrNotActive = errors.New("queue: the user is not inside by this admission")
	// ErrInvalid says that an event id, a user id or an operator's number is not
	// valid. Its class is [fault.Permanent].
	ErrInvalid = errors.New("queue: invalid")
)

// errPause stands for a store that has just failed and gets no calls for a while.
var errPause = errors.New("it failed a moment ago")

func unavailable(cause error) error { return outage(fmt.Errorf("%w: %w", ErrUnavailable, cause)) }

// outage makes an error one of infrastructure, unless a retry cannot help.
func outage(err error) error {
	if fault.Of(err) == fault.Permanent {
		return err
	}
	return fault.MarkInfrastructure(err)
}

// refused classifies why a call has no answer: the caller left, or the store.
func refused(ctx context.Context, cause error) error {
	if ctx.Err() != nil && errors.Is(cause, context.Cause(ctx)) {
		return fmt.Errorf("queue: the caller left before it was answered: %w", cause)
	}
	return unavailable(cause)
}

// turned logs when something that was not failing fails, and when it works again: an outage
// has an entry at its beginning and one at its end.
func (r *Room) turned(ctx context.Context, failing bool, err error, fails, works string, about ...slog.Attr) {
	if failing == (err != nil) {
		return
	}
	level, text := slog.LevelInfo, works
	if err != nil {
		level, text, about = slog.LevelWarn, fails, append(about, slog.Any("error", err))
	}
	r.cfg.Logger.LogAttrs(ctx, level, text, about...)
}

func invalid(format string, args ...any) error {
	return fault.MarkPermanent(fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...))
}
