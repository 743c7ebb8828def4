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

// ErrUnknownScheme is wrapped by the error of Open for a URL whose scheme is not one of those
// that Open was given.
var ErrUnknownScheme = errors.New("bus: unknown scheme")

// Open opens the transport of rawURL with the one of the schemes that has the URL's scheme among
// its names; if several have, the last one counts. A binary links only the transports whose
// schemes it names. For an unknown scheme or query parameter, the error names it. Errors never
// repeat the URL's credentials.
//
// Open does not connect to a server, so a program starts while its broker or database is absent.
// The first use connects. Until the server is available, Publish and Declare fail as
// infrastructure within the time of their context, and consumers wait. [Bus.Ping] checks the
// connection. A wrong password also shows at the first use.
func Open(ctx context.Context, rawURL string, schemes ...Scheme) (*Bus, error) {
	known := map[string]Scheme{}
	for _, s := range schemes {
		for _, name := range s.Names() {
			known[strings.ToLower(name)] = s
		}
	}
	name, _, ok := strings.Cut(rawURL, "://")
	if !ok || name == "" || strings.ContainsAny(name, "@/?# ") {
		// The text before "://" may contain secrets, so it is not repeated.
		return nil, fmt.Errorf("bus: open: the URL has no scheme; write one as %s", formsOf(known))
	}
	name = strings.ToLower(name)
	scheme, ok := known[name]
	if !ok {
		return nil, fmt.Errorf("%w %q; known are: %s", ErrUnknownScheme, name, namesOf(known))
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

func namesOf(known map[string]Scheme) string {
	if len(known) == 0 {
		return "none (Open was given no schemes)"
	}
	return strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}

func formsOf(known map[string]Scheme) string {
	if len(known) == 0 {
		return "scheme://… (Open was given no schemes)"
	}
	return strings.Join(slices.Sorted(maps.Keys(known)), "://…, ") + "://…"
}
