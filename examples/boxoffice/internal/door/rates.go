package door

import (
	"hash/maphash"
	"net/netip"
	"sync/atomic"
	"time"
)

// slots is how many rates are kept: half a megabyte, for any number of addresses. The
// slot of an address cannot be guessed from outside.
const slots = 1 << 16

// rates are token buckets. Each is kept as the moment at which it will be full again.
type rates struct {
	seed         maphash.Seed
	start        time.Time
	every, burst time.Duration
	full         [slots]atomic.Int64 // since start
}

func newRates(every, burst time.Duration) *rates {
	return &rates{seed: maphash.MakeSeed(), start: time.Now(), every: every, burst: burst}
}

// take takes a token, or returns the wait until the next one.
func (r *rates) take(from netip.Prefix) (wait time.Duration) {
	slot := &r.full[maphash.Comparable(r.seed, from)%slots]
	for {
		now, was := int64(time.Since(r.start)), slot.Load()
		next := max(was, now) + int64(r.every)
		if over := next - now - int64(r.burst); over > 0 {
			return time.Duration(over)
		}
		if slot.CompareAndSwap(was, next) {
			return 0
		}
	}
}

// cost are the routes that are costly for an unknown client: a member or a position
// is made, a visit is counted, or an operator's token is tried.
type cost struct{ method, prefix, suffix string }

func costs() []cost {
	return []cost{
		{"POST", "/api/login", ""},
		{"POST", "/vwr/assign/", ""},
		{"POST", "/api/shows/", "/view"},
		{"", "/api/admin/", ""},
		{"", "/api/queue/admin/", ""},
		{"POST", "/api/shows/", "/vote/close"},
	}
}
