package queuehttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/challenge"
	"github.com/millrace-go/millrace/queue/token"
)

// Names of headers, as net/http writes them; case does not matter.
const (
	// EntryHeader carries the entry token. It has precedence: with the header in a
	// request, its cookie is not read.
	EntryHeader = "X-Queue-Entry-Token"
	// TicketHeader carries the ticket, with the same precedence over the cookie.
	TicketHeader = "X-Queue-Ticket"
	// PassHeader carries a trusted edge's pass: see [token.Pass].
	PassHeader = "X-Queue-Pass"

	// challengeHeader carries the answer to a challenge, with the same precedence over
	// the cookie of challengeCookie and the event.
	challengeHeader = "X-Queue-Challenge"
	challengeCookie = "urr-queue-challenge-"
)

// The errors by which [Config.Known] refuses an event.
var (
	// ErrUnknownEvent is answered with 404 event-not-found.
	ErrUnknownEvent = errors.New("queuehttp: no such event")
	// ErrEnded is answered with 410 event-ended. It stops Check; users inside may
	// go on, and all users may leave.
	ErrEnded = errors.New("queuehttp: the event has ended")
	// ErrSoldOut is answered with 410 sold-out, and is like ErrEnded otherwise.
	ErrSoldOut = errors.New("queuehttp: the event is sold out")
)

// Config is the configuration of [Handlers]. Only User is required.
type Config struct {
	// User returns the signed-in user, by something that a client cannot make up.
	// Ids are 1 to 256 bytes of UTF-8. An error is answered with 401
	// sign-in-required; with 503 when its class is infrastructure.
	User func(*http.Request) (string, error)
	// Event returns the event of a request; by default the path's {eventId}, as
	// http.ServeMux and chi find it. A router that fills no path values (echo, gin)
	// needs a function here, or a middleware with r.SetPathValue("eventId", …). A
	// request without an event is answered with event-id-missing.
	Event func(*http.Request) string
	// Known says whether an event exists: nil, [ErrUnknownEvent], [ErrEnded],
	// [ErrSoldOut] or another error. Without it every signed-in user can open a room
	// under any name. It is called once in KnownFor for a real event, by one request
	// of the process, and for at most 2 s.
	Known func(ctx context.Context, event string) error
	// KnownFor is how long an answer of Known is valid; 60 s by default. While
	// Known fails, the last answer stays valid.
	KnownFor time.Duration
	// Gate returns the position that a front gate gave the visitor, read from the
	// gate's verified token and from nothing else; zero without one. An error whose
	// class is infrastructure is answered with 503. Other errors count as no
	// position, and are logged unless they are refusals of package token. Leave Gate
	// nil when there is no gate.
	Gate func(r *http.Request, event string) (position int64, err error)
	// NewPosition gives a visitor who comes with a used position one that is the
	// visitor's own, behind all that the gate gave out: two people may share a link
	// or a browser, and one may come back after leaving. NewPosition of package
	// frontgate's Handlers is one. It is asked once for each such arrival. Its errors
	// are treated as those of Gate. When nil, and when it returns zero, the visitor is
	// sent to GatePath.
	NewPosition func(r *http.Request, event string) (position int64, err error)
	// Lane returns the lane of the room's that a visitor belongs to, and "" for none: see
	// queue.Config.Lanes. It says what the site knows, such as that a member has signed in,
	// and nothing that a client can make up. nil: all stand in the line alone.
	Lane func(r *http.Request, event string) string
	// GatePath is where visitors without a position of the gate are sent; {eventId}
	// stands for the event. /vwr/{eventId} by default.
	GatePath string

	// Challenge asks a visitor for something before the visitor joins, while it is on: as an
	// operator has set it for the event (queue.Room.SetChallenge), else as its Config.On says;
	// nil asks for nothing.
	Challenge *challenge.Config
	// JoinRates bound how many visitors of an address join; nil for no bound.
	JoinRates *JoinRates

	// NoCookies makes answers that set no cookies, for a client that sends the ticket
	// in its header, as the page of package queuepage does.
	NoCookies bool
	// EntryCookie and TicketCookie are names of cookies, before the event's id;
	// "urr-entry-token-" and "urr-queue-ticket-" by default.
	EntryCookie  string
	TicketCookie string
	// Secure says whether a request came over https, and hence whether cookies are
	// Secure; by default whether it has TLS. Behind a proxy that ends TLS let it
	// return true.
	Secure func(*http.Request) bool
	// HostPrefix puts "__Host-" before the names of cookies on https, so that no
	// other host of the domain can set them.
	HostPrefix bool
	// TicketLasts is how long a browser keeps a ticket; 24 h by default.
	TicketLasts time.Duration

	// PassKeys are those of a trusted edge, which takes requests past [Handlers.Guard] by
	// a signed [token.Pass] in their header; nil trusts no edge, and the header has no
	// effect.
	PassKeys *token.Ring

	// Redirect is the redirectTo in refusals of the guard; "/queue" by default.
	Redirect string
	// RetryAfter is the Retry-After of answers while the store is unreachable, in
	// steps of 1 s; 3 s by default.
	RetryAfter time.Duration
	// Problems is the prefix of the types of problems; "/problems/" by default.
	Problems string
	// Classify classifies errors of User, Known and Gate that carry no class, such as
	// a database driver's: infrastructure is answered with 503. nil classifies none.
	Classify fault.Classifier
	// Fail answers requests that failed; nil writes p.
	Fail func(w http.ResponseWriter, r *http.Request, p *Problem)
	// Logger gets the details that clients don't see, such as the causes of 5xx
	// answers, at most one line a second; slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.GatePath = cmp.Or(c.GatePath, "/vwr/{eventId}")
	c.EntryCookie = cmp.Or(c.EntryCookie, "urr-entry-token-")
	c.TicketCookie = cmp.Or(c.TicketCookie, "urr-queue-ticket-")
	c.Redirect = cmp.Or(c.Redirect, "/queue")
	c.Problems = cmp.Or(c.Problems, "/problems/")
	c.KnownFor = cmp.Or(c.KnownFor, time.Minute)
	c.TicketLasts = cmp.Or(c.TicketLasts, 24*time.Hour)
	c.RetryAfter = cmp.Or(c.RetryAfter, 3*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Secure == nil {
		c.Secure = func(r *http.Request) bool { return r.TLS != nil }
	}
	if c.Classify == nil {
		c.Classify = func(error) fault.Class { return fault.Unclassified }
	}
	if c.Fail == nil {
		c.Fail = func(w http.ResponseWriter, _ *http.Request, p *Problem) { p.Write(w) }
	}
	return c
}

// validate checks a config with its defaults.
func (c Config) validate() error {
	if c.User == nil {
		return errors.New("queuehttp: Config.User is nil; give a function that says who is signed in")
	}
	for name, d := range map[string]time.Duration{"KnownFor": c.KnownFor, "TicketLasts": c.TicketLasts, "RetryAfter": c.RetryAfter} {
		if d < time.Second {
			return fmt.Errorf("queuehttp: Config.%s is %s; give at least 1 s, or 0 for the default", name, d)
		}
	}
	for name, s := range map[string]string{"EntryCookie": c.EntryCookie, "TicketCookie": c.TicketCookie} {
		if escaped(s) != s {
			return fmt.Errorf("queuehttp: Config.%s %q holds what the name of a cookie cannot; use letters, digits, - and _", name, s)
		}
	}
	if c.EntryCookie == c.TicketCookie {
		return fmt.Errorf("queuehttp: Config.EntryCookie and Config.TicketCookie are both %q; give two names", c.EntryCookie)
	}
	for name, path := range map[string]string{"GatePath": strings.Replace(c.GatePath, "{eventId}", "e", 1), "Redirect": c.Redirect} {
		if _, ok := SafeNext(path); !ok {
			return fmt.Errorf("queuehttp: Config.%s is %q; give a path of this site, such as /queue", name, path)
		}
	}
	return nil
}
