package ops

import (
	"errors"
	"time"

	"github.com/millrace-go/millrace/bus"
)

// The states of the lag.
const (
	lagFresh       = "known"
	lagStale       = "stale"       // the last answer is old: the transport does not answer
	lagUnknown     = "unknown"     // no answer yet
	lagUnsupported = "unsupported" // the transport can never tell
)

// lagReport states how reliable the lags are.
type lagReport struct {
	State      string   `json:"state"`
	AgeSeconds *float64 `json:"ageSeconds"` // of the last answer; null when there was none
	Error      string   `json:"error"`      // why the latest question had no answer
}

// known reports whether there are figures, old ones included.
func (l lagReport) known() bool { return l.State == lagFresh || l.State == lagStale }

func lagStateOf(s bus.LagSnapshot) lagReport {
	r := lagReport{State: lagFresh}
	switch {
	case errors.Is(s.Err, errors.ErrUnsupported):
		r.State = lagUnsupported
	case !s.Known:
		r.State = lagUnknown
	case s.Stale:
		r.State = lagStale
	}
	if s.Known {
		r.AgeSeconds = seconds(s.Age)
	}
	if s.Err != nil && r.State != lagUnsupported {
		r.Error = s.Err.Error()
	}
	return r
}

func seconds(d time.Duration) *float64 {
	s := max(0, d.Seconds())
	return &s
}
