package amqpwatermill

import (
	"errors"
	"fmt"
	"strings"
	"time"

	wmamqp "github.com/ThreeDotsLabs/watermill-amqp/v2/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/millrace-go/millrace/fault"
)

// wire is a marshaler that accepts the headers of brokers and other publishers.
type wire struct{ wmamqp.Marshaler }

// Marshal implements Watermill's Marshaler.
func (w wire) Marshal(m *message.Message) (amqp.Publishing, error) {
	p, err := w.Marshaler.Marshal(m)
	if err == nil {
		err = p.Headers.Validate()
	}
	for name := range p.Headers {
		if len(name) > 255 { // the client closes the connection
			err = fmt.Errorf("the metadata %.60q has a name of %d bytes; RabbitMQ takes at most 255", name, len(name))
		}
	}
	if err != nil {
		return p, fault.MarkPermanent(err)
	}
	return p, nil
}

// Unmarshal converts headers that are not text: Watermill's marshaler fails at them, and
// the message would be redelivered at once, again and again. RabbitMQ adds such headers to
// redelivered messages, and refuses CC, a list of further routing keys, as text.
func (w wire) Unmarshal(d amqp.Delivery) (*message.Message, error) {
	if d.Acknowledger == nil {
		return nil, errors.New("no message: the connection was lost") // Watermill reads from a closed channel
	}
	headers := make(amqp.Table, len(d.Headers))
	for name, value := range d.Headers {
		switch v := value.(type) {
		case string:
			headers[name] = v
		case []byte:
			headers[name] = string(v)
		case time.Time:
			headers[name] = v.UTC().Format(time.RFC3339Nano)
		default:
			if name != "CC" && !strings.HasPrefix(name, "x-") {
				headers[name] = fmt.Sprint(v)
			}
		}
	}
	d.Headers = headers
	return w.Marshaler.Unmarshal(d)
}
