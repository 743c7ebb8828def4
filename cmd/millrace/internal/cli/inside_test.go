package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/bus/redrive"
)

// The content of a letter is shown as text and controls nothing.
func TestPlain(t *testing.T) {
	hostile := "a\x1b[2J\x07b\u202ec\u0085d\ne\tf\r\ng\xff좌석"
	if got, want := plain(hostile), "a\uFFFD[2J\uFFFDb\uFFFDc\uFFFDd e f  g\uFFFD좌석"; got != want {
		t.Errorf("on one line %q, want %q", got, want)
	}
	if got, want := plainLines(hostile), "a\uFFFD[2J\uFFFDb\uFFFDc\uFFFDd\ne\tf\ng\uFFFD좌석"; got != want {
		t.Errorf("on several lines %q, want %q", got, want)
	}
	if got, want := short("좌석좌석좌석", 4), "좌석좌…"; got != want {
		t.Errorf("cut to %q, want %q", got, want)
	}
}

func TestWhen(t *testing.T) {
	var w when
	for text, want := range map[string]time.Time{
		"2026-03-01T19:00:00Z":      time.Date(2026, 3, 1, 19, 0, 0, 0, time.UTC),
		"2026-03-01T19:00:00+09:00": time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC),
		"2026-03-01 19:00":          time.Date(2026, 3, 1, 19, 0, 0, 0, time.Local),
		"2026-03-01":                time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
	} {
		if err := w.Set(text); err != nil || !w.Equal(want) {
			t.Errorf("%s is %s, want %s (%v)", text, w.Time, want, err)
		}
	}
	for _, text := range []string{"2h", "-2h"} {
		if err := w.Set(text); err != nil || time.Since(w.Time).Round(time.Minute) != 2*time.Hour {
			t.Errorf("%s is %s (%v)", text, w.Time, err)
		}
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 1500 * time.Millisecond: "1.5s", 90 * time.Minute: "1h30m0s", 72*time.Hour + time.Minute: "3 days",
	} {
		if got := ago(time.Now().Add(-d)); got != want {
			t.Errorf("%s ago is shown as %s, want %s", d, got, want)
		}
	}
}

// What a driver says of a letter that stays shows no password, on the terminal and in JSON.
func TestAFailureOfALetterShowsNoSecret(t *testing.T) {
	var out, said bytes.Buffer
	a := &app{Streams: Streams{Out: &out, Err: &said}, urls: []string{"amqp://app:geheim@h/"}, json: true}
	run := func(context.Context, redrive.Filter, redrive.Options) (redrive.Result, error) {
		failed := redrive.Failure{ID: "l-1", Err: errors.New("dial amqp://app:geheim@h/: refused")}
		return redrive.Result{Matched: 1, Complete: true, Failed: []redrive.Failure{failed}}, nil
	}
	assert.ErrorIs(t, a.change(t.Context(), letters{}, run, redrive.Filter{}, changeFlags{}, "redriven"), errWrong, "it ends with")
	for where, text := range map[string]string{"JSON": out.String(), "the standard error": said.String()} {
		if !strings.Contains(text, "dial amqp://app:xxxxx@h/") || strings.Contains(text, "geheim") {
			t.Errorf("%s says %s", where, text)
		}
	}
}

// Editors end the last line of a file; a payload that had no such end gets none.
func TestAnEditAddsNoLineBreak(t *testing.T) {
	for _, c := range []struct{ payload, written, want string }{
		{"hallo", "hullo\n", "hullo"}, {"hallo\n", "hullo\n", "hullo\n"}, {"hallo", "hullo", "hullo"}, {`{"a":1}`, "{\n  \"a\": 2\n}\n", `{"a":2}`},
	} {
		a := &app{Streams: Streams{Edit: func(_ context.Context, path string) error { return os.WriteFile(path, []byte(c.written), 0o600) }}}
		if got, err := a.edit(t.Context(), []byte(c.payload)); err != nil || string(got) != c.want {
			t.Errorf("%q, edited as %q, becomes %q, want %q (%v)", c.payload, c.written, got, c.want, err)
		}
	}
}
