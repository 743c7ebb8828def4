package inbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/notices"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/sqltx"
)

const (
	maxMessage = 8 << 10 // bytes
	maxParams  = 4 << 10 // bytes of JSON
	maxRef     = 128
)

// eventID leaves room for a member's id within the ids that a stream permits.
var eventID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,63}$`)

// Intake stores the notifications of events.
type Intake struct {
	*desk
	stored signal.Signal // notifications were committed
	begun  signal.Signal // and more of the same event are to be
}

// Consumers is the group that stores notifications.
func (i *Intake) Consumers() []store.Consumer {
	return []store.Consumer{{Topic: events.Domain, Group: events.GroupNotifications, Handlers: map[string]store.Handler{
		events.MemberFollowed:    i.toOne(func(n events.Noticed) string { return n.RefID }),
		events.PostLiked:         i.toMany(followers, func(n events.Noticed) string { return n.MemberID }),
		events.CommentCreated:    i.toMany(followers, func(n events.Noticed) string { return n.MemberID }),
		events.VoteClosed:        i.toMany(voters, func(n events.Noticed) string { return n.RefID }),
		events.ReservationNotice: i.toOne(func(n events.Noticed) string { return n.MemberID }),
		events.TransferNotice:    i.toOne(func(n events.Noticed) string { return n.MemberID }),
	}}}
}

// notice is the notification of an event's recipients.
type notice struct{ eventID, kind, params, message, ref string }

// prefix of the ids of its notifications; the member follows.
func (n notice) prefix() string { return n.eventID + "/" }

// read checks an event. A malformed event is a permanent error.
func read(e event.Event) (notice, events.Noticed, error) {
	var data events.Noticed
	if err := e.UnmarshalData(&data); err != nil {
		return notice{}, data, fault.MarkPermanent(err)
	}
	params, err := json.Marshal(data.Params)
	if err != nil {
		return notice{}, data, fault.MarkPermanent(err)
	}
	kind := notices.TypeOf(e.Type)
	var wrong string
	switch {
	case kind == "":
		wrong = "notices.TypeOf has no type of notification for it"
	case !eventID.MatchString(e.ID):
		wrong = "its id cannot be part of a notification's"
	case data.RefID == "" || len(data.RefID) > maxRef:
		wrong = fmt.Sprintf("refId is empty or longer than %d bytes", maxRef)
	case data.Message == "" || len(data.Message) > maxMessage:
		wrong = fmt.Sprintf("message is empty or longer than %d bytes", maxMessage)
	case len(params) > maxParams:
		wrong = fmt.Sprintf("params are longer than %d bytes", maxParams)
	default:
		return notice{e.ID, kind, string(params), data.Message, data.RefID}, data, nil
	}
	return notice{}, data, fault.MarkPermanent(fmt.Errorf("inbox: %s %q: %s", e.Type, e.ID, wrong))
}

// toOne stores for the one member that the function to returns.
func (i *Intake) toOne(to func(events.Noticed) string) store.Handler {
	return func(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
		n, data, err := read(e)
		if err != nil {
			return "", err
		}
		member := to(data)
		if err := auth.CheckMember(member); err != nil {
			return "", fault.MarkPermanent(fmt.Errorf("inbox: the member of %s %s: %w", e.Type, e.ID, err))
		}
		position, err := i.position(ctx, tx)
		if err != nil {
			return "", err
		}
		if _, err := tx.ExecContext(ctx, i.sql.StoreOne, n.prefix()+member, member, n.kind, n.params, n.message, n.ref, position); err != nil {
			return "", fmt.Errorf("inbox: store %s: %w", e.ID, err)
		}
		return "stored", nil
	}
}

// toMany stores for many recipients: the first page at once, which is enough for few
// recipients, and the rest page by page in transactions of their own.
func (i *Intake) toMany(a audience, of func(events.Noticed) string) store.Handler {
	return func(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
		n, data, err := read(e)
		if err != nil {
			return "", err
		}
		if of(data) == "" {
			return "", fault.MarkPermanent(fmt.Errorf("inbox: %s %s says nobody whose %s are told", e.Type, e.ID, a))
		}
		f := fanout{notice: n, audience: a, of: of(data)}
		more, err := i.page(ctx, tx, &f)
		switch {
		case err != nil:
			return "", err
		case f.after == "":
			return "nobody", nil
		case !more:
			return "stored", nil
		}
		if _, err := tx.ExecContext(ctx, i.sql.AddFanout, n.eventID, n.kind, n.params, n.message, n.ref, string(a), f.of, f.after); err != nil {
			return "", fmt.Errorf("inbox: keep the rest of %s: %w", e.ID, err)
		}
		sqltx.AfterCommit(ctx, i.begun.Wake)
		return "begun", nil
	}
}

// position takes the next place in the order of commits. The place is locked until tx
// has ended, so a reader that sees a place sees all before it.
func (i *Intake) position(ctx context.Context, tx *sql.Tx) (int64, error) {
	var p int64
	err := i.store.Update(ctx, tx, i.sql.Position, []any{"stored"}, &p)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errors.New("inbox: the table notification_positions has lost its row \"stored\"")
	}
	if err != nil {
		return 0, fmt.Errorf("inbox: take a position: %w", err)
	}
	sqltx.AfterCommit(ctx, i.stored.Wake)
	return p, i.keepTrace(ctx, tx, p)
}
