package audit

import (
	"testing"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// passage is one of show-1, in seconds; queued is 0 for a fan that never waited.
func passage(asked, told, queued, entered float64) crowd.Passage {
	at := func(s float64) time.Time {
		return time.Unix(1_772_366_400, 0).Add(time.Duration(s * float64(time.Second)))
	}
	p := crowd.Passage{Event: "show-1", Asked: at(asked), Told: at(told), Entered: at(entered)}
	if queued > 0 {
		p.Queued, p.Open = at(queued), at(queued)
	}
	return p
}

func TestOvertaken(t *testing.T) {
	elsewhere := passage(2, 2.1, 0, 2.1)
	elsewhere.Event = "show-2"
	empty := passage(1, 1.1, 9, 10)
	empty.Open = empty.Told
	for name, c := range map[string]struct {
		passages []crowd.Passage
		want     int
	}{
		"nobody":                {nil, 0},
		"in order":              {[]crowd.Passage{passage(1, 1.1, 5, 6), passage(2, 2.1, 6, 7)}, 0},
		"told at once":          {[]crowd.Passage{passage(1, 1.1, 5, 6), passage(2, 2.1, 5, 5.5)}, 0},
		"a view of the line":    {[]crowd.Passage{passage(1, 1.1, 5, 6), passage(2, 2.1, 0, 2.1)}, 0},
		"passed by":             {[]crowd.Passage{passage(1, 1.1, 5.2, 6), passage(2, 2.1, 0, 2.1)}, 1},
		"passed by in line":     {[]crowd.Passage{passage(1, 1.1, 9, 10), passage(2, 2.1, 4, 5)}, 1},
		"came at the same time": {[]crowd.Passage{passage(1, 2.1, 9, 10), passage(2, 2.2, 4, 5)}, 0},
		"by two":                {[]crowd.Passage{passage(3, 3.1, 0, 3.1), passage(1, 1.1, 9, 10), passage(2, 2.1, 4, 5)}, 2},
		"to the last seat":      {[]crowd.Passage{empty, passage(2, 2.1, 4, 5)}, 0},
		"out of an empty house": {[]crowd.Passage{empty, passage(2, 2.1, 0, 2.2)}, 1},
		"to another show":       {[]crowd.Passage{passage(1, 1.1, 9, 10), elsewhere}, 0},
		"behind a short wait":   {[]crowd.Passage{passage(1, 1.1, 9, 10), passage(1.5, 1.6, 2, 2.5), passage(2, 2.1, 4, 5)}, 2},
	} {
		if got := overtaken(c.passages); len(got) != c.want {
			t.Errorf("%s: %v, want %d pairs", name, got, c.want)
		}
	}
}
