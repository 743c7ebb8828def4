package deploy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/queue/gate"
)

// reads is nginx as the site: it says which of its locations it has chosen, after its
// own reading of the path.
const reads = `events {}
http {
	server {
		listen AT;
		location = /checkout { return 200 "checkout"; }
		location /checkout/ { return 200 "checkout"; }
		location ^~ /static/ { return 200 "asset"; }
		location = /static { return 200 "asset"; }
		location / { return 200 "page"; }
	}
}
`

// TestOddPathsBeforeNginx: whatever way a path is written in, nginx behind the gate
// serves a visitor without a place nothing that needs one.
func TestOddPathsBeforeNginx(t *testing.T) {
	path := program(t, "nginx")
	at := freeAddress(t)
	listening(t, at, path, "served.conf", strings.Replace(reads, "AT", at, 1), nginxArgs)
	// So does nginx read paths: without that there would be nothing to find.
	for written, want := range map[string]string{
		"/checkout/": "checkout", "/static/../checkout": "checkout", "/static/%2e%2E/checkout": "checkout", "//checkout": "checkout", "/%63heckout": "checkout", "/./checkout": "checkout",
		"/static/..%2fcheckout": "checkout", "/static/a.css": "asset", "/checkout%3f": "page",
	} {
		if status, text := ask(t, at, written); status != 200 || text != want {
			t.Errorf("nginx serves %s: %d %s, want %s", written, status, text, want)
		}
	}
	for name, c := range map[string]struct {
		wait, pass []string
		forbidden  []string
	}{
		"all but the assets wait": {nil, []string{"/static/**"}, []string{"checkout", "page"}},
		"the checkout waits":      {[]string{"/checkout/**"}, nil, []string{"checkout"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBehind(t, at, (*gate.Gate).Handler, func(cfg *gate.Config) { cfg.Wait, cfg.Pass = c.wait, c.pass })
			door := b.judge.Listener.Addr().String()
			passed := 0
			try := func(fail func(format string, args ...any), written string) {
				status, text := ask(t, door, written)
				if status != 200 {
					return
				}
				passed++
				for _, f := range c.forbidden {
					if text == f {
						fail("%q passes without a place, and nginx serves: %s", written, text)
					}
				}
			}
			parts := []string{"/", "/", "/", "//", "static", "static", "checkout", "a.css", ".", "..", "...", "%2e", "%2E%2e", ".%2e", "%2f", "%2F", "%5c", `\`, ";", ";x=1", "%20", "%00", "%23", "#", "?", "%3f", "%25", "%252e", "%252f", "%63heckout", "c%68eckout", "%c0%ae", "C", "%2", "+", "~", "http://x/checkout"}
			rapid.Check(t, func(rt *rapid.T) {
				for _, some := range rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 9), 20, 20).Draw(rt, "paths") {
					for _, begins := range []string{"", "/", "/static/"} {
						try(rt.Fatalf, begins+strings.Join(some, ""))
					}
				}
			})
			if passed < 100 {
				t.Errorf("%d paths passed: too few to say anything", passed)
			}
		})
	}
}

// ask makes a request with a path as it is written, which net/http would refuse or
// change.
func ask(t *testing.T, at, path string) (status int, text string) {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // read to its end
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n", path)
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoErrorf(t, err, "%q", path)
	defer answer.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}
