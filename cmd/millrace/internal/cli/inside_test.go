package cli

import (
	"testing"
	"time"
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
