package servicetest

import (
	"strings"
	"testing"

	"github.com/millrace-go/millrace/internal/rawurl"
)

// Elsewhere returns a server's URL with another address, and the former address, host:port. Of
// several hosts it is the first.
func Elsewhere(t testing.TB, rawURL, address string) (moved, was string) {
	t.Helper()
	u, err := rawurl.Parse(rawURL)
	if err != nil {
		t.Fatal(err) // it never repeats the URL
	}
	was, _, _ = strings.Cut(u.Host, ",")
	u.Host = address
	return u.String(), was
}
