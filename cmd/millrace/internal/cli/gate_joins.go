package cli

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/queue/queuehttp"
)

// joins reads the flags that bound the joins of an address.
func (f *gateFlags) joins() error {
	f.Joins = nil
	if f.rate < 0 {
		return fmt.Errorf("--rate is %d; give joins a second, such as 5, or 0 for no bound", f.rate)
	}
	rates := queuehttp.JoinRates{Rate: queuehttp.JoinRate{PerSecond: f.rate, Unbounded: f.rate == 0}}
	for _, text := range f.trust {
		network, err := parseNetwork(text)
		if err != nil {
			return fmt.Errorf("--trust: %w", err)
		}
		rates.Proxies.Networks = append(rates.Proxies.Networks, network)
	}
	rates.Proxies.Header = f.trustHeader
	for _, text := range f.rateOf {
		name, number, found := strings.Cut(text, "=")
		network, err := parseNetwork(name)
		if err != nil {
			return fmt.Errorf("--rate-of: %w", err)
		}
		n, err := strconv.Atoi(number)
		if err != nil || !found || n < 0 {
			return fmt.Errorf("--rate-of is %q; give a network and its rate, such as 203.0.113.0/24=50, or 0 for no bound", text)
		}
		if _, twice := rates.Networks[network]; twice {
			return fmt.Errorf("--rate-of names %s twice; give one rate", network)
		}
		if rates.Networks == nil {
			rates.Networks = map[netip.Prefix]queuehttp.JoinRate{}
		}
		rates.Networks[network] = queuehttp.JoinRate{PerSecond: n, Unbounded: n == 0}
	}
	if f.rate > 0 || len(rates.Networks) > 0 {
		f.Joins = &rates
	}
	return nil
}

// parseNetwork reads a network, or an address as the network of itself.
func parseNetwork(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Prefix(a.BitLen())
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%.60q is neither a network nor an address; give one such as 10.0.0.0/8", text)
	}
	return p.Masked(), nil
}
