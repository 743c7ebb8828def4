package amqpbus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
)

// Scheme returns amqp:// and amqps://: amqp://user:password@host:5672/vhost.
//
// Several hosts of a cluster are written with commas, amqp://h1,h2:5673/vhost,
// and tried in turn. User and password are guest when left out, the vhost is /.
// Percent-encode special characters in all three.
//
// Parameters: prefix (none), exchange (domain_events), partitions (3), queue_type (quorum or
// classic), prefetch (512), heartbeat (10s), connect_timeout (10s),
// confirm_timeout (30s); mode=watermill needs the scheme of package amqpwatermill.
//
// amqps:// is the same over TLS, port 5671 by default. It has more parameters,
// named as RabbitMQ's own URIs name them: cacertfile, certfile and keyfile (paths
// of PEM files: the authority to trust, and a client certificate), and
// server_name_indication, the name that the server's certificate must carry; the
// host's by default. With a certificate and without a user it logs in by the
// certificate (EXTERNAL).
func Scheme(cfg Config) bus.Scheme { return scheme{cfg} }

type scheme struct{ cfg Config }

func (scheme) Names() []string { return []string{"amqp", "amqps"} }

func (s scheme) Open(_ context.Context, u *url.URL) (busdriver.Driver, error) {
	to, cfg, mode, err := parse(u, s.cfg)
	switch {
	case err != nil:
		return nil, err
	case mode != "":
		return nil, errors.New("parameter \"mode\" needs the scheme of package bus/amqpbus/amqpwatermill; import it for mode=watermill, or leave the parameter out")
	}
	return open(to, cfg), nil
}

// parse reads a URL. The mode is empty for this package.
func parse(u *url.URL, cfg Config) (to endpoint, _ Config, mode string, err error) {
	secure := u.Scheme == "amqps"
	params := busdriver.NewParams(u)
	mode = params.String("mode", "")
	cfg.Prefix = params.String("prefix", cfg.Prefix)
	cfg.Exchange = params.String("exchange", cfg.Exchange)
	cfg.Partitions = params.Int("partitions", cfg.Partitions, 1)
	cfg.QueueType = params.String("queue_type", cfg.QueueType)
	cfg.Prefetch = params.Int("prefetch", cfg.Prefetch, 1)
	cfg.Heartbeat = params.Duration("heartbeat", cfg.Heartbeat)
	cfg.ConnectTimeout = params.Duration("connect_timeout", cfg.ConnectTimeout)
	cfg.ConfirmTimeout = params.Duration("confirm_timeout", cfg.ConfirmTimeout)
	var secured *tls.Config
	if secure {
		secured = params.TLS(cfg.TLS, "cacertfile", "certfile", "keyfile")
		secured.ServerName = params.String("server_name_indication", secured.ServerName)
	}
	if err := params.Err(); err != nil {
		return to, cfg, mode, err
	}
	if err := cfg.validate(); err != nil {
		return to, cfg, mode, fmt.Errorf("amqpbus: %w", err)
	}
	cfg = cfg.withDefaults()
	if to, err = endpointOf(u, secure); err != nil {
		return to, cfg, mode, fmt.Errorf("amqpbus: %w", err)
	}
	if to.tls = secured; secure && u.User == nil && (len(secured.Certificates) > 0 || secured.GetClientCertificate != nil) {
		to.sasl = []amqp.Authentication{&amqp.ExternalAuth{}}
	}
	return to, cfg, mode, nil
}

// endpoint is the address and the credentials of connections.
type endpoint struct {
	hosts []string // host:port
	vhost string
	sasl  []amqp.Authentication
	tls   *tls.Config // nil without TLS
}

// tlsOf is the configuration for one of the hosts, whose certificate has its name unless the URL
// gives another; nil without TLS.
func (e endpoint) tlsOf(host string) *tls.Config {
	if e.tls == nil || e.tls.ServerName != "" {
		return e.tls
	}
	cfg := e.tls.Clone()
	cfg.ServerName, _, _ = net.SplitHostPort(host) //nolint:errcheck // kit.Hosts has added a port
	return cfg
}

func endpointOf(u *url.URL, secure bool) (endpoint, error) {
	switch {
	case u.Fragment != "":
		return endpoint{}, errors.New("an amqp URL has no fragment; write # in user, password and vhost as %23")
	case strings.Contains(strings.TrimPrefix(u.EscapedPath(), "/"), "/"):
		return endpoint{}, errors.New("the vhost has a slash; write it as %2F")
	}
	to := endpoint{vhost: "/"}
	if v := strings.TrimPrefix(u.Path, "/"); v != "" {
		to.vhost = v
	}
	port := "5672"
	if secure {
		port = "5671"
	}
	var err error
	if to.hosts, err = kit.Hosts(u, port); err != nil {
		return endpoint{}, err
	}
	user, password := "guest", "guest"
	if u.User != nil {
		user = u.User.Username()
		password, _ = u.User.Password()
	}
	to.sasl = []amqp.Authentication{&amqp.PlainAuth{Username: user, Password: password}}
	return to, nil
}
