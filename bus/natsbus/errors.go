package natsbus

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/logdriver"
	"github.com/millrace-go/millrace/fault"
)

// classify implements fault.Classifier for the errors of the client and of JetStream.
func classify(err error) fault.Class {
	var answer *jetstream.APIError
	var network net.Error
	switch {
	case errors.Is(err, nats.ErrMaxPayload), isAPI(err, messageTooLarge):
		return fault.Permanent
	case errors.As(err, &answer) && answer.Code >= 404, // a missing stream, no leader, no disk
		errors.As(err, &network), isGone(err), errors.Is(err, context.DeadlineExceeded):
		return fault.Infrastructure
	}
	for _, known := range []error{
		nats.ErrTimeout, nats.ErrNoServers, nats.ErrConnectionClosed, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded,
		nats.ErrDisconnected, nats.ErrStaleConnection, nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrBadSubscription,
		nats.ErrSecureConnRequired, nats.ErrSecureConnWanted, nats.ErrPermissionViolation, nats.ErrSlowConsumer,
	} {
		if errors.Is(err, known) {
			return fault.Infrastructure
		}
	}
	return fault.Unclassified
}

// JetStream's codes that the client has no name for.
const (
	messageTooLarge = 10054 // beyond the stream's own limit
	tooFewServers   = 10005 // for the replicas of a stream
	noCluster       = 10074 // and more than one replica
)

// refused marks JetStream's refusals of a stream as errors that a retry cannot repair.
func refused(err error) error {
	var answer *jetstream.APIError
	switch {
	case isAPI(err, tooFewServers): // absent servers may come back
		return fault.MarkInfrastructure(fmt.Errorf("%w; start the cluster's servers that are absent, or ask for fewer replicas", err))
	case isAPI(err, noCluster):
		return fault.MarkPermanent(fmt.Errorf("%w; ask for one replica, or make the server part of a cluster", err))
	case errors.As(err, &answer) && answer.Code == 400:
		return fault.MarkPermanent(err)
	}
	return err
}

// translate adds to an error its class, and the sentinels of package bus.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, logdriver.ErrClosed):
		return fmt.Errorf("natsbus: %w", bus.ErrClosed)
	}
	err = fmt.Errorf("natsbus: %w", err)
	switch fault.Of(err, classify) {
	case fault.Infrastructure:
		return fault.MarkInfrastructure(err)
	case fault.Permanent:
		return fault.MarkPermanent(err)
	}
	return err
}

type publisher struct {
	*logdriver.Publisher
	driver *driver
}

func (p publisher) Publish(topic string, messages ...*message.Message) error {
	if _, done := p.driver.started.Made(); !done && len(messages) > 0 {
		ctx, cancel := context.WithTimeout(messages[0].Context(), prepareTimeout)
		defer cancel()
		if err := p.driver.ready(ctx); err != nil {
			return busdriver.Failed(topic, len(messages), messages[0].UUID, busdriver.NotSent, err)
		}
	}
	return translate(p.Publisher.Publish(topic, messages...))
}

type source struct{ *logdriver.Source }

func (s source) Close() error { return translate(s.Source.Close()) }
