package kafkabus_test

import (
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

// Two environments on one cluster have the same topics and groups, and neither sees the
// other's.
func TestPrefixKeepsApart(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		environment, topic, group := name("env"), name("topic"), name("group")
		at := func(of, more string) *bus.Bus {
			return openBus(t, kafkabus.Config{Partitions: 1}, url+"?prefix="+environment+"-"+of+"."+more)
		}
		prod, staging := at("prod", ""), at("staging", "")
		for _, b := range []*bus.Bus{prod, staging} {
			if err := b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}); err != nil {
				t.Fatal(err)
			}
		}
		publish(t, prod, topic, keyed("k", "of prod"))
		want := bus.Lag{Topic: topic, Group: group}
		for _, b := range []*bus.Bus{staging, at("staging", "&lag=all")} {
			lags, err := b.Lag(t.Context())
			if err != nil || len(lags) != 1 || lags[0] != want {
				t.Errorf("staging's lag is %v (%v), want %v", lags, err, want)
			}
		}
		publish(t, staging, topic, keyed("k", "of staging"))
		for _, look := range []func() ([]*message.Message, error){
			func() ([]*message.Message, error) { return staging.Browse(t.Context(), topic, 10) },
			func() ([]*message.Message, error) { return staging.Pending(t.Context(), topic, group, 10) },
		} {
			if seen, err := look(); err != nil || len(seen) != 1 || string(seen[0].Payload) != "of staging" {
				t.Errorf("staging shows %v (%v), want its own message", seen, err)
			}
		}
		expect(t, subscribe(t, subscriber(t, staging, group, 1), topic), "of staging")
		expect(t, subscribe(t, subscriber(t, prod, group, 1), topic), "of prod")
		for _, b := range []*bus.Bus{prod, staging} {
			if all, err := b.Topics(t.Context()); err != nil || !slices.Equal(all, []string{topic}) {
				t.Errorf("the topics are %v (%v), want %s alone", all, err, topic)
			}
		}
		plain := openBus(t, kafkabus.Config{}, url)
		for of, want := range map[string]bool{topic: false, environment + "-prod." + topic: true} {
			if there, err := plain.HasTopic(t.Context(), of); err != nil || there != want {
				t.Errorf("topic %s is in the cluster: %v (%v), want %v", of, there, err, want)
			}
		}
	})
}
