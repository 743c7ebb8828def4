package faulttest

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/tcpproxy"
	"github.com/millrace-go/millrace/internal/tcpproxy/proxytest"
)

// rounds is the number of times each fault occurs.
const rounds = 2

func TestBrokerKilled(t *testing.T) {
	for _, tr := range transports() {
		t.Run(tr.name, func(t *testing.T) {
			f := start(t, tr.database(t), schemes(nil), tr.url(t))
			for range rounds {
				f.handles(100)
				restart(t, tr.name, hostOf(t, f.url))
				f.recovered("the broker's death")
			}
			f.check()
		})
	}
}

func TestDatabaseKilled(t *testing.T) {
	for _, on := range []struct {
		name string
		db   func(*testing.T) database
		url  func(testing.TB) string
	}{
		{"postgres", postgres, servicetest.PostgresURL}, {"mariadb", mariadb, servicetest.MariaDBURL}, {"mysql", mySQL, servicetest.MySQLURL},
	} {
		t.Run(on.name, func(t *testing.T) {
			db := on.db(t)
			f := start(t, db, schemes(nil), "kafka://"+servicetest.Kafka(t)+"/")
			for range rounds {
				f.handles(100)
				restart(t, db.name, hostOf(t, on.url(t)))
				f.recovered("the database's death")
			}
			f.check()
		})
	}
}

// behind starts a flow whose transport is reached through a proxy.
func behind(t *testing.T, tr transport) (*flow, *tcpproxy.Proxy) {
	t.Helper()
	raw := tr.url(t)
	u, err := url.Parse(raw)
	require.NoError(t, err)
	p := proxytest.Start(t, u.Host)
	if tr.name == "kafka" {
		return start(t, tr.database(t), schemes(func(context.Context, string, string) (string, string) { return "tcp", p.Addr() }), raw), p
	}
	return start(t, tr.database(t), schemes(nil), at(t, raw, p.Addr())), p
}

func TestConnectionsCut(t *testing.T) {
	for _, tr := range transports() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			f, proxy := behind(t, tr)
			for range 5 * rounds {
				f.handles(40)
				// Connections cut earlier may still be reconnecting.
				f.until(settleLimit, "a connection to cut", func(context.Context) (bool, error) { return proxy.Cut() > 0, nil })
			}
			f.recovered("cut connections")
			proxy.Refuse(true)
			time.Sleep(time.Second) // the length of the fault
			proxy.Refuse(false)
			f.recovered("a second without a network")
			f.check()
		})
	}
}

func TestConnectionsSlow(t *testing.T) {
	for _, tr := range transports() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			f, proxy := behind(t, tr)
			f.handles(100)
			proxy.Delay(50 * time.Millisecond)
			f.handles(100)
			proxy.Delay(0)
			f.recovered("a slow network")
			f.check()
		})
	}
}

func TestRebalance(t *testing.T) {
	for _, tr := range transports() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			f := start(t, tr.database(t), schemes(nil), tr.url(t))
			for range 3 * rounds {
				ctx, leave := context.WithCancel(f.run)
				f.consumer(ctx)
				f.handles(60)
				leave()
				f.handles(60)
			}
			f.recovered("a rebalance")
			f.check()
		})
	}
}
