package queuehttp_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/queue/queuehttp"
)

func networks(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func request(from string, lines ...string) *http.Request {
	r := httptest.NewRequest("POST", "/", nil)
	r.RemoteAddr = from
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	return r
}

func TestClientBehindProxies(t *testing.T) {
	own := queuehttp.Proxies{Networks: networks("10.0.0.0/8", "2001:db8:ffff::/48")}
	forwarded := queuehttp.Proxies{Networks: own.Networks, Header: "Forwarded"}
	peer := queuehttp.Proxies{Peer: true}
	for _, c := range []struct {
		proxies queuehttp.Proxies
		r       *http.Request
		want    string
	}{
		{queuehttp.Proxies{}, request("203.0.113.7:4711"), "203.0.113.7"},
		{queuehttp.Proxies{}, request("203.0.113.7:4711", "X-Forwarded-For: 198.51.100.1"), "203.0.113.7"},
		{own, request("203.0.113.7:4711", "X-Forwarded-For: 198.51.100.1"), "203.0.113.7"},
		{own, request("10.1.2.3:1", "X-Forwarded-For: 198.51.100.1"), "198.51.100.1"},
		{own, request("10.1.2.3:1", "X-Forwarded-For: 1.1.1.1, 198.51.100.1"), "198.51.100.1"},
		{own, request("10.1.2.3:1", "X-Forwarded-For: 1.1.1.1, 198.51.100.1 , 10.9.9.9"), "198.51.100.1"},
		{own, request("10.1.2.3:1", "X-Forwarded-For: 1.1.1.1", "X-Forwarded-For: 198.51.100.1"), "198.51.100.1"},
		{own, request("10.1.2.3:1", "X-Forwarded-For: 198.51.100.1, nonsense"), "10.1.2.3"},
		{own, request("10.1.2.3:1", "X-Forwarded-For: 198.51.100.1, nonsense, 10.0.0.9"), "10.0.0.9"},
		{own, request("10.1.2.3:1"), "10.1.2.3"},
		{own, request("10.1.2.3:1", "X-Forwarded-For: "+strings.Repeat("10.0.0.1,", 100)+"10.0.0.2"), "10.0.0.1"},
		{own, request("10.1.2.3:1", "X-Forwarded-For: [2001:db8::7]:99"), "2001:db8::7"},
		{own, request("10.1.2.3:1", "X-Forwarded-For: 2001:db8::7, 2001:db8:ffff::1"), "2001:db8::7"},
		{own, request("10.1.2.3:1", "X-Forwarded-For: ::ffff:198.51.100.1"), "198.51.100.1"},
		{own, request("10.1.2.3:1", "Forwarded: for=1.1.1.1", "X-Forwarded-For: 198.51.100.1"), "198.51.100.1"},
		{forwarded, request("10.1.2.3:1", `Forwarded: for=1.1.1.1, For="[2001:db8::7]:8";proto=https`, "X-Forwarded-For: 9.9.9.9"), "2001:db8::7"},
		{forwarded, request("10.1.2.3:1", `Forwarded: by=10.0.0.1;for=198.51.100.1;host="a,b"`), "10.1.2.3"},
		{forwarded, request("10.1.2.3:1", `Forwarded: for=unknown`), "10.1.2.3"},
		{forwarded, request("10.1.2.3:1", `Forwarded: for="_hidden"`), "10.1.2.3"},
		{peer, request("192.0.2.1:1", "X-Forwarded-For: 1.1.1.1, 198.51.100.1"), "198.51.100.1"},
		{peer, request("192.0.2.1:1", "X-Forwarded-For: 1.1.1.1, 10.0.0.1"), "10.0.0.1"},
		{peer, request("@"), "invalid IP"},
	} {
		if got := c.proxies.Client(c.r).String(); got != c.want {
			t.Errorf("%v from %s with %v: %s, want %s", c.proxies, c.r.RemoteAddr, c.r.Header, got, c.want)
		}
	}
}

// Text that a client puts before what the proxies add changes nothing.
func FuzzClient(f *testing.F) {
	f.Add("1.2.3.4, ")
	f.Add("for=1.2.3.4;, \",")
	f.Add(strings.Repeat("10.0.0.1,", 40))
	proxies := queuehttp.Proxies{Networks: networks("10.0.0.0/8")}
	f.Add("::1%eth0, [::1]:80")
	f.Fuzz(func(t *testing.T, before string) {
		for header, hop := range map[string]string{"X-Forwarded-For": "198.51.100.1", "Forwarded": "for=198.51.100.1"} {
			proxies.Header = header
			r := request("10.1.2.3:1")
			for _, lines := range [][]string{{before, hop}, {before + "," + hop}, {before, hop + "," + strings.Replace(hop, "198.51.100.1", "10.9.9.9", 1)}} {
				r.Header[header] = lines
				assert.Equalf(t, "198.51.100.1", proxies.Client(r).String(), "%s %q", header, lines)
			}
			direct := request("203.0.113.9:1")
			direct.Header[header] = []string{before}
			assert.Equalf(t, "203.0.113.9", proxies.Client(direct).String(), "%s %q without a proxy", header, before)
		}
	})
}
