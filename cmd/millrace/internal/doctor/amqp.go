package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
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
		e.amqpNode(ctx, u, address)
	}
	if strings.EqualFold(u.Scheme, "amqp") {
		_, password := u.User.Password()
		e.exposed(hostOf(addresses[0]), password, "turn TLS on in RabbitMQ, and use amqps://")
	}
}

// amqpNode signs in to one node of a cluster and disconnects.
func (e *examination) amqpNode(ctx context.Context, u *url.URL, address string) {
	at := *u
	at.Host = address
	at.Path, at.RawPath = "", "" // the vhost is part of the configuration
	// Of the parameters only those of TLS are the client library's own.
	query := url.Values{}
	for _, name := range []string{"cacertfile", "certfile", "keyfile", "server_name_indication"} {
		if value := u.Query().Get(name); value != "" {
			query.Set(name, value)
		}
	}
	at.RawQuery = query.Encode()
	vhost := strings.TrimPrefix(u.Path, "/")
	if vhost == "" {
		vhost = "/"
	}
	dialing, cancel := e.within(ctx)
	defer cancel()
	var sasl []amqp.Authentication // as the URL's user
	if u.User == nil && query.Has("certfile") {
		sasl = []amqp.Authentication{&amqp.ExternalAuth{}}
	}
	conn, err := amqp.DialConfig(at.String(), amqp.Config{
		SASL: sasl, Vhost: vhost, Locale: "en_US", Properties: amqp.NewConnectionProperties(),
		Dial: func(network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(dialing, network, addr)
			if err != nil {
				return nil, err
			}
			if deadline, ok := dialing.Deadline(); ok { // for the handshake
				err = c.SetDeadline(deadline)
			}
			if err != nil {
				return nil, errors.Join(err, c.Close())
			}
			return c, nil
		},
	})
	if deadline, ok := dialing.Deadline(); err != nil && ok && !time.Now().Before(deadline) {
		e.silent(address) // the library calls it a broken frame
		return
	}
	if err != nil {
		e.amqpRefused(address, vhost, u, err)
		return
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
		e.ok("version", "RabbitMQ %s on %s, vhost %s", version, address, vhost)
	}
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
