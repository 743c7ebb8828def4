package redisdb_test

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
)

// For any URL, the error names the mistake without the password; and clients connect only to
// hosts of the URL.
func FuzzOpen(f *testing.F) {
	f.Add("", "h:6379/0")
	f.Add("/x", "h/")
	f.Add("#", "h1,h2/?cluster=true")
	f.Add("%zz", "[::1]:7/3")
	f.Add("12@", "/")
	f.Add("", "0]7")
	f.Add("", "h1,h2/0?master=m&sentinel_password=w")
	f.Fuzz(func(t *testing.T, password, rest string) {
		const mark = "s3cr3t-9q"
		raw := "redis://u:" + mark + password + "@" + rest
		c, err := redisdb.Open(raw, redisdb.Config{})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "redisdb: ") || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), mark) && !strings.Contains(rest, mark) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		defer c.Close() //nolint:errcheck // it never connected
		single, ok := c.(*redis.Client)
		if !ok {
			return
		}
		o := single.Options()
		addrs := []string{o.Addr}
		if u, err := url.Parse(raw); err == nil && u.Query().Has("master") {
			if addrs, err = redisdb.Addresses(u); err != nil { // of the Sentinels, which the client does not show
				t.Fatal(err)
			}
		}
		for _, addr := range addrs {
			if host, _, err := net.SplitHostPort(addr); err != nil || strings.Contains(host, mark) || !strings.HasPrefix(o.Password, mark) {
				t.Fatalf("%q goes to %q (%v)", raw, addr, err)
			}
		}
	})
}
