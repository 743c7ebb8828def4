package gate

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/millrace-go/millrace/queue/challenge"
	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/queuepage"
	"github.com/millrace-go/millrace/queue/token"
)

// Config is the configuration of a [Gate]. Event and Keys are required, and Origin
// for [Gate.Handler].
type Config struct {
	// Event names the room that visitors wait in.
	Event string
	// Keys sign the cookies, the passes and what the origin is told. All processes of
	// a gate need the same; they may be those of the room.
	Keys *token.Ring
	// Origin is the site behind the gate, such as http://127.0.0.1:3000. A path in it
	// is put before the paths of requests.
	Origin *url.URL

	// Wait are the paths that need a place, /** by default: all. Pass are those of
	// them that need none, such as /static/**. A pattern is a path; * in it stands for
	// any characters of a segment, and a segment ** for any segments. Case matters.
	Wait []string
	Pass []string
	// Below is where the gate has its own routes, which the origin never sees;
	// /millrace-gate by default.
	Below string

	// Brand and Language are those of the waiting page: see package queuepage.
	Brand    queuepage.Brand
	Language string
	// RetryAfter is the Retry-After of answers to requests without a place; 5 s by
	// default, in steps of 1 s.
	RetryAfter time.Duration
	// AliveEvery is how often a visitor's requests and open streams are told to the
	// room as signs of life, and the room is asked whether the visitor still has the
	// place; 30 s by default, at most a minute. Each costs a call of the store.
	AliveEvery time.Duration

	// Challenge asks a visitor for something before the visitor joins, while it is on:
	// by the operator's route, else by its Config.On;
	// nil asks for nothing. The path of its page has to be one of Pass.
	Challenge *challenge.Config
	// JoinRates bound how many visitors of an address join; nil for no bound. With
	// Proxied, and in a judge, each connection counts as one of a trusted proxy.
	JoinRates *queuehttp.JoinRates

	// Member returns the user and the lane of a visitor, by something that a client cannot
	// make up, such as a cookie that the site has signed. With a user the visitor is that
	// user in every browser, so that a copied cookie brings no second place; without one,
	// "", the visitor is the browser. The lane is one of queue.Config.Lanes, or "". A
	// browser that already waits or is inside keeps that place until it ends. nil: each
	// visitor is a browser, without a lane. Behind a judge the request has the visitor's
	// cookies.
	Member func(*http.Request) (user, lane string)

	// Proxied says that a proxy of yours stands before the gate and sets
	// X-Forwarded-For, -Host and -Proto, which the gate then believes and hands on.
	// Without it they are set from the connection.
	Proxied bool
	// Transport makes the requests to the origin; by default one that keeps
	// connections open, changes no content and waits for an answer without a limit.
	Transport http.RoundTripper
	// Logger gets the details that visitors don't see, at most one line a second;
	// slog.Default() when nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if len(c.Wait) == 0 {
		c.Wait = []string{"/**"}
	}
	c.Below = cmp.Or(c.Below, "/millrace-gate")
	c.RetryAfter = cmp.Or(c.RetryAfter, 5*time.Second)
	c.AliveEvery = cmp.Or(c.AliveEvery, 30*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// validate checks a config with its defaults.
func (c Config) validate() error {
	switch {
	case c.Event == "":
		return errors.New("gate: Config.Event is empty; name the room, such as sale")
	case len(c.Event) > driver.MaxEvent || strings.ContainsFunc(c.Event, func(r rune) bool { return r == '{' || r == '}' || unicode.IsSpace(r) }):
		return fmt.Errorf("gate: Config.Event is %.40q; use at most %d bytes of letters, digits and signs, without spaces and braces", c.Event, driver.MaxEvent)
	case c.Keys == nil:
		return errors.New("gate: Config.Keys is nil; make them with token.NewRing")
	case c.Origin != nil && (c.Origin.Scheme != "http" && c.Origin.Scheme != "https" || c.Origin.Host == ""):
		return fmt.Errorf("gate: Config.Origin is %q; give the address of the site behind the gate, such as http://127.0.0.1:3000", c.Origin.Redacted())
	case c.Origin != nil && (c.Origin.RawQuery != "" || c.Origin.Fragment != "" || c.Origin.User != nil):
		return fmt.Errorf("gate: Config.Origin is %q; leave its user, query and fragment out", c.Origin.Redacted())
	case !strings.HasPrefix(c.Below, "/") || strings.HasSuffix(c.Below, "/") || strings.ContainsAny(c.Below, "{}*%;?#\\ ") || strings.Contains(c.Below, "//") || strings.Contains(c.Below, "/."):
		return fmt.Errorf("gate: Config.Below is %q; give a path such as /millrace-gate, without a slash at its end", c.Below)
	case c.RetryAfter < time.Second:
		return fmt.Errorf("gate: Config.RetryAfter is %s; give at least 1 s, or 0 for 5 s", c.RetryAfter)
	case c.AliveEvery < time.Second || c.AliveEvery > time.Minute:
		return fmt.Errorf("gate: Config.AliveEvery is %s; give 1 s to 1 min, or 0 for 30 s", c.AliveEvery)
	}
	return nil
}
