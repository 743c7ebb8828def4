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

// site is a kind of server on which transports are measured.
type site struct {
	plan string // describes the things that a measurement creates and removes
	in   func(ctx context.Context, rawURL string, u *url.URL) (*place, error)
}

// sites are the kinds of servers by the schemes of their URLs.
func (c Config) sites() map[string]site {
	schema, database, file := "the schema "+c.Name, "the database "+c.Name, "the file "+c.Name+".db beside the URL's"
	keys := site{"the keys that begin with " + c.Name, c.inStreams}
	rabbit := site{fmt.Sprintf("the exchange %s and its queues", c.Name), c.inRabbit}
	nats := site{c.natsPlan(), c.inNATS}
	return map[string]site{
		"postgres": {schema, c.inDatabase}, "postgresql": {schema, c.inDatabase},
		"mysql": {database, c.inDatabase}, "mariadb": {database, c.inDatabase}, "sqlite": {file, c.inDatabase},
		"redis": keys, "rediss": keys,
		"kafka": {fmt.Sprintf("the topic %s and its consumer group", c.Name), c.inKafka},
		"amqp":  rabbit, "amqps": rabbit,
		"nats": nats, "tls": nats,
		"sqs": {fmt.Sprintf("the queue %s-%s.fifo", c.Name, c.Name), c.inSQS},
	}
}

// inBroker finds a place on the transport of a URL.
func (c Config) inBroker(rawURL string) (func(context.Context) (*place, error), error) {
	u, err := parsed(rawURL)
	if err != nil {
		return nil, err
	}
	scheme := strings.ToLower(u.Scheme)
	if s, ok := c.sites()[scheme]; ok {
		return func(ctx context.Context) (*place, error) { return s.in(ctx, rawURL, u) }, nil
	}
	switch scheme {
	case "sns":
		return nil, errors.New("topics of SNS are not made and removed here, so sns:// is not measured; measure sqs:// in the same region")
	case "mem":
		return nil, errors.New("mem:// ends with its process; there is nothing of yours to measure")
	}
	return nil, fmt.Errorf("%w %q", bus.ErrUnknownScheme, scheme)
}
