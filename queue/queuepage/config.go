package queuepage

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Config of a page. Paths are local: they begin with one slash, and stand for the
// site that serves the page. {eventId} in a path stands for the event. The zero
// Config is a room's, at the paths of package queue/queuehttp.
type Config struct {
	// Gate makes the page of a front gate, package queue/frontgate; by default it is that of
	// a waiting room, package queue.
	Gate bool

	// Path is where the page is mounted, from which it reads the event; a page that
	// is mounted elsewhere reads ?event=. Default /queue/{eventId}, of a gate
	// /vwr/{eventId}.
	Path string

	// Event makes a room's page for this event alone, in place of other pages whose
	// visitors have to wait first. It loads its own address again when the visitor is
	// admitted; Path, Admitted and MaxAge have no effect. Its status is 503 with RetryAfter,
	// so that search engines keep what they know of the other page, and no cache may store
	// it. Empty by default.
	Event string
	// RetryAfter is the Retry-After of a page with Event; 5 s by default, in steps of 1 s.
	RetryAfter time.Duration

	// Check is the path that the page polls: by POST of a room, by GET of a gate,
	// with {requestId} in it. Default /api/queue/check/{eventId}, of a gate
	// /vwr/check/{eventId}/{requestId}.
	Check string
	// Heartbeat keeps the place of a visitor who may enter and has not; of a room
	// only. Default /api/queue/heartbeat/{eventId}.
	Heartbeat string
	// Leave gives the place back; of a room only. Default /api/queue/leave/{eventId}.
	Leave string
	// Assign gives out a number; of a gate only. Default /vwr/assign/{eventId}.
	Assign string

	// Admitted is where an admitted visitor goes, unless the page's own address has
	// a local path in ?next=. Default /events/{eventId}, of a gate
	// /queue/{eventId}.
	Admitted string
	// MoveOn is how long a visitor who has waited sees the turn before the page enters by
	// itself, in steps of 1 s; only while the page is visible. Negative: never. Default 5 s.
	MoveOn time.Duration

	// BearerKey is the key of localStorage under which this site keeps a bearer token, and
	// BearerField the field of the JSON there; without a field the stored text is the token.
	// Without a key the page sends cookies only, as the browser does by itself.
	BearerKey, BearerField string
	// SignIn is the path where visitors who are not signed in sign in; {here} is
	// the address to come back to, escaped. Empty shows no link.
	SignIn string
	// EntryKey is the key of sessionStorage for the entry token, for a site that sends
	// it in a header: {eventId} is the event. Empty stores none, and the site uses the
	// cookie.
	EntryKey string

	// Solver is where the solver of package challenge is served; of a room only. The page
	// loads it when a visitor is challenged. Empty: the room challenges no visitor.
	Solver string

	// Show is a path that is asked once for JSON whose title is shown above the
	// line. It costs each visitor a request; empty shows none.
	Show string
	// Keep is how long a closed page keeps its place, where the answers do not say it:
	// those of package queuehttp do. The line decides that; the page
	// only displays it. In steps of 1 min. Default 10 min, of a gate 24 h.
	Keep time.Duration
	// Language is for browsers that want neither English nor Korean: en or ko.
	// Default en.
	Language string
	// MaxAge is how long browsers and caches use the page without asking, in steps
	// of 1 s. After a change of the page some visitors have the old one for as long.
	// Default 60 s; at most 1 h.
	MaxAge time.Duration

	Brand Brand
}

func (c Config) withDefaults() Config {
	set := func(field *string, room, atGate string) {
		if c.Gate {
			room = atGate
		}
		*field = cmp.Or(*field, room)
	}
	set(&c.Path, "/queue/{eventId}", "/vwr/{eventId}")
	set(&c.Check, "/api/queue/check/{eventId}", "/vwr/check/{eventId}/{requestId}")
	set(&c.Heartbeat, "/api/queue/heartbeat/{eventId}", "")
	set(&c.Leave, "/api/queue/leave/{eventId}", "")
	set(&c.Assign, "", "/vwr/assign/{eventId}")
	set(&c.Admitted, "/events/{eventId}", "/queue/{eventId}")
	set(&c.Language, "en", "en")
	c.MoveOn = cmp.Or(c.MoveOn, 5*time.Second)
	if c.Keep == 0 {
		c.Keep = 10 * time.Minute
		if c.Gate {
			c.Keep = 24 * time.Hour
		}
	}
	c.MaxAge = cmp.Or(c.MaxAge, time.Minute)
	c.RetryAfter = cmp.Or(c.RetryAfter, 5*time.Second)
	c.Brand = c.Brand.withDefaults()
	return c
}

func (c Config) validate() error {
	paths := []struct {
		name, value string
		holes       []string
	}{
		{"Path", c.Path, []string{"{eventId}"}},
		{"Check", c.Check, []string{"{eventId}"}},
		{"Heartbeat", c.Heartbeat, []string{"{eventId}"}},
		{"Leave", c.Leave, []string{"{eventId}"}},
		{"Assign", c.Assign, []string{"{eventId}"}},
		{"Admitted", c.Admitted, nil},
		{"SignIn", c.SignIn, nil},
		{"Solver", c.Solver, nil},
		{"Show", c.Show, []string{"{eventId}"}},
		{"Brand.Home", c.Brand.Home, nil},
		{"Brand.HeadingsFile", c.Brand.HeadingsFile, nil},
	}
	if c.Gate {
		paths[1].holes = append(paths[1].holes, "{requestId}")
		if c.Heartbeat != "" || c.Leave != "" {
			return errors.New("Heartbeat and Leave are a room's: leave them empty for a gate")
		}
		if c.EntryKey != "" {
			return errors.New("EntryKey is a room's: leave it empty for a gate")
		}
		if c.Event != "" {
			return errors.New("Event is a room's: leave it empty for a gate")
		}
	} else if c.Assign != "" {
		return errors.New("Assign is a gate's: leave it empty for a room")
	}
	for _, p := range paths {
		if p.value == "" {
			continue
		}
		if err := localPath(p.value); err != nil {
			return fmt.Errorf("%s %q %w", p.name, p.value, err)
		}
		for _, hole := range p.holes {
			if strings.Count(p.value, hole) != 1 {
				return fmt.Errorf("%s %q needs %s once", p.name, p.value, hole)
			}
		}
	}
	switch {
	case len(c.Event) > 256 || c.Event == "." || c.Event == ".." || !utf8.ValidString(c.Event) || strings.ContainsFunc(c.Event, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }):
		return fmt.Errorf("Event %.40q: set at most 256 bytes of UTF-8 without slashes and control characters", c.Event)
	case strings.ContainsAny(c.Path, "?#"):
		return fmt.Errorf("Path %q is where the page is mounted: leave its query out", c.Path)
	case c.MoveOn > 0 && (c.MoveOn < time.Second || c.MoveOn > 5*time.Minute):
		return fmt.Errorf("MoveOn %v: set 1 s to 5 min, or less than 0 for never", c.MoveOn)
	case c.Keep < time.Minute:
		return fmt.Errorf("Keep %v: set what the line keeps a place for, at least 1 min", c.Keep)
	case c.MaxAge < time.Second || c.MaxAge > time.Hour:
		return fmt.Errorf("MaxAge %v: set 1 s to 1 h", c.MaxAge)
	case c.RetryAfter < time.Second:
		return fmt.Errorf("RetryAfter %v: set at least 1 s", c.RetryAfter)
	case c.BearerField != "" && c.BearerKey == "":
		return errors.New("BearerField without BearerKey: name the key of localStorage")
	case !slices.Contains([]string{"en", "ko"}, c.Language):
		return fmt.Errorf("Language %q: set en or ko", c.Language)
	}
	return c.Brand.validate()
}

// pathText are the characters of a path: none that means something to HTML, to CSS
// or to a browser that corrects addresses.
var pathText = regexp.MustCompile(`^/[A-Za-z0-9._~!$&*+,;=:@%/?#{}-]*$`)

// localPath refuses paths that would lead to another site, or that a browser reads
// in another way than this package.
func localPath(path string) error {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return errors.New("is not local: begin it with one slash")
	}
	if !pathText.MatchString(path) {
		return errors.New("has a character that does not belong in a path: escape it")
	}
	bare := strings.NewReplacer("{eventId}", "e", "{requestId}", "r", "{here}", "h").Replace(path)
	if strings.ContainsAny(bare, "{}") {
		return errors.New("has a brace that is no {eventId}, {requestId} or {here}")
	}
	u, err := url.Parse(bare)
	if err != nil || u.Host != "" || u.Scheme != "" {
		return errors.New("is no path")
	}
	if slices.ContainsFunc(strings.Split(u.Path, "/"), func(part string) bool { return part == "." || part == ".." }) {
		return errors.New("has a step of dots: write it out")
	}
	return nil
}
