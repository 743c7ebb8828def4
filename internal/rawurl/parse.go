package rawurl

import (
	"errors"
	"net"
	"net/url"
	"strings"
)

// ErrMalformed is all that is said of a URL that cannot be read.
var ErrMalformed = errors.New("the URL is malformed; percent-encode special characters in user, password and path")

// ErrMisplaced is returned where the user and the password end up as something
// else, because one of them has a character that ends the host.
var ErrMisplaced = errors.New("the URL has an @ after its host; percent-encode / as %2F, ? as %3F and # as %23 in user and password, and @ as %40 elsewhere")

// Parse is [url.Parse] whose errors show nothing of the URL.
func Parse(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, ErrMalformed
	}
	if !isPath(u.Scheme) && misplaced(u) {
		return nil, ErrMisplaced
	}
	return u, nil
}

// misplaced says whether what was to stand before the host seems to stand behind
// it, all of it or the end of a password with an @. A value of the query may have an
// @, as in ?client_id=a@b.
func misplaced(u *url.URL) bool {
	before, _, at := strings.Cut(u.RawQuery, "@")
	return strings.Contains(u.EscapedPath(), "@") || strings.Contains(u.Fragment, "@") || at && !strings.Contains(before, "=")
}

// isPath says whether URLs of a scheme name a file, which may have an @ anywhere.
func isPath(scheme string) bool { return scheme == "sqlite" || scheme == "file" || scheme == "mem" }

// Address returns host:port of one host of a URL, with the port when it has none, and
// false for what is no host.
func Address(host, port string) (addr string, ok bool) {
	name, given, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	if given == "" {
		given = port
	}
	addr = net.JoinHostPort(name, given)
	again, _, err := net.SplitHostPort(addr)
	return addr, err == nil && again == name && name != ""
}

// Show returns scheme, host and path, for a person to see which URL is meant. Of
// what cannot be read it shows nothing.
func Show(raw string) string {
	u, err := Parse(raw)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return "(a malformed URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}
