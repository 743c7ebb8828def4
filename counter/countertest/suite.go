package countertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Case is one guarantee, with a harness H.
type Case[H any] struct {
	Name string
	// Needs returns why the case is n/a for the harness, or ""; nil means that it always
	// applies.
	Needs func(h H) string
	// Run checks the guarantee on a new harness and returns an error if it is broken.
	Run func(ctx context.Context, h H) error
}

// Limit bounds the time of one case.
const Limit = time.Minute

// Check runs one case on a new harness.
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

// fresh returns a unique name for a counter.
func fresh() string { return "t-" + strings.ToLower(rand.Text()) }

// odd are keys that are easily confused with each other or with special values.
var odd = []string{"a", "A", "a ", " a", "a{b}", "{a}", "ä", "a:b", "*", "'", `"`, `\`, "%s", "<a&b>", "日本", strings.Repeat("x", 200)}

func expect(what string, got, want any) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}
