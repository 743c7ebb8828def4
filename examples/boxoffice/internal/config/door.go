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

func (c *Config) doorSettings() []setting {
	return []setting{
		{"BOXOFFICE_ADDRESS_RATE", "address-rate", "20", "requests a second that an address has for signing in, taking a position at the gate, counting a visit and asking for the operator's routes; ten times as many at once, no bound when 0, none for this machine itself", whole(&c.Door.Rate, 0, 1_000_000)},
		{"BOXOFFICE_ADDRESS_STREAMS", "address-streams", "1000", "live streams that an address may have open at a process, and sockets of rooms", whole(&c.Door.Streams, 1, 1_000_000)},
		{"BOXOFFICE_TRUSTED_PROXIES", "trusted-proxies", "", "addresses and networks of the proxies before this process, separated by commas: their X-Forwarded-For and X-Forwarded-Proto are believed", c.Door.setProxies},
	}
}

// setProxies reads addresses, and networks such as 10.0.0.0/8.
func (d *Door) setProxies(text string) error {
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		prefix, err := netip.ParsePrefix(word)
		if a, none := netip.ParseAddr(word); none == nil {
			prefix, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return fmt.Errorf("%.60q is neither an address nor a network; write for example 127.0.0.1,10.0.0.0/8", word)
		}
		if prefix.Bits() == 0 {
			return fmt.Errorf("%s is everybody, and what anybody writes into X-Forwarded-For would be believed; name the proxies", word)
		}
		d.Proxies = append(d.Proxies, prefix.Masked())
	}
	return nil
}
