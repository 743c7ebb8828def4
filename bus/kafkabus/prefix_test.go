package kafkabus_test

import (
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/driver"
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
			require.NoError(t, b.Declare(t.Context(), bus.Topic{Name: topic, Groups: []string{group}}))
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
		for of, b := range map[string]*bus.Bus{"staging": staging, "prod": prod} {
			sub := subscriber(t, b, group, 1)
			expect(t, subscribe(t, sub, topic), "of "+of)
			require.NoError(t, sub.Close())
		}
		keepsGroupsApart(t, prod, staging, topic, group)
		for _, b := range []*bus.Bus{prod, staging} {
			if all, err := b.Topics(t.Context()); err != nil || !slices.Equal(all, []string{topic}) {
				t.Errorf("the topics are %v (%v), want %s alone", all, err, topic)
			}
		}
		plain := openBus(t, kafkabus.Config{}, url)
		for of, want := range map[string]bool{topic: false, environment + "-prod." + topic: true} {
			if found, err := plain.Topics(t.Context(), of); err != nil || (len(found) == 1) != want {
				t.Errorf("topic %s is in the cluster: %v (%v), want %v", of, found, err, want)
			}
		}
	})
}

// keepsGroupsApart resets, reads and deletes in staging, and checks that prod is unchanged.
func keepsGroupsApart(t *testing.T, prod, staging *bus.Bus, topic, group string) {
	t.Helper()
	ended := func(b *bus.Bus) driver.Group {
		t.Helper()
		all, err := b.Groups(t.Context())
		if err != nil || len(all) != 1 || all[0].Topic != topic || all[0].Group != group {
			t.Fatalf("the groups are %v (%v), want %s of %s alone", all, err, group, topic)
		}
		return all[0]
	}
	ended(staging)
	_, err := staging.ResetGroup(t.Context(), topic, group, bus.Place{}, false)
	require.NoError(t, err)
	if s, p := ended(staging).Messages, ended(prod).Messages; s != 1 || p != 0 {
		t.Errorf("after a reset of staging it is %d messages behind, prod %d", s, p)
	}
	err = staging.Read(t.Context(), topic, bus.Place{}, func(m *message.Message) error {
		if string(m.Payload) != "of staging" {
			t.Errorf("staging reads %s", m.Payload)
		}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, staging.DeleteGroup(t.Context(), topic, group))
	if all, err := staging.Groups(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("staging has %v (%v), and its group is deleted", all, err)
	}
	ended(prod)
}
