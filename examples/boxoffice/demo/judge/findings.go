package judge

import (
	"fmt"
	"strings"
	"sync"
)

// told is how many faults of a check are in its detail.
const told = 3

// Findings collects faults under the names of checks, which appear in the order in
// which they were announced. The zero value is ready, and safe for concurrent use.
type Findings struct {
	mu    sync.Mutex
	order []*finding
	named map[string]*finding
}

type finding struct {
	name, detail string   // when nothing is wrong
	faults       []string // the first few
	count        int
}

// Announce adds a check that holds until a fault is found.
func (f *Findings) Announce(name, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.of(name)
	one.detail = fmt.Sprintf(format, args...)
	f.order = append(f.order, one)
}

// Fault adds a fault to a check. An empty text adds none.
func (f *Findings) Fault(name, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if text == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.of(name)
	if one.count++; len(one.faults) < told {
		one.faults = append(one.faults, text)
	}
}

func (f *Findings) of(name string) *finding {
	if f.named == nil {
		f.named = map[string]*finding{}
	}
	if f.named[name] == nil {
		f.named[name] = &finding{name: name}
	}
	return f.named[name]
}

// Count is how many faults a check has.
func (f *Findings) Count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of(name).count
}

// Checks are the announced checks.
func (f *Findings) Checks() []Check {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]Check, 0, len(f.order))
	for _, one := range f.order {
		c := Check{Name: one.name, OK: one.count == 0, Detail: one.detail}
		if !c.OK {
			c.Detail = strings.Join(one.faults, "; ") + More(one.count-len(one.faults))
		}
		all = append(all, c)
	}
	return all
}

// More says that so many faults are not told.
func More(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("; and %d more", n)
}
