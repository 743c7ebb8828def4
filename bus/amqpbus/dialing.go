package amqpbus

import (
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
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName("millrace")
	var next atomic.Uint32
	return "amqp://" + to.hosts[0], amqp.Config{
		SASL: to.sasl, Vhost: to.vhost, Heartbeat: cfg.Heartbeat, Locale: "en_US", Properties: properties,
		Dial: func(network, _ string) (net.Conn, error) {
			var errs []error
			for range to.hosts {
				conn, err := to.dial(network, to.hosts[int(next.Load())%len(to.hosts)], cfg.ConnectTimeout)
				if err == nil {
					return conn, nil
				}
				next.Add(1)
				errs = append(errs, err)
			}
			return nil, errors.Join(errs...)
		},
	}, nil
}

// dial connects to a host, with TLS if the URL asks for it. The deadline is for the
// handshake; the library removes it.
func (e endpoint) dial(network, host string, timeout time.Duration) (net.Conn, error) {
	dialer := &net.Dialer{Deadline: time.Now().Add(timeout)}
	dial := dialer.Dial
	if secure := e.tlsOf(host); secure != nil {
		dial = func(network, host string) (net.Conn, error) { return tls.DialWithDialer(dialer, network, host, secure) }
	}
	conn, err := dial(network, host)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(dialer.Deadline); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
