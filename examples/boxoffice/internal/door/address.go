package door

import (
	"net/http"
	"net/netip"
	"strings"
)

// maxHops is how many addresses of X-Forwarded-For are read.
const maxHops = 32

// address is the client of a request, by its connection and the trusted proxies.
func (c Config) address(r *http.Request) netip.Addr {
	from := parse(r.RemoteAddr)
	if !c.trusts(from) {
		return from
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && i >= len(hops)-maxHops; i-- {
		before := parse(strings.TrimSpace(hops[i]))
		if !before.IsValid() {
			break // a proxy of ours names its client, or there is none
		}
		if from = before; !c.trusts(from) {
			break
		}
	}
	return from
}

func (c Config) trusts(a netip.Addr) bool {
	if !a.IsValid() {
		return false
	}
	for _, p := range c.Proxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// parse reads an address with or without a port; the zero Addr for other text.
func parse(text string) netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}
		}
		a = with.Addr()
	}
	return a.Unmap().WithZone("")
}

// subscriber is the network that one subscriber has.
func subscriber(a netip.Addr) netip.Prefix {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // all that have no address are one
	}
	return p
}
