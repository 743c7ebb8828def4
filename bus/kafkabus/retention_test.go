package kafkabus_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// Retention that deletes messages during a long read does not end it: it goes on with the
// earliest message that is left.
func TestReadBehindRetention(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		b, topic := openBus(t, kafkabus.Config{}, url), name("topic")
		require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Partitions: 2}))
		brokers := strings.Split(strings.TrimSuffix(strings.TrimPrefix(url, "kafka://"), "/"), ",")
		client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		require.NoError(t, err)
		defer client.Close()
		for partition := range int32(2) {
			for n := range 5 {
				r := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(strconv.Itoa(int(partition)) + "#" + strconv.Itoa(n))}
				require.NoError(t, client.ProduceSync(t.Context(), r).FirstErr())
			}
		}
		var got []string
		err = b.Driver().(driver.Reader).Read(t.Context(), topic, bus.Place{}, func(m *message.Message) error {
			if len(got) == 0 {
				var until kadm.Offsets
				until.AddOffset(topic, 1, 3, -1)
				_, err := kadm.NewClient(client).DeleteRecords(t.Context(), until)
				require.NoError(t, err)
			}
			got = append(got, string(m.Payload))
			return nil
		})
		require.NoError(t, err)
		if want := []string{"0#0", "0#1", "0#2", "0#3", "0#4", "1#3", "1#4"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
