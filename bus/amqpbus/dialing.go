package amqpbus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// Dialing returns the arguments of amqp.DialConfig, for other uses of a broker such as
// administration: connections go to the hosts of an amqp:// or amqps:// URL in turn, and
// sign in and encrypt as the URL and cfg define. Dialing does not connect. Concurrent
// connections need copies of the Properties, which DialConfig adds to.
func Dialing(rawURL string, cfg Config) (uri string, _ amqp.Config, err error) {
	u, err := kit.ParseURL(rawURL)
	if err != nil {
		return "", amqp.Config{}, fmt.Errorf("amqpbus: %w", err)
	}
	to, cfg, _, err := parse(u, cfg)
	if err != nil {
		return "", amqp.Config{}, kit.HideURL(err, rawURL)
	}
	config := to.config("millrace", cfg.Heartbeat)
	var next atomic.Uint32
	config.Dial = func(network, _ string) (net.Conn, error) {
		var errs []error
		for range to.hosts {
			conn, err := to.dial(context.Background(), network, to.hosts[int(next.Load())%len(to.hosts)], cfg.ConnectTimeout)
			if err == nil {
				return conn, nil
			}
			next.Add(1)
			errs = append(errs, err)
		}
		return nil, errors.Join(errs...)
	}
	return "amqp://" + to.hosts[0], config, nil
}

// config is the client's configuration for the endpoint, without Dial.
func (e endpoint) config(name string, heartbeat time.Duration) amqp.Config {
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(name)
	return amqp.Config{SASL: e.sasl, Vhost: e.vhost, Heartbeat: heartbeat, Locale: "en_US", Properties: properties}
}

// dial connects to a host, with TLS if the URL asks for it. The deadline is for the
// handshake too; the library removes it.
func (e endpoint) dial(ctx context.Context, network, host string, timeout time.Duration) (conn net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if secure := e.tlsOf(host); secure != nil {
		conn, err = (&tls.Dialer{Config: secure}).DialContext(ctx, network, host)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, host)
	}
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
