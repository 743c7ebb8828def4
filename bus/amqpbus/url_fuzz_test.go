package amqpbus

import (
	"net"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/rawurl"
)

// A URL of RabbitMQ names hosts with ports, or is refused without its password.
func FuzzEndpoint(f *testing.F) {
	f.Add("", "h1:5672,h2/vhost", false)
	f.Add("/x", "h", true)
	f.Add("", "[::1]/%2F", true)
	f.Add("", ",h/a/b", false)
	f.Add("", "0]F", true)
	f.Fuzz(func(t *testing.T, password, rest string, secure bool) {
		const mark = "s3cr3t-9q"
		u, err := rawurl.Parse("amqp://u:" + mark + password + "@" + rest)
		if err != nil || strings.Contains(rest, mark) {
			return
		}
		to, err := endpointOf(u, secure)
		if err != nil {
			if strings.Contains(err.Error(), mark) {
				t.Fatal(err)
			}
			return
		}
		if len(to.hosts) == 0 || to.vhost == "" || len(to.sasl) != 1 {
			t.Fatalf("%q is %+v", rest, to)
		}
		for _, host := range to.hosts {
			if _, _, err := net.SplitHostPort(host); err != nil || strings.Contains(host, mark) {
				t.Fatalf("%q is the host %q: %v", rest, host, err)
			}
		}
	})
}
