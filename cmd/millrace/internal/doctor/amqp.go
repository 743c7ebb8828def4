package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/bus/amqpbus"
)

func (e *examination) amqp(ctx context.Context, u *url.URL) {
	port := "5672"
	if strings.EqualFold(u.Scheme, "amqps") {
		port = "5671"
	}
	addresses, ok := e.hosts(ctx, u, port)
	if !ok {
		return
	}
	for _, address := range addresses {
		if !e.amqpNode(u, address) {
			return
		}
	}
	if strings.EqualFold(u.Scheme, "amqp") {
		_, password := u.User.Password()
		e.exposed(hostOf(addresses[0]), password, "turn TLS on in RabbitMQ, and use amqps://")
	}
}

// amqpNode signs in to one node of a cluster and disconnects. It reports whether the URL can be
// used.
func (e *examination) amqpNode(u *url.URL, address string) bool {
	at := *u
	query := u.Query()
	query.Del("connect_timeout") // the examination has its own
	at.Host, at.RawQuery = address, query.Encode()
	// The other settings are those that the transport makes of the URL.
	uri, cfg, err := amqpbus.Dialing(at.String(), amqpbus.Config{ConnectTimeout: e.Timeout})
	if err != nil {
		e.unusable(err, "write amqp://user:password@h1:5672,h2:5672/vhost, or amqps://")
		return false
	}
	began := time.Now()
	conn, err := amqp.DialConfig(uri, cfg)
	if err != nil && time.Since(began) >= e.Timeout {
		e.silent(address) // the library calls it a broken frame
		return true
	}
	if err != nil {
		e.amqpRefused(address, cfg.Vhost, u, err)
		return true
	}
	product, _ := conn.Properties["product"].(string)
	version, _ := conn.Properties["version"].(string)
	if err := conn.Close(); err != nil {
		e.add(Warning, "answers", fmt.Sprintf("%s did not say goodbye: %s", address, e.said(err)), "its log says more")
	}
	switch {
	case product != "RabbitMQ":
		e.add(Warning, "version", fmt.Sprintf("%s is %s %s; only RabbitMQ is tested", address, product, version), "use RabbitMQ 3.10 or newer")
	case versionOf(version) < 31000:
		e.add(Error, "version", fmt.Sprintf("RabbitMQ %s on %s is too old", version, address), "upgrade to 3.10 or newer")
	default:
		e.ok("version", "RabbitMQ %s on %s, vhost %s", version, address, cfg.Vhost)
	}
	return true
}

func (e *examination) amqpRefused(address, vhost string, u *url.URL, err error) {
	var closed *amqp.Error
	switch {
	case errors.Is(err, amqp.ErrCredentials), errors.As(err, &closed) && closed.Code == amqp.AccessRefused:
		user := "guest"
		if u.User != nil {
			user = u.User.Username()
		}
		fix := "correct user and password in the URL, percent-encoded; or rabbitmqctl add_user"
		if user == "guest" {
			fix = "guest may sign in from the server's own machine alone; make a user: rabbitmqctl add_user"
		}
		e.add(Error, "authentication", fmt.Sprintf("%s does not let user %q in", address, user), fix)
	case errors.Is(err, amqp.ErrSASL):
		e.add(Error, "authentication", address+" offers no way to sign in with a password", "allow PLAIN in RabbitMQ (auth_mechanisms), or use a client certificate")
	case errors.Is(err, amqp.ErrVhost), errors.As(err, &closed) && closed.Code == amqp.NotAllowed:
		e.add(Error, "database", fmt.Sprintf("there is no vhost %q, or this user may not use it", vhost),
			"rabbitmqctl add_vhost, rabbitmqctl set_permissions; or correct the URL's path")
	case errors.As(err, &closed) && closed.Code == amqp.FrameError:
		e.add(Error, "answers", address+" speaks something else than AMQP", "check the port: 15672 is RabbitMQ's page, 5671 is AMQP over TLS")
	case !e.connecting(address, "cacertfile=FILE", err):
		e.add(Error, "answers", fmt.Sprintf("%s refuses: %s", address, e.said(err)), "is it a RabbitMQ? its log says more")
	}
}
