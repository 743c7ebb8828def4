package pglog

import (
	"fmt"
	"strconv"
	"strings"
)

// head is the first row of open_window.sql.
type head struct {
	snapshot                   string
	next                       uint64
	highest, end, floor, bound int64
	server                     string // the server that answered, if it is another one
}

func parseHead(text string) (head, error) {
	f := strings.Split(text, "|")
	if len(f) != 7 {
		return head{}, fmt.Errorf("the head of a window is %q", text)
	}
	h := head{snapshot: f[0], server: f[6]}
	next, err := strconv.ParseUint(f[1], 10, 64)
	h.next = next
	for i, to := range []*int64{&h.highest, &h.end, &h.floor, &h.bound} {
		if err == nil {
			*to, err = strconv.ParseInt(f[2+i], 10, 64)
		}
	}
	if err != nil {
		return head{}, fmt.Errorf("the head of a window is %q: %w", text, err)
	}
	return h, nil
}
