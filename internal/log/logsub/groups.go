package logsub

import (
	"context"
	"errors"
	"fmt"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/internal/log"
)

// Places is implemented by a [Directory] whose groups can be listed, moved and deleted.
type Places interface {
	// Place returns the position of a cursor, without its lease, and the number of the last
	// entry before it, see log.Entry.Number: 0 for none, -1 when it is not known. A cursor that
	// does not exist is at the zero Position.
	Place(ctx context.Context, c log.Cursor) (p log.Position, number int64, err error)
	// Forget removes the cursors of the leases and everything that the directory stores for
	// them. It fails with log.ErrLeaseLost when one of the leases is lost. In SQL all are
	// removed or none.
	Forget(ctx context.Context, topic Topic, leases []log.Lease) error
}

// operator is the holder of a group that is being moved or deleted. All operators have the same
// name: a killed operation does not lock out the next one, and of two at the same time the first
// loses its leases to the second.
const operator = "operator"

// errCameBetween is the error of a move or deletion that was interrupted.
var errCameBetween = errors.New("another operator, a restart of the server or the removal of old messages came between, and nothing was lost; run it again")

func (h *Hub) places() (Places, error) {
	p, ok := h.b.Directory.(Places)
	if !ok {
		return nil, fmt.Errorf("logsub: groups: %w", errors.ErrUnsupported)
	}
	return p, nil
}

// Groups lists the groups of the topics, or of all.
func (h *Hub) Groups(ctx context.Context, topics ...string) ([]driver.Group, error) {
	places, err := h.places()
	if err != nil {
		return nil, err
	}
	lags, err := h.Lag(ctx, topics...)
	if err != nil {
		return nil, err
	}
	all := make([]driver.Group, len(lags))
	for i, lag := range lags {
		g := &all[i]
		g.Lag = lag
		topic, _, err := h.Topic(ctx, lag.Topic)
		if err != nil {
			return nil, err
		}
		g.Positions = make([]int64, topic.Partitions)
		for n := range g.Positions {
			_, number, err := places.Place(ctx, log.Cursor{Consumer: lag.Group, Lane: topic.FirstLane + n})
			if err != nil {
				return nil, fmt.Errorf("logsub: position of group %s of %s: %w", lag.Group, lag.Topic, err)
			}
			if g.Positions[n] = number + 1; number < 0 {
				g.Positions[n] = -1
			}
		}
		members, err := h.b.Directory.Members(ctx, lag.Topic, lag.Group)
		if err != nil {
			return nil, fmt.Errorf("logsub: members of group %s of %s: %w", lag.Group, lag.Topic, err)
		}
		g.Live = len(members) > 0
	}
	return all, nil
}

// group finds a group that exists.
func (h *Hub) group(ctx context.Context, name, group string) (Topic, error) {
	topic, ok, err := h.Topic(ctx, name)
	if err == nil && ok {
		ok, err = h.has(ctx, topic, group)
	}
	if err == nil && !ok {
		err = bus.ErrNoGroup
	}
	return topic, err
}

// Reset implements ResetGroup of [driver.GroupResetter]. It first searches for the place, which may
// take long, and then moves all cursors under their leases.
func (h *Hub) Reset(ctx context.Context, name, group string, to bus.Place, dryRun bool) (moved driver.Moved, err error) {
	places, err := h.places()
	if err != nil {
		return moved, err
	}
	topic, err := h.group(ctx, name, group)
	if err == nil {
		err = checkPartitions(topic, to)
	}
	if err == nil && !dryRun {
		err = h.vacant(ctx, topic, group)
	}
	if err != nil {
		return moved, err
	}
	targets := make(map[int]log.Position)
	for n := range topic.Partitions {
		c := log.Cursor{Consumer: group, Lane: topic.FirstLane + n}
		current, _, err := places.Place(ctx, c)
		if err != nil {
			return moved, err
		}
		waiting, err := h.waiting(ctx, c)
		if err != nil {
			return moved, err
		}
		found, ok, err := h.find(ctx, topic, n, to, current)
		if err != nil {
			return moved, err
		}
		if !ok || to.OnlyBack && found.behind <= waiting {
			continue
		}
		targets[c.Lane] = found.at
		moved.Again += max(0, found.behind-waiting)
		moved.Skipped += max(0, waiting-found.behind)
	}
	if dryRun {
		return moved, nil
	}
	return moved, h.alone(ctx, topic, group, func(ctx context.Context, leases []log.Lease) error {
		return h.b.Begin(ctx, func(ctx context.Context) error {
			for _, l := range leases {
				at, ok := targets[l.Lane]
				if !ok {
					continue
				}
				if err := h.move(ctx, l, at); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// move sets a cursor to a position. It first deletes the directory's state of the cursor:
// without a transaction, a crash in between only costs repetitions.
func (h *Hub) move(ctx context.Context, l log.Lease, to log.Position) error {
	if err := h.b.Directory.Stopped(ctx, l.Cursor, ""); err != nil {
		return err
	}
	if err := h.b.Directory.Alone(ctx, l.Cursor, "", 0); err != nil {
		return err
	}
	return h.b.Log.Advance(ctx, l, to, h.cfg.LeaseTTL)
}

// Delete implements DeleteGroup of [driver.GroupAdmin].
func (h *Hub) Delete(ctx context.Context, name, group string) error {
	places, err := h.places()
	if err != nil {
		return err
	}
	topic, err := h.group(ctx, name, group)
	if err != nil {
		return err
	}
	return h.alone(ctx, topic, group, func(ctx context.Context, leases []log.Lease) error {
		return places.Forget(ctx, topic, leases)
	})
}

// vacant fails when a group has members. A killed member counts until its time is over.
func (h *Hub) vacant(ctx context.Context, topic Topic, group string) error {
	members, err := h.b.Directory.Members(ctx, topic.Name, group)
	if err == nil && len(members) > 0 {
		err = bus.ErrGroupLive
	}
	return err
}

// alone calls do with all leases of a group that has no members. A member that starts during
// the call waits for the leases.
func (h *Hub) alone(ctx context.Context, topic Topic, group string, do func(context.Context, []log.Lease) error) (err error) {
	if err := h.vacant(ctx, topic, group); err != nil {
		return err
	}
	var leases []log.Lease
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.cfg.LeaseTTL) // then they have expired
		defer cancel()
		for _, l := range leases {
			// Release has no effect if the cursor is deleted; a lease that cannot be released
			// expires.
			h.b.Log.Release(after, l) //nolint:errcheck // see above
		}
		h.b.announce(Change{Groups: true})
	}()
	for n := range topic.Partitions {
		l, err := h.b.Log.Lease(ctx, log.Cursor{Consumer: group, Lane: topic.FirstLane + n}, operator, h.cfg.LeaseTTL)
		if errors.Is(err, log.ErrLeaseHeld) {
			return bus.ErrGroupLive
		}
		if err != nil {
			return err
		}
		leases = append(leases, l)
	}
	if err = do(ctx, leases); errors.Is(err, log.ErrLeaseLost) {
		err = fmt.Errorf("%w: %w", err, errCameBetween)
	}
	return err
}
