package bench

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/millrace-go/millrace/bus"
)

// lanes are how many partitions the benchmark's topic has.
const lanes = 4

// inBroker finds a place on the transport of a URL.
func (c Config) inBroker(rawURL string) (func(context.Context) (*place, error), error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("the URL is malformed; percent-encode special characters in user and password")
	}
	switch scheme := strings.ToLower(u.Scheme); scheme {
	case "postgres", "postgresql", "mysql", "mariadb", "sqlite":
		return c.inDatabase(rawURL), nil
	case "redis", "rediss":
		return c.inStreams(rawURL, u), nil
	case "kafka":
		return c.inKafka(rawURL, u), nil
	case "amqp", "amqps":
		return c.inRabbit(rawURL, u), nil
	case "nats", "tls":
		return c.inNATS(rawURL, u), nil
	case "sqs":
		return c.inSQS(rawURL, u), nil
	case "sns":
		return nil, errors.New("topics of SNS are not made and removed here, so sns:// is not measured; measure sqs:// in the same region")
	case "mem":
		return nil, errors.New("mem:// ends with its process; there is nothing of yours to measure")
	default:
		return nil, fmt.Errorf("%w %q", bus.ErrUnknownScheme, scheme)
	}
}
