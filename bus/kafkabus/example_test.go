package kafkabus_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/event"
)

func ExampleScheme() {
	ctx := context.Background()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1)) // stands in for Kafka
	check(err)
	defer cluster.Close()
	url := "kafka://" + cluster.ListenAddrs()[0] + "/?partitions=6"

	b, err := bus.Open(ctx, url, kafkabus.Scheme(kafkabus.Config{ClientID: "tickets"}))
	check(err)
	defer b.Close()
	check(b.Declare(ctx, bus.Topic{Name: "seats", Retention: 72 * time.Hour, Groups: []string{"printer"}}))

	m := message.NewMessage("1", []byte("A-1 held"))
	m.Metadata.Set(event.KeyHeader, "show-1")
	check(b.Publisher().Publish("seats", m))

	sub, err := b.Subscriber("printer", bus.SubscriberConfig{})
	check(err)
	messages, err := sub.Subscribe(ctx, "seats")
	check(err)
	m = <-messages
	fmt.Println(event.Key(m), string(m.Payload))
	m.Ack()
	check(sub.Close())

	fmt.Println(b.Declare(ctx, bus.Topic{Name: "orders", Replication: 3}))
	// Output:
	// show-1 A-1 held
	// bus: declare: kafkabus: declare orders: the topic cannot be as declared: orders needs 3 brokers for 3 copies, and the cluster has 1; lower the replication
}

func ExampleClient() {
	ctx := context.Background()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "seats")) // stands in for Kafka
	check(err)
	defer cluster.Close()

	client, err := kafkabus.Client("kafka://"+cluster.ListenAddrs()[0]+"/", kafkabus.Config{})
	check(err)
	defer client.Close()
	topics, err := kadm.NewClient(client).ListTopics(ctx)
	check(err)
	fmt.Println(topics.Names(), len(topics["seats"].Partitions))
	// Output: [seats] 3
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
