package queuehttp

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/millrace-go/millrace/queue/challenge"
)

// JoinRates bound how many visitors of an address join the line of an event. Visitors
// with a ticket, in line and inside are never refused.
//
// Many subscribers of a mobile carrier share an address: by blocks of some 500 ports
// (RFC 7422) up to 128. They may all come with an opening, and so the default is 200 at
// once, and then 5 a second. Larger networks behind one address, such as those of
// campuses and offices, can have a rate of their own.
//
// Addresses of version 6 count by their first 64 bits. An address of this machine or of
// a private network has no bound unless Networks names it: it is a proxy or a load
// balancer that Proxies does not name, and a bound would refuse everybody.
type JoinRates struct {
	// Limiter counts; required. Processes that share the room should share it.
	Limiter challenge.Taker
	// Rate is that of an address in Networks' stead. The zero value is 5 joins a
	// second, and 200 at once.
	Rate JoinRate
	// Networks have rates of their own, which are those of each address of a network; the
	// longest prefix of an address decides.
	Networks map[netip.Prefix]JoinRate
	// Proxies are those before this program.
	Proxies Proxies
}

// JoinRate is a number of joins of one address.
type JoinRate struct {
	PerSecond int // in the long run, up to 100,000; 0 for 5, or with Unbounded
	Burst     int // at once; 0 for 40 times PerSecond
	Unbounded bool
}

const (
	usualRate    = 5
	usualBurst   = 40 // times the rate
	maxPerSecond = 100_000
	maxJoinBurst = 1_000_000
)

func (r JoinRate) withDefaults() JoinRate {
	r.PerSecond = cmp.Or(r.PerSecond, usualRate)
	r.Burst = cmp.Or(r.Burst, min(usualBurst*r.PerSecond, maxJoinBurst))
	return r
}

func (r JoinRate) validate() error {
	switch {
	case r.PerSecond < 0 || r.PerSecond > maxPerSecond:
		return fmt.Errorf("PerSecond is %d; give 1 to %d joins a second, or 0 for %d", r.PerSecond, maxPerSecond, usualRate)
	case r.Burst < 0 || r.Burst > maxJoinBurst:
		return fmt.Errorf("Burst is %d; give 1 to %d joins, or 0 for %d times PerSecond", r.Burst, maxJoinBurst, usualBurst)
	}
	return nil
}

// complete returns the rates with their defaults.
func (j *JoinRates) complete() (*JoinRates, error) {
	if j == nil {
		return nil, nil //nolint:nilnil // no bound is no mistake
	}
	if j.Limiter == nil {
		return nil, errors.New("queuehttp: Config.JoinRates.Limiter is nil; make one with keyed.New of package ratelimit/keyed")
	}
	if err := j.Proxies.validate(); err != nil {
		return nil, fmt.Errorf("queuehttp: Config.JoinRates.%w", err)
	}
	if err := j.Rate.validate(); err != nil {
		return nil, fmt.Errorf("queuehttp: Config.JoinRates.Rate.%w", err)
	}
	full := *j
	full.Rate, full.Networks = j.Rate.withDefaults(), make(map[netip.Prefix]JoinRate, len(j.Networks))
	for network, rate := range j.Networks {
		if err := rate.validate(); err != nil {
			return nil, fmt.Errorf("queuehttp: Config.JoinRates.Networks: the rate of %s: %w", network, err)
		}
		if !network.IsValid() {
			return nil, errors.New("queuehttp: Config.JoinRates.Networks has a network that is none; make it with netip.ParsePrefix")
		}
		if _, twice := full.Networks[network.Masked()]; twice {
			return nil, fmt.Errorf("queuehttp: Config.JoinRates.Networks has %s twice; give one rate", network.Masked())
		}
		full.Networks[network.Masked()] = rate.withDefaults()
	}
	return &full, nil
}

// of is the rate of an address.
func (j *JoinRates) of(a netip.Addr) JoinRate {
	rate, bits := j.Rate, -1
	if a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || !a.IsValid() {
		rate.Unbounded = true
	}
	for network, own := range j.Networks {
		if network.Bits() > bits && network.Contains(a) {
			rate, bits = own, network.Bits()
		}
	}
	return rate
}

// take counts a join: 0, or how long the address has to wait.
func (j *JoinRates) take(r *http.Request, event string) time.Duration {
	a := j.Proxies.Client(r)
	rate := j.of(a)
	if rate.Unbounded {
		return 0
	}
	key := event + "/" + Subscriber(a)
	return j.Limiter.Take(r.Context(), key, time.Second/time.Duration(rate.PerSecond), rate.Burst)
}
