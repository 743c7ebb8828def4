package inbox

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/signal"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/sse"
)

// maxPage bounds Config.Page.
const maxPage = 1000

// Keep is how long a notification is kept, read or not.
const Keep = 30 * 24 * time.Hour

// ErrNotFound is returned for a notification that does not exist or belongs to another
// member; the two look the same.
var ErrNotFound = errors.New("inbox: no such notification")

// Sender sends to the live streams of members: an *sse.Hub. A send is tried once.
type Sender interface {
	ToMember(ctx context.Context, member string, e sse.Event) error
	// Mute stops notifications on the streams that a member has now, or lets them
	// through again.
	Mute(ctx context.Context, member string, muted bool) error
}

// Notification is one of a member's; ReadAt is zero while it is unread. Package notices
// makes a sentence of Type and Params; Message is that sentence in English. A
// notification that was stored before there were Params has only the Message.
type Notification struct {
	ID, Type          string
	Params            events.NoticeParams
	Message, RefID    string
	CreatedAt, ReadAt time.Time
}

// column is a Notification's Params as the database has them. Invalid JSON counts as no
// parameters: the message is there.
type column struct{ p *events.NoticeParams }

func (c column) Scan(value any) error {
	var text sql.NullString
	if err := text.Scan(value); err != nil {
		return err
	}
	if json.Unmarshal([]byte(text.String), c.p) != nil {
		*c.p = events.NoticeParams{}
	}
	return nil
}

// Config of an [Inbox].
type Config struct {
	// Holder names this process in the leases of the singletons; required.
	Holder string
	// LeaseTTL is how long the lease of the retention lasts without a renewal; 10 s when
	// zero.
	LeaseTTL time.Duration
	// SendLease is the lease of the process that sends live; 2.5 s when zero. A crash
	// delays live sends by as much and a look of 250 ms, unless the same Holder comes back.
	// Each batch renews it.
	SendLease time.Duration
	// Page is how many recipients of an event are stored in one transaction; 500 when
	// zero.
	Page int
	// SendTimeout bounds how long one batch of live sends takes, half of SendLease when
	// zero: notifications that are not sent by then are dropped.
	SendTimeout time.Duration
	// Traces keeps the trace of each event that is handled until its notifications are
	// sent live, so that these belong to it. It costs a statement for each traced event
	// and two for each batch that is sent.
	Traces bool
	// Logger is slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.LeaseTTL = cmp.Or(c.LeaseTTL, 10*time.Second)
	c.Page = cmp.Or(c.Page, 500)
	c.SendLease = cmp.Or(c.SendLease, 2500*time.Millisecond)
	c.SendTimeout = cmp.Or(c.SendTimeout, c.SendLease/2)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

func (c Config) validate() error {
	switch {
	case c.Holder == "":
		return errors.New("inbox: Holder is empty; name this process")
	case c.LeaseTTL < 0 || c.SendLease < 0 || c.SendTimeout < 0:
		return errors.New("inbox: LeaseTTL, SendLease and SendTimeout must not be negative; use 0 for the defaults")
	case c.SendTimeout >= c.SendLease:
		return fmt.Errorf("inbox: SendTimeout is %v; give less than SendLease, %v, so that one process sends at a time", c.SendTimeout, c.SendLease)
	case c.Page < 0 || c.Page > maxPage:
		return fmt.Errorf("inbox: Page is %d; give 1 to %d, or 0 for 500", c.Page, maxPage)
	}
	return nil
}

// Inbox keeps the members' notifications. It is put together here of the parts that
// have its methods. It is safe for concurrent use.
type Inbox struct {
	*desk
	*Intake
	*Notifications
	*Settings
	*Deliveries
	*Retention
}

// New makes an Inbox on an open store.
func New(s *store.Store, cfg Config) (*Inbox, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	d := &desk{store: s, cfg: cfg}
	if err := s.Load(inboxSQL, &d.sql); err != nil {
		return nil, fmt.Errorf("inbox: %w", err)
	}
	stored := signal.New()
	return &Inbox{
		desk:          d,
		Intake:        &Intake{d, stored, signal.New()},
		Notifications: &Notifications{d},
		Settings:      &Settings{d},
		Deliveries:    &Deliveries{d, stored},
		Retention:     &Retention{d},
	}, nil
}

// SetSender sets where notifications are sent live. Call it before Run; it is no part of
// Config, because the streams replay from the Inbox. If no process has a Sender, nothing
// is sent or replayed.
func (i *Inbox) SetSender(s Sender) { i.sender = s }

// Run does the inbox's own work until ctx ends: it stores the rest of events with many
// recipients, sends committed notifications live, and deletes old ones. The last two are
// done by one process at a time. A database that fails is tried again.
func (i *Inbox) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	parts.Go(func() { i.Intake.Run(ctx) })
	parts.Go(func() { i.Retention.Run(ctx) })
	if i.sender != nil {
		parts.Go(func() { i.Deliveries.Run(ctx) })
	}
	parts.Wait()
	return nil
}
