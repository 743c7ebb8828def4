package kit

import (
	"net/url"

	"github.com/millrace-go/millrace/internal/rawurl"
	"github.com/millrace-go/millrace/internal/tlshint"
)

// ParseURL is url.Parse whose errors show nothing of the URL. It refuses a URL in which a
// password ends up as the host.
func ParseURL(raw string) (*url.URL, error) { return rawurl.Parse(raw) }

// HideURL returns err with a text that has no secret of the URL in it. errors.Is and
// errors.As find what they found before.
func HideURL(err error, raw string) error { return rawurl.Hide(err, raw) }

// Address returns host:port of one host of a URL, with the port when it has none, and
// false for what is no host.
func Address(host, port string) (addr string, ok bool) { return rawurl.Address(host, port) }

// PlainHint completes the error of a client without TLS on a server that may want it: it
// names the server, and the setting that asks for TLS.
func PlainHint(err error, server, setting string) error { return tlshint.Plain(err, server, setting) }

// UntrustedHint completes the error of a client that does not trust the authority of a
// server's certificate: it names the server, and the setting that trusts the authority.
// Other errors are returned as they are.
func UntrustedHint(err error, server, setting string) error {
	return tlshint.Untrusted(err, server, setting)
}
