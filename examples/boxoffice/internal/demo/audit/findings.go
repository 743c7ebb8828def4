package audit

import (
	"fmt"
	"strings"
	"sync"
)

// findings collects faults under the name of a check, in the order in which checks
// were announced. It is safe for concurrent use.
type findings struct {
	mu     sync.Mutex
	order  []string
	detail map[string]string   // when nothing is wrong
	wrong  map[string][]string // the first few
	count  map[string]int
}

func newFindings() *findings {
	return &findings{detail: map[string]string{}, wrong: map[string][]string{}, count: map[string]int{}}
}

// announce adds a check that holds until a fault is found.
func (f *findings) announce(name, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order = append(f.order, name)
	f.detail[name] = fmt.Sprintf(format, args...)
}

// found adds a fault to a check. An empty text adds none.
func (f *findings) found(name, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if text == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count[name]++
	if len(f.wrong[name]) < 3 {
		f.wrong[name] = append(f.wrong[name], text)
	}
}

func (f *findings) checks() []Check {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Check, 0, len(f.order))
	for _, name := range f.order {
		c := Check{Name: name, OK: f.count[name] == 0, Detail: f.detail[name]}
		if !c.OK {
			c.Detail = strings.Join(f.wrong[name], "; ")
			if more := f.count[name] - len(f.wrong[name]); more > 0 {
				c.Detail += fmt.Sprintf("; and %d more", more)
			}
		}
		out = append(out, c)
	}
	return out
}
