package rawurl

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// ErrMalformed is the only error for a URL that cannot be parsed.
var ErrMalformed = errors.New("the URL is malformed; percent-encode special characters in user, password and path")

// ErrMisplaced is returned if the user and the password are parsed as another part, because one
// of them has a character that ends the host.
var ErrMisplaced = errors.New("the URL has an @ after its host; percent-encode / as %2F, ? as %3F and # as %23 in user and password, and @ as %40 elsewhere")

// Parse is [url.Parse] with errors that show nothing of the URL.
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

// misplaced reports whether the user and password seem to be parsed behind the host: all of
// them, or the end of a password with an @. A value of the query may have an @, as in
// ?client_id=a@b.
func misplaced(u *url.URL) bool {
	before, _, at := strings.Cut(u.RawQuery, "@")
	return strings.Contains(u.EscapedPath(), "@") || strings.Contains(u.Fragment, "@") || at && !strings.Contains(before, "=")
}

// isPath reports whether URLs of a scheme name a file, which may have an @ anywhere.
func isPath(scheme string) bool { return scheme == "sqlite" || scheme == "file" || scheme == "mem" }

// Hosts returns host:port for each host of a URL, in which commas separate them, with port if the
// URL has none.
func Hosts(u *url.URL, port string) (all []string, err error) {
	write := fmt.Sprintf("; write %s://host:%s or %[1]s://h1:%[2]s,h2:%[2]s", u.Scheme, port)
	if u.Host == "" {
		return nil, errors.New("the URL names no host" + write)
	}
	for host := range strings.SplitSeq(u.Host, ",") {
		if host == "" {
			return nil, errors.New("the URL has an empty host" + write)
		}
		addr, ok := address(host, port)
		if !ok {
			return nil, errors.New("the URL has a host that is none" + write + ", and an IPv6 address in brackets")
		}
		all = append(all, addr)
	}
	return all, nil
}

// address returns host:port for one host of a URL, with port if the host has none, and false if
// host is not a host.
func address(host, port string) (addr string, ok bool) {
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

// Show returns scheme, host and path, to identify a URL for a person. For a malformed URL it
// shows nothing.
func Show(raw string) string {
	u, err := Parse(raw)
	if err != nil || u.Scheme == "" || u.Opaque != "" {
		return "(a malformed URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}
