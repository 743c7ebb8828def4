package redissse

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"strconv"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/sse/driver"
)

// broker is a [driver.Broker] by Pub/Sub of Redis, sharded on a Redis Cluster.
type broker struct {
	client   redis.UniversalClient
	cfg      Config
	sharded  bool
	channels []string // those of addresses, and then disconnect
}

var _ driver.Broker = (*broker)(nil)

// channels is the number of channels for addresses. On a Cluster they spread the
// messages over its nodes, and cost every instance a connection each.
const channels = 16

func newBroker(client redis.UniversalClient, cfg Config) *broker {
	b := &broker{client: client, cfg: cfg, sharded: sharded(client) && !cfg.Plain}
	for i := range channels {
		b.channels = append(b.channels, cfg.Prefix+"sse:events:"+strconv.Itoa(i))
	}
	b.channels = append(b.channels, cfg.Prefix+"sse:notification:disconnect")
	return b
}

func sharded(client redis.UniversalClient) bool {
	_, cluster := client.(*redis.ClusterClient)
	return cluster
}

// disconnect is the JSON of a message about a victim, for other programs too.
type disconnect struct {
	Member     string `json:"memberId"`
	Connection string `json:"connectionId"`
}

// Publish hands a message to all listeners; see [driver.Broker].
func (b *broker) Publish(ctx context.Context, m driver.Message) error {
	const what = "publish"
	channel, payload, err := b.encode(m)
	if err != nil {
		return bad(what, "%w", err)
	}
	send := b.client.Publish
	if b.sharded {
		send = b.client.SPublish
	}
	if err := send(ctx, channel, payload).Err(); err != nil {
		return b.failed(what, b.advise(err))
	}
	return nil
}

func (b *broker) encode(m driver.Message) (channel string, payload []byte, err error) {
	switch {
	case m.Kind < driver.ToMember || m.Kind > driver.Answer:
		return "", nil, errors.New("the message is of no kind there is")
	case len(m.To) > driver.MaxMember || len(m.Arg) > driver.MaxMember:
		return "", nil, errors.New("a name in the message is too long; see driver.MaxMember")
	}
	// Names that JSON cannot carry are sent as all other messages.
	if m.Kind == driver.Disconnect && utf8.ValidString(m.To) && utf8.ValidString(m.Arg) {
		payload, err = json.Marshal(disconnect{m.To, m.Arg})
		return b.channels[channels], payload, err
	}
	payload = m.Append(nil)
	if len(payload) > driver.MaxMessage {
		return "", nil, errors.New("the message is too long; see driver.MaxMessage")
	}
	hash := fnv.New32a()
	hash.Write([]byte(m.To)) //nolint:errcheck // never fails
	return b.channels[hash.Sum32()%channels], payload, nil
}

// decode reads a published message. Other programs' messages are ignored.
func (b *broker) decode(channel, payload string) (m driver.Message, ok bool) {
	if channel != b.channels[channels] {
		m, err := driver.ParseMessage([]byte(payload))
		return m, err == nil
	}
	var d disconnect
	if err := json.Unmarshal([]byte(payload), &d); err != nil || d.Member == "" || d.Connection == "" {
		return m, false
	}
	return driver.Message{Kind: driver.Disconnect, To: d.Member, Arg: d.Connection}, true
}

func (b *broker) failed(what string, err error) error {
	p := b.cfg.Prefix
	return failed(what, "+publish +subscribe +spublish +ssubscribe +ping on the channels &"+
		p+"sse:events:* and &"+p+"sse:notification:disconnect", err)
}

// advise adds advice for a Cluster without sharded Pub/Sub.
func (b *broker) advise(err error) error {
	if b.sharded && redis.HasErrorPrefix(err, "unknown command") {
		return &plainly{err}
	}
	return err
}

// plainly is the error of a server that has no sharded Pub/Sub.
type plainly struct{ err error }

func (p *plainly) Error() string {
	return "the Cluster has no sharded Pub/Sub, which came with Redis 7; set Config.Plain: " + p.err.Error()
}
func (p *plainly) Unwrap() error { return p.err }
