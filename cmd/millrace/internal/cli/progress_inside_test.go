package cli

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Without a terminal, progress is a line every five seconds, and never on the standard output.
func TestProgressLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		p := (&app{Streams: Streams{Out: &out, Err: &errs}}).progress()
		for i := range 100 {
			p.draw("%d done", i)
			time.Sleep(200 * time.Millisecond)
		}
		p.end()
		if got, want := errs.String(), "25 done\n50 done\n75 done\n"; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		errs.Reset()
		p.step("now %s", "that")
		p.draw("nothing yet")
		if got, want := errs.String(), "now that\n"; got != want || out.Len() > 0 {
			t.Errorf("a step: %q, want %q; on the output %q", got, want, &out)
		}
	})
}

// On a terminal progress is drawn over itself, ten times a second, and removed at the end.
func TestProgressDrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		p := (&app{Streams: Streams{Out: &out, Err: &errs, Asks: true}}).progress()
		for i := range 100 {
			p.draw("%d done", i)
			time.Sleep(10 * time.Millisecond)
		}
		p.end()
		p.end()
		got := errs.String()
		if n := strings.Count(got, "done"); n != 10 {
			t.Errorf("drawn %d times in a second", n)
		}
		if strings.Contains(got, "\n") || !strings.HasPrefix(got, "\r\x1b[K0 done") || !strings.HasSuffix(got, "90 done\r\x1b[K") || out.Len() > 0 {
			t.Errorf("drawn %q; on the output %q", got, &out)
		}
	})
}
