package kit

import (
	"net/url"

	"github.com/millrace-go/millrace/internal/rawurl"
	"github.com/millrace-go/millrace/internal/tlshint"
)

// ParseURL is url.Parse with errors that show nothing of the URL. It refuses a URL in which a
// password would be parsed as the host.
func ParseURL(raw string) (*url.URL, error) { return rawurl.Parse(raw) }

// HideURL returns err with a text without the secrets of the URL. errors.Is and errors.As find
// the same errors as in err.
func HideURL(err error, raw string) error { return rawurl.Hide(err, raw) }

// Hosts returns host:port for each host of a URL, in which commas separate them, with port if the
// URL has none.
func Hosts(u *url.URL, port string) ([]string, error) { return rawurl.Hosts(u, port) }

// PlainHint completes the error of a client without TLS whose server may require TLS: it names
// the server, and the setting that enables TLS.
func PlainHint(err error, server, setting string) error { return tlshint.Plain(err, server, setting) }

// UntrustedHint completes the error of a client that does not trust the authority of a
// server's certificate: it names the server, and the setting that trusts the authority.
// Other errors are returned as they are.
func UntrustedHint(err error, server, setting string) error {
	return tlshint.Untrusted(err, server, setting)
}
