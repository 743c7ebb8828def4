// Package proxytest starts a tcpproxy for a test.
package proxytest

import (
	"testing"

	"github.com/millrace-go/millrace/internal/tcpproxy"
)

// Start starts a proxy in front of target, host:port, until the test ends.
func Start(t testing.TB, target string) *tcpproxy.Proxy {
	t.Helper()
	p, err := tcpproxy.Start(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
