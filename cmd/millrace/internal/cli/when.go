package cli

import (
	"fmt"
	"time"
)

// when is a flag that holds a moment: a time, or how long ago.
type when struct{ time.Time }

func (w *when) String() string {
	if w.IsZero() {
		return ""
	}
	return w.Format(time.RFC3339)
}

func (w *when) Type() string { return "time" }

// Set takes RFC 3339, a date, or a duration before now, such as 2h.
func (w *when) Set(text string) error {
	if d, err := time.ParseDuration(text); err == nil {
		w.Time = time.Now().Add(-d.Abs())
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			w.Time = t
			return nil
		}
	}
	return fmt.Errorf("%q is no time; give one like 2026-03-01T19:00:00Z, 2026-03-01, or 2h for two hours ago", text)
}
