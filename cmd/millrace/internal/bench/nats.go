package bench

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/natsbus"
)

// natsStreams are those of package natsbus with the name as its prefix: the bucket of
// cursors and members, and the topic's.
func (c Config) natsStreams() (bucket, topic string) { return "KV_" + c.Name, c.Name + "+" + c.Name }

func (c Config) natsPlan() string {
	bucket, topic := c.natsStreams()
	return "the streams " + bucket + " and " + topic
}

// inNATS creates the bucket; the transport creates the topic's stream beside it. JetStream
// accepts creating a stream twice if its settings are the same, so a run puts the time into
// them: of two runs at once one is refused.
func (c Config) inNATS(ctx context.Context, rawURL string, u *url.URL) (*place, error) {
	inside := with(*u, map[string]string{"prefix": c.Name, "partitions": strconv.Itoa(lanes)})
	bucket, topic := c.natsStreams()
	what := c.natsPlan()
	refused := taken(what, "nats stream rm "+bucket+", and nats stream rm "+topic)
	// The settings of the URL include the number of copies of a stream.
	replicas := driver.NewParams(u).Int("replicas", 1, 1)
	err := c.askNATS(rawURL, func(js jetstream.JetStream) error {
		if _, err := js.Stream(ctx, topic); !errors.Is(err, jetstream.ErrStreamNotFound) {
			if err == nil {
				err = refused
			}
			return err
		}
		_, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: c.Name, Description: "millrace bench of " + time.Now().Format(time.RFC3339Nano), Storage: jetstream.FileStorage, Replicas: replicas,
		})
		if errors.Is(err, jetstream.ErrBucketExists) {
			return refused
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &place{url: inside, what: what, remove: func(ctx context.Context) error {
		return c.askNATS(rawURL, func(js jetstream.JetStream) error {
			if err := js.DeleteStream(ctx, topic); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				return err
			}
			return js.DeleteStream(ctx, bucket) // the mark of a run, removed last
		})
	}}, nil
}

// askNATS calls do with a connection that is signed in as the transport's.
func (c Config) askNATS(rawURL string, do func(jetstream.JetStream) error) error {
	conn, err := natsbus.Connect(rawURL, natsbus.Config{Options: []nats.Option{nats.Name("millrace-bench")}})
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return do(js)
}
