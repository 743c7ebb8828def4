package queuetest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/steps"
	"github.com/millrace-go/millrace/queue/driver"
)

// Concurrent instances act differently in each run. This test shows on fixed
// histories which errors the case finds.
func TestHistoryTells(t *testing.T) {
	in := func(begin, end, order int64, user string) given { return given{begin, end, order, user} }
	past := func(arrived ...given) *history { return &history{arrived: arrived} }
	for what, c := range map[string]struct {
		past *history
		ok   bool
	}{
		"one after the other":             {past(in(1, 2, 10, "a"), in(3, 4, 11, "b")), true},
		"at once, in any order":           {past(in(1, 4, 11, "a"), in(2, 3, 10, "b")), true},
		"a long one, and two others":      {past(in(1, 9, 12, "a"), in(2, 3, 10, "b"), in(4, 5, 11, "c")), true},
		"several of one call":             {past(in(1, 2, 10, "a"), in(1, 2, 11, "b"), in(3, 4, 12, "c")), true},
		"the later before":                {past(in(1, 2, 11, "a"), in(3, 4, 10, "b")), false},
		"the latest before the first":     {past(in(1, 2, 11, "a"), in(3, 4, 12, "b"), in(5, 6, 10, "c")), false},
		"within a long one, swapped":      {past(in(1, 9, 12, "a"), in(2, 3, 11, "b"), in(4, 5, 10, "c")), false},
		"one order for two":               {past(in(1, 4, 10, "a"), in(2, 3, 10, "b")), false},
		"two orders for one":              {past(in(1, 4, 10, "a"), in(2, 3, 11, "a")), false},
		"between the orders of one call":  {past(in(1, 2, 10, "a"), in(1, 2, 12, "b"), in(3, 4, 11, "c")), false},
		"before the orders of one call":   {past(in(1, 2, 10, "a"), in(1, 2, 12, "b"), in(3, 4, 9, "c")), false},
		"ended as the other one was made": {past(in(1, 3, 10, "a"), in(2, 4, 9, "b")), true},
	} {
		if err := steps.Try(c.past.arrivals); (err == nil) != c.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestHistoryTellsWhoIsInTwiceOrLost(t *testing.T) {
	admission := func(all ...driver.Admitted) driver.Admission { return driver.Admission{Admitted: all} }
	a, again, b := driver.Admitted{User: "a", Order: 1}, driver.Admitted{User: "a", Order: 3}, driver.Admitted{User: "b", Order: 2}
	for what, c := range map[string]struct {
		all []driver.Admission
		ok  bool
	}{
		"both":                {[]driver.Admission{admission(a, b)}, true},
		"both, one by one":    {[]driver.Admission{admission(a), admission(), admission(b)}, true},
		"the other way round": {[]driver.Admission{admission(b, a)}, false},
		"one of them twice":   {[]driver.Admission{admission(a), admission(a), admission(b)}, false},
		"by another order":    {[]driver.Admission{admission(a, b, again)}, false},
		"one is lost":         {[]driver.Admission{admission(a)}, false},
		"one for another":     {[]driver.Admission{admission(a, driver.Admitted{User: "b", Order: 1})}, false},
	} {
		past := &history{entered: map[string]int64{}, left: map[string]bool{}}
		err := steps.Try(func() {
			for i, one := range c.all {
				past.admission(one, int64(2*i), int64(2*i+1))
			}
			past.everybody([]string{"a", "b"})
		})
		assert.Equalf(t, c.ok, (err == nil), "%s: %v", what, err)
	}
}
