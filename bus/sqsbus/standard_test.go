package sqsbus_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/sqsbus"
	"github.com/millrace-go/millrace/event"
)

// A standard queue is named without .fifo. Its messages have the key in an attribute, and
// no group, and a message that is published twice is there twice.
func TestStandardWireFormat(t *testing.T) {
	p := newPlace(t).standard()
	b := open(t, sqsbus.Config{}, p.url)
	m := keyed("user/7", "payload")
	publish(t, b, "notices.admitted", m)
	publish(t, b, "notices.admitted", m)
	got := map[string]bool{}
	for end := time.Now().Add(20 * time.Second); len(got) < 2; {
		require.Falsef(t, time.Now().After(end), "%d messages came within 20s, want 2", len(got))
		for _, found := range raw(t, p, "notices.admitted") {
			got[aws.ToString(found.MessageId)] = true
			if key, id := aws.ToString(found.MessageAttributes[event.KeyHeader].StringValue), aws.ToString(found.MessageAttributes["_watermill_message_uuid"].StringValue); key != "user/7" || id != m.UUID {
				t.Errorf("the message has the key %q and the id %q", key, id)
			}
			assert.Equal(t, "", found.Attributes["MessageGroupId"]+found.Attributes["MessageDeduplicationId"], "the message has the group or deduplication id")
		}
	}
}

// FIFO and standard queues of one prefix are places of their own.
func TestKindsAreApart(t *testing.T) {
	p := newPlace(t)
	fifo, standard := open(t, sqsbus.Config{}, p.url), open(t, sqsbus.Config{}, p.standard().url)
	for b, topic := range map[*bus.Bus]string{fifo: "ordered", standard: "loose"} {
		publish(t, b, topic, keyed("k", "1"))
	}
	for b, want := range map[*bus.Bus]string{fifo: "ordered", standard: "loose"} {
		if all, err := b.Topics(t.Context()); err != nil || len(all) != 1 || all[0] != want {
			t.Errorf("Topics() is %q, %v; want %s alone", all, err, want)
		}
		for topic := range map[string]bool{"ordered": true, "loose": true} {
			if found, err := b.Topics(t.Context(), topic); err != nil || (len(found) == 1) != (topic == want) {
				t.Errorf("Topics(%s) of the bus with %s is %v, %v", topic, want, found, err)
			}
		}
	}
}
