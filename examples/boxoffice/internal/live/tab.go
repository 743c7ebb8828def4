package live

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/fault"
)

const (
	// Path is the address of the stream, and the only one that its cookie is sent to.
	Path = "/api/notifications/stream"
	// TicketLasts is how long a ticket can be used for the first time.
	TicketLasts = 30 * time.Second

	cookieName  = "boxoffice-stream"
	cookieLasts = auth.LoginLasts
	// spentFor is how long the use of a ticket is remembered: for longer than any
	// process accepts the ticket, by any clock.
	spentFor = time.Minute
)

// ErrSpent is returned for a ticket that was used before, and comes without the
// cookie of that use. Package auth has the other reasons for a refusal.
var ErrSpent = errors.New("spent")

// Tab is the owner of a stream.
type Tab struct {
	Member string
	// Token identifies one of the member's tabs, and stays the same when it reconnects.
	// Without it each request is another tab.
	Token string
	// OnlyIfFree opens the stream only if none of the member's other tabs has to be
	// evicted for it.
	OnlyIfFree bool

	unknown error // why it is unknown whether it may have a stream
}

// Ticket gives a member a ticket for one stream, or one other connection.
func (l *Live) Ticket(member string) (ticket string, expires time.Time, err error) {
	if err := auth.CheckMember(member); err != nil {
		return "", time.Time{}, fmt.Errorf("live: %w", err)
	}
	expires = time.Now().Add(TicketLasts).Truncate(time.Second).UTC()
	ticket, err = l.tickets.sign(claims{Member: member, ID: rand.Text(), Ends: expires.Unix()})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("live: make a ticket: %w", err)
	}
	l.outcomes.WithLabelValues(issued).Inc()
	return ticket, expires, nil
}

// Redeem uses a ticket for a connection that does not reconnect by itself, such as a
// WebSocket, and returns its member. During an outage of the store the error has its
// class; all other errors mean that the ticket is not good.
func (l *Live) Redeem(ctx context.Context, ticket string) (member string, err error) {
	c, err := l.tickets.open(ticket)
	if err != nil {
		l.outcomes.WithLabelValues(refused).Inc()
		return "", err
	}
	first, err := l.spend(ctx, c.ID)
	switch {
	case err != nil:
		l.outcomes.WithLabelValues(unknown).Inc()
		return "", err
	case !first:
		l.outcomes.WithLabelValues(refused).Inc()
		return "", ErrSpent
	}
	l.outcomes.WithLabelValues(firstUse).Inc()
	return c.Member, nil
}

// Tab identifies the owner of a stream by its ticket and its cookie. It sets the
// cookie at the ticket's first use. During an outage of the store it cannot tell
// whether this is the first use; [Live.Serve] then sends the tab away for a while.
func (l *Live) Tab(w http.ResponseWriter, r *http.Request) (Tab, error) {
	c, err := l.tickets.open(r.URL.Query().Get("ticket"))
	if err != nil && !errors.Is(err, auth.ErrExpired) {
		l.outcomes.WithLabelValues(refused).Inc()
		return Tab{}, err
	}
	tab, known := Tab{Member: c.Member, Token: c.ID}, l.knows(r, c.Member)
	first := false
	if err == nil {
		// Spent even if the cookie is known, or another client could use it for the first
		// time.
		if first, err = l.spend(r.Context(), c.ID); err != nil {
			l.outcomes.WithLabelValues(unknown).Inc()
			tab.unknown = err
			return tab, nil
		}
		if !first {
			err = ErrSpent
		}
	}
	switch {
	case first:
		l.outcomes.WithLabelValues(firstUse).Inc()
		return tab, l.setCookie(w, r, c.Member)
	case known:
		l.outcomes.WithLabelValues(returned).Inc()
		return tab, nil
	}
	l.outcomes.WithLabelValues(refused).Inc()
	return Tab{}, err
}

// knows is whether the browser has used a ticket of the member.
func (l *Live) knows(r *http.Request, member string) bool {
	for _, cookie := range r.CookiesNamed(cookieName) {
		if c, err := l.cookies.open(cookie.Value); err == nil && c.Member == member {
			return true
		}
	}
	return false
}

func (l *Live) setCookie(w http.ResponseWriter, r *http.Request, member string) error {
	value, err := l.cookies.sign(claims{Member: member, Ends: time.Now().Add(cookieLasts).Unix()})
	if err != nil {
		return fmt.Errorf("live: make a cookie: %w", err)
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: Path, MaxAge: int(cookieLasts / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: l.cfg.Secure(r),
	})
	return nil
}

// spend uses a ticket, and reports whether this is its first use.
func (l *Live) spend(ctx context.Context, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	first, err := l.spent.Spend(ctx, id, spentFor)
	if err != nil {
		return false, fault.MarkInfrastructure(fmt.Errorf("live: whether a ticket was used: %w", err))
	}
	return first, nil
}
