package config

import (
	"fmt"
	"net/netip"
	"strings"
)

// Door limits an address's requests before the sign-in.
type Door struct {
	Rate    int // requests a second, of those that are costly; 0 for no bound
	Streams int // open streams, and as many sockets
	Proxies []netip.Prefix
}

// rawDoor has the settings of Door as text.
type rawDoor struct{ rate, streams, proxies string }

func (r *rawDoor) settings() []setting {
	return []setting{
		{"BOXOFFICE_ADDRESS_RATE", "address-rate", "20", "requests a second that an address has for signing in, taking a position at the gate, counting a visit and asking for the operator's routes; ten times as many at once, no bound when 0, none for this machine itself", &r.rate},
		{"BOXOFFICE_ADDRESS_STREAMS", "address-streams", "1000", "live streams that an address may have open at a process, and sockets of rooms", &r.streams},
		{"BOXOFFICE_TRUSTED_PROXIES", "trusted-proxies", "", "addresses and networks of the proxies before this process, separated by commas: their X-Forwarded-For and X-Forwarded-Proto are believed", &r.proxies},
	}
}

func (r *rawDoor) check(c *Config, number func(env, text string, low, high int) int, bad func(env, format string, args ...any)) {
	c.Door = Door{
		Rate:    number("BOXOFFICE_ADDRESS_RATE", r.rate, 0, 1_000_000),
		Streams: number("BOXOFFICE_ADDRESS_STREAMS", r.streams, 1, 1_000_000),
	}
	var err error
	if c.Door.Proxies, err = parseProxies(r.proxies); err != nil {
		bad("BOXOFFICE_TRUSTED_PROXIES", "%v", err)
	}
}

// parseProxies reads addresses, and networks such as 10.0.0.0/8.
func parseProxies(text string) (all []netip.Prefix, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		prefix, err := netip.ParsePrefix(word)
		if a, none := netip.ParseAddr(word); none == nil {
			prefix, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%.60q is neither an address nor a network; write for example 127.0.0.1,10.0.0.0/8", word)
		}
		if prefix.Bits() == 0 {
			return nil, fmt.Errorf("%s is everybody, and what anybody writes into X-Forwarded-For would be believed; name the proxies", word)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}
