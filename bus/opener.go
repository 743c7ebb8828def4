package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace-go/millrace/internal/rawurl"
)

// ErrUnknownScheme is wrapped by the error of Open for a URL whose scheme the Opener does not
// have.
var ErrUnknownScheme = errors.New("bus: unknown scheme")

// Opener opens a Bus from a URL. It knows only the schemes it was made with, so a binary links
// only the transports it names.
type Opener struct {
	schemes map[string]Scheme
}

// NewOpener makes an Opener of the given schemes. If two have the same name, the later one
// counts.
func NewOpener(schemes ...Scheme) *Opener {
	o := &Opener{schemes: make(map[string]Scheme, len(schemes))}
	for _, s := range schemes {
		o.schemes[strings.ToLower(s.Name())] = s
	}
	return o
}

// Open opens the transport of rawURL. For an unknown scheme or query parameter, the error names
// it. Errors never repeat the URL's credentials.
//
// Open does not connect to a server, so a program starts while its broker or database is absent.
// The first use connects. Until the server is available, Publish and Declare fail as
// infrastructure within the time of their context, and consumers wait. [Bus.Ping] checks the
// connection. A wrong password also shows at the first use.
func (o *Opener) Open(ctx context.Context, rawURL string) (*Bus, error) {
	name, _, ok := strings.Cut(rawURL, "://")
	if !ok || name == "" || strings.ContainsAny(name, "@/?# ") {
		// The text before "://" may contain secrets, so it is not repeated.
		return nil, fmt.Errorf("bus: open: the URL has no scheme; write one as %s", o.forms())
	}
	name = strings.ToLower(name)
	scheme, ok := o.schemes[name]
	if !ok {
		return nil, fmt.Errorf("%w %q; known are: %s", ErrUnknownScheme, name, o.names())
	}
	u, err := rawurl.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("bus: open %s: %w", name, err)
	}
	d, err := scheme.Open(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("bus: open %s: %w", name, rawurl.Hide(err, rawURL))
	}
	return New(name, d), nil
}

// Schemes returns the known scheme names, sorted.
func (o *Opener) Schemes() []string { return slices.Sorted(maps.Keys(o.schemes)) }

func (o *Opener) names() string {
	if len(o.schemes) == 0 {
		return "none (the Opener was made without schemes)"
	}
	return strings.Join(o.Schemes(), ", ")
}

func (o *Opener) forms() string {
	if len(o.schemes) == 0 {
		return "scheme://… (the Opener was made without schemes)"
	}
	return strings.Join(o.Schemes(), "://…, ") + "://…"
}
