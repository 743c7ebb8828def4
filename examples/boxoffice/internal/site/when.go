package site

import (
	"fmt"
	"math"
	"strconv"
	"time"
	_ "time/tzdata" // a machine may have no time zones

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// place is the time zone of a venue. An unknown zone is UTC, which the page shows.
func place(zone string) *time.Location {
	where, err := time.LoadLocation(zone)
	if err != nil {
		return time.UTC
	}
	return where
}

// moment is a date and a time in the page's language, by the clock that t carries.
func (v view) moment(t time.Time) string {
	return v.T("date.at", "date", v.day(t), "time", v.clock(t))
}

func (v view) day(t time.Time) string {
	return v.T("date.day", "year", t.Year(), "month", v.T("date.month."+strconv.Itoa(int(t.Month()))), "day", t.Day(),
		"weekday", v.T("date.weekday."+strconv.Itoa(int(t.Weekday()))))
}

func (v view) clock(t time.Time) string {
	half := "date.am"
	if t.Hour() >= 12 {
		half = "date.pm"
	}
	return v.T("date.time", "hour", (t.Hour()+11)%12+1, "minute", fmt.Sprintf("%02d", t.Minute()), "half", v.T(half))
}

// zoneName is the local name of the clock of t, such as KST.
func zoneName(t time.Time) string {
	name, _ := t.Zone()
	if name == "" || name[0] == '+' || name[0] == '-' {
		return "UTC" + name // some zones have no name but their distance
	}
	return name
}

// money is an amount in the smallest unit of a currency.
func (v view) money(amount int64, code string) string {
	scale := 0
	if unit, err := currency.ParseISO(code); err == nil {
		scale, _ = currency.Standard.Rounding(unit)
	}
	printer := message.NewPrinter(language.Make(v.Lang))
	one := int64(math.Pow10(scale))
	n := printer.Sprintf("%d", amount/one)
	if scale > 0 {
		n += fmt.Sprintf(".%0*d", scale, amount%one)
	}
	if code == "KRW" {
		return v.T("money", "n", n)
	}
	return v.T("money.other", "currency", code, "n", n)
}
