package queuehttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/token"
)

// Names of headers, as net/http writes them; case does not matter.
const (
	// EntryHeader carries the entry token. It wins over the cookie: a request that
	// has it is judged by it alone.
	EntryHeader = "X-Queue-Entry-Token"
	// TicketHeader carries the ticket, and wins over the cookie in the same way.
	TicketHeader = "X-Queue-Ticket"
	// PassHeader carries a trusted edge's pass: see [token.Passes].
	PassHeader = "X-Queue-Pass"
)

// What [Config.Known] may say of an event.
var (
	// ErrUnknownEvent is answered with 404 event-not-found.
	ErrUnknownEvent = errors.New("queuehttp: no such event")
	// ErrEnded is answered with 410 event-ended. It stops Check; who is inside may
	// go on, and everybody may leave.
	ErrEnded = errors.New("queuehttp: the event has ended")
	// ErrSoldOut is answered with 410 sold-out, and is like ErrEnded otherwise.
	ErrSoldOut = errors.New("queuehttp: the event is sold out")
)

// Config is the configuration of [Handlers]. Only User is required.
type Config struct {
	// User says who is signed in, by something that a client cannot make up. Ids are
	// 1 to queue.MaxUser bytes of UTF-8. An error is answered with 401
	// sign-in-required; with 503 when its class is infrastructure.
	User func(*http.Request) (string, error)
	// Event says which event a request is about; by default the path's {eventId}, as
	// http.ServeMux and chi find it. A router that fills no path values (echo, gin)
	// needs a function here, or a middleware that calls
	// r.SetPathValue("eventId", …). A request without an event is answered with
	// event-id-missing.
	Event func(*http.Request) string
	// Known says whether there is such an event: nil, [ErrUnknownEvent], [ErrEnded],
	// [ErrSoldOut] or another error. Without it whoever is signed in can open a room
	// under any name. It is asked once in KnownFor for an event that is real, by one
	// request of the process, and for at most 2 s.
	Known func(ctx context.Context, event string) error
	// KnownFor is how long an answer of Known counts; 60 s by default. While Known
	// fails the last answer goes on to count.
	KnownFor time.Duration
	// Gate is the position that a front gate gave the visitor, read from the gate's
	// verified token and from nothing else; zero without one. An error whose class is
	// infrastructure is answered with 503; every other counts as no position, and is
	// logged unless it is a refusal of package token. Leave Gate nil when there is no
	// gate.
	Gate func(r *http.Request, event string) (position int64, err error)
	// GatePath is where a visitor has to go who did not pass the gate; the event goes
	// where {eventId} is. /vwr/{eventId} by default.
	GatePath string

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

	// Passes lets a trusted edge take requests past [Handlers.Guard]; nil trusts no
	// edge, and the header means nothing.
	Passes *token.Passes

	// Redirect is what refusals of the guard name as redirectTo; "/queue" by
	// default.
	Redirect string
	// RetryAfter is what clients are told while the store is away, in steps of 1 s;
	// 3 s by default.
	RetryAfter time.Duration
	// Problems is what the types of problems begin with; "/problems/" by default.
	Problems string
	// Classify judges the errors of User, Known and Gate that carry no class, such as
	// a database driver's: infrastructure is answered with 503. nil judges none.
	Classify fault.Classifier
	// Fail answers what is not answered otherwise; nil writes p.
	Fail func(w http.ResponseWriter, r *http.Request, p *Problem)
	// Logger gets what clients don't see, such as the causes of 5xx answers, at most
	// one line a second;
	// slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	def := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	span := func(field *time.Duration, value time.Duration) {
		if *field == 0 {
			*field = value
		}
	}
	def(&c.GatePath, "/vwr/{eventId}")
	def(&c.EntryCookie, "urr-entry-token-")
	def(&c.TicketCookie, "urr-queue-ticket-")
	def(&c.Redirect, "/queue")
	def(&c.Problems, "/problems/")
	span(&c.KnownFor, time.Minute)
	span(&c.TicketLasts, 24*time.Hour)
	span(&c.RetryAfter, 3*time.Second)
	if c.Secure == nil {
		c.Secure = func(r *http.Request) bool { return r.TLS != nil }
	}
	if c.Classify == nil {
		c.Classify = func(error) fault.Class { return fault.Unclassified }
	}
	if c.Fail == nil {
		c.Fail = func(w http.ResponseWriter, _ *http.Request, p *Problem) { p.Write(w) }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// validate judges a config with its defaults.
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
