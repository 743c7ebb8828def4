package queuehttp

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the proxies before this program, whose word for the address of a client is
// believed. The zero value believes none: the address is that of the connection.
type Proxies struct {
	// Networks are those of the proxies.
	Networks []netip.Prefix
	// Peer says that each connection comes from a proxy, whatever its address: only
	// proxies can reach this program.
	Peer bool
	// Header is where the proxies add the address of their client: X-Forwarded-For, the
	// default, or Forwarded (RFC 7239). All of them have to use it: a client can send
	// what it likes in a header that no proxy sets.
	Header string
}

const (
	headerXForwarded = "X-Forwarded-For"
	headerForwarded  = "Forwarded"
	// maxHops is how many addresses of the header are read.
	maxHops = 32
)

func (p Proxies) validate() error {
	if p.Header != "" && p.Header != headerXForwarded && p.Header != headerForwarded {
		return fmt.Errorf("Proxies.Header is %q; give %s or %s", p.Header, headerXForwarded, headerForwarded)
	}
	for _, n := range p.Networks {
		if !n.IsValid() || n.Bits() == 0 {
			return fmt.Errorf("Proxies.Networks has %s, which is no network of proxies; name them, such as 10.0.0.0/8", n)
		}
	}
	return nil
}

// Client is the address of a request's client: the last one in the header that is not a
// trusted proxy's. What the client itself has sent stands before those of the proxies,
// and is never read. The zero Addr is an address that is not known.
func (p Proxies) Client(r *http.Request) netip.Addr {
	client := parseAddr(r.RemoteAddr)
	if !p.Trusts(r) {
		return client
	}
	header := cmp.Or(p.Header, headerXForwarded)
	rest := strings.Join(r.Header.Values(header), ",")
	for range maxHops {
		var hop string
		if i := strings.LastIndexByte(rest, ','); i >= 0 {
			rest, hop = rest[:i], rest[i+1:]
		} else {
			rest, hop = "", rest
		}
		before := parseHop(hop, header)
		if !before.IsValid() {
			break // the proxy names no address, and those before it are anybody's word
		}
		if client = before; !p.trusts(client) || rest == "" {
			break
		}
	}
	return client
}

// Trusts reports whether the connection of a request comes from one of the proxies.
func (p Proxies) Trusts(r *http.Request) bool { return p.Peer || p.trusts(parseAddr(r.RemoteAddr)) }

func (p Proxies) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// parseHop reads an address of the header.
func parseHop(hop, header string) netip.Addr {
	if header == headerXForwarded {
		return parseAddr(strings.TrimSpace(hop))
	}
	for pair := range strings.SplitSeq(hop, ";") {
		name, value, _ := strings.Cut(pair, "=")
		if strings.EqualFold(strings.TrimSpace(name), "for") {
			return parseAddr(strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return netip.Addr{}
}

// parseAddr reads an address, with or without a port and brackets.
func parseAddr(text string) netip.Addr {
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}
		}
		a = with.Addr()
	}
	return a.Unmap().WithZone("")
}

// Subscriber is the network that one subscriber has: an address of version 4, or the first
// 64 bits of one of version 6.
func Subscriber(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
