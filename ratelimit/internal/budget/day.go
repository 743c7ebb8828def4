package budget

import (
	"time"

	"github.com/millrace-go/millrace/ratelimit/driver"
)

// Day is the stored count of a day.
type Day struct {
	Known bool
	driver.DayCount
}

const dayLength = int64(24 * time.Hour / time.Microsecond)

// dayOf returns the number of the upstream's day.
func dayOf(l driver.DayLimit, now int64) int64 {
	return (now - l.Offset.Microseconds()) / dayLength
}

// tally is the count of the current day during a decision.
type tally struct {
	limit driver.DayLimit
	driver.DayCount
}

// tally continues from the higher of the stored count and the caller's. A count of tomorrow
// comes from a clock that was set back over midnight: it is continued until tomorrow is over,
// so that tomorrow is not given twice. A day that is further away is a mistake that must not
// last: the stored count of it counts for today, and a caller's count of it is ignored.
func (d *Day) tally(l driver.DayLimit, seen driver.DayCount, now int64) tally {
	t := tally{limit: l}
	if l.Limit == 0 {
		return t
	}
	today := dayOf(l, now)
	t.Day = today
	if d.Known && d.Day >= today {
		t.Used = d.Used
		if d.Day == today+1 {
			t.Day = d.Day
		}
	}
	switch {
	case seen.Day == t.Day:
		t.Used = max(t.Used, seen.Used)
	case seen.Day == today+1:
		t.DayCount = seen
	}
	return t
}

// room returns how much of the day a priority can use.
func (t *tally) room(p driver.Priority) int64 {
	room := t.limit.Limit - t.Used
	if p == driver.Low {
		room -= t.limit.HighReserve
	}
	return max(0, room)
}

// end returns when the day is over.
func (t *tally) end() int64 { return (t.Day+1)*dayLength + t.limit.Offset.Microseconds() }

// limited reports whether there is a limit.
func (t *tally) limited() bool { return t.limit.Limit > 0 }

// giveBack subtracts a permit of the same day from the count.
func (d *Day) giveBack(l driver.DayLimit, r driver.Returned, now int64) {
	if l.Limit == 0 || dayOf(l, r.At) != dayOf(l, now) {
		return
	}
	t := d.tally(l, r.Day, now)
	t.Used = max(0, t.Used-int64(r.Size))
	*d = Day{Known: true, DayCount: t.DayCount}
}
