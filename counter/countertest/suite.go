package countertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Case is one promise, of what H has around it.
type Case[H any] struct {
	Name string
	// Needs is why the case is n/a for the harness, "" when it is not; nil for never.
	Needs func(h H) string
	// Run checks the promise on a fresh harness and returns how it was broken.
	Run func(ctx context.Context, h H) error
}

// Limit is how long one case may take.
const Limit = time.Minute

// Check runs one case on a fresh harness.
func (c Case[H]) Check(ctx context.Context, h H) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	return c.Run(ctx, h)
}

func run[H any](t *testing.T, cases []Case[H], open func(t *testing.T) H) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			h := open(t)
			if c.Needs != nil {
				if missing := c.Needs(h); missing != "" {
					t.Logf("n/a: %s", missing)
					return
				}
			}
			if err := c.Check(t.Context(), h); err != nil {
				t.Error(err)
			}
		})
	}
}

// fresh is a counter's name that nobody else has.
func fresh() string { return "t-" + strings.ToLower(rand.Text()) }

// odd are keys that are easily mistaken for each other or for something else.
var odd = []string{"a", "A", "a ", " a", "a{b}", "{a}", "ä", "a:b", "*", "'", `"`, `\`, "%s", "<a&b>", "日本", strings.Repeat("x", 200)}

func expect(what string, got, want any) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}
