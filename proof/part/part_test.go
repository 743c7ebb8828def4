package part

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain is also the part.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "speaks" {
		fmt.Println("one line")
		os.Exit(len(os.Args) - 2)
	}
	if len(os.Args) > 1 && os.Args[1] == "the-part" {
		if err := Answer(context.Background(), os.Stdin, os.Stdout, answer); err != nil {
			os.Exit(1)
		}
		if len(os.Args) > 2 {
			fmt.Fprintln(os.Stderr, "last words")
			os.Exit(3)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func answer(_ context.Context, line string) (string, error) {
	switch line {
	case "fail":
		return "", errors.New("it is broken\nin two places")
	case "words":
		return "no number", nil
	case "end":
		os.Exit(0)
	case "hang":
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
	}
	return line, nil
}

func start(t *testing.T, args ...string) *Part {
	t.Helper()
	p, err := Start(t.Context(), "the-part", args...)
	require.NoError(t, err)
	return p
}

func TestAsk(t *testing.T) {
	p := start(t)
	for _, want := range [][]float64{{1, 2.5, 3}, nil, {7}} {
		got, err := p.Ask(t.Context(), "%s", strings.Trim(fmt.Sprint(want), "[]"))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	assert.NoError(t, p.Close())
}

func TestTrouble(t *testing.T) {
	p := start(t)
	for asked, says := range map[string]string{"fail": "it is broken; in two places", "words": "invalid syntax"} {
		if _, err := p.Ask(t.Context(), "%s", asked); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	if got, err := p.Ask(t.Context(), "1"); err != nil || len(got) != 1 {
		t.Errorf("after trouble it answers nothing more: %v, %v", got, err)
	}
	assert.NoError(t, p.Close())
}

func TestEnded(t *testing.T) {
	p := start(t)
	if _, err := p.Ask(t.Context(), "end"); err == nil || !strings.Contains(err.Error(), "it has ended") {
		t.Error(err)
	}
	assert.NoError(t, p.Close())
	assert.NoError(t, (*Part)(nil).Close())
}

func TestClose(t *testing.T) {
	p := start(t, "fails")
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "last words") {
		t.Errorf("%v", err)
	}
}

func TestLate(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	p, err := Start(ctx, "the-part")
	require.NoError(t, err)
	p.patience = 10 * time.Millisecond
	if _, err := p.Ask(t.Context(), "hang"); err == nil || !strings.Contains(err.Error(), "no answer within 10ms") {
		t.Error(err)
	}
	end()
	assert.Error(t, p.Close(), "a killed part has ended well")
}

func TestOutput(t *testing.T) {
	if out, err := Output(t.Context(), "speaks"); err != nil || out != "one line\n" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := Output(t.Context(), "speaks", "and fails"); err == nil {
		t.Error("a part that fails has ended well")
	}
}
