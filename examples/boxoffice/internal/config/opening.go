package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Opening is a show whose waiting room opens by a draw, some time after the process has
// started. The zero Opening is none.
type Opening struct {
	Show  string
	After time.Duration
}

// Bounds of Opening.After in seconds: the room freezes 5 s before, and needs the
// commitment to be public for a while before that.
const (
	leastOpening = 15
	mostOpening  = 7 * 86_400
)

// set reads a show and seconds, such as show-5:300.
func (o *Opening) set(text string) error {
	if text == "" {
		return nil
	}
	show, after, _ := strings.Cut(text, ":")
	seconds, err := strconv.Atoi(after)
	if show == "" || err != nil || seconds < leastOpening || seconds > mostOpening {
		return fmt.Errorf("%.60q is no show with %d to %d seconds; write for example show-5:300", text, leastOpening, mostOpening)
	}
	*o = Opening{Show: show, After: time.Duration(seconds) * time.Second}
	return nil
}
