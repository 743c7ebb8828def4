package gate

import (
	"strings"
	"sync"
	"time"
)

// mostVerified bounds the memory of verified: some 40 MB.
const mostVerified = 1 << 16

// verified remembers passes that were found good: each page is followed by many requests
// with the same one, and to verify it again is half of the gate's work for a request.
type verified struct {
	mu   sync.RWMutex
	ends map[visitorsPass]time.Time
}

type visitorsPass struct{ user, pass string }

// good says whether the pass of a visitor was found good, and has not ended.
func (v *verified) good(user, pass string) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return time.Now().Before(v.ends[visitorsPass{user, pass}])
}

// keep remembers a good pass until its end.
func (v *verified) keep(user, pass string, ends time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ends == nil || len(v.ends) >= mostVerified {
		v.ends = map[visitorsPass]time.Time{}
	}
	v.ends[visitorsPass{strings.Clone(user), strings.Clone(pass)}] = ends // they are parts of headers, which may be large
}
