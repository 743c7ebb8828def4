package kafkabus_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/bustest"
	"github.com/millrace-go/millrace/bus/kafkabus"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// brokerside is the parameter that makes brokers assign partitions.
const brokerside = "?protocol=consumer"

// Groups whose partitions the brokers assign consume as others do.
func TestConsumingByBrokers(t *testing.T) {
	t.Parallel()
	url := real(t) + brokerside
	consuming := []string{
		"OrderPerKeyWithKeysInParallel", "OrderAcrossNackAndRetry", "OneUnacknowledgedPerKey", "KeylessIsOneKey", "GroupsEachGetAll",
		"GroupResumesWhereItStopped", "NewGroupStartsAtEarliest", "OutOfOrderAcksNeverSkip", "AnOrderlyStopRepeatsNothing",
		"UnacknowledgedIsRedeliveredAfterClose", "UnacknowledgedIsRedeliveredAfterContextEnd", "DeclaredGroupGetsEverything",
		"InstancesShareAGroup", "AnInstanceTakesOverWhereTheOtherStopped", "GroupSurvivesReopening", "LagCountsDown", "DrainOnShutdown",
		"PoisonMessageIsDeadLettered", "InfrastructurePauseLosesNothing", "BatchesFillAndKeepOrder", "BatchPartialFailure",
	}
	cases := map[string]bustest.Case{}
	for _, c := range bustest.Cases() {
		cases[c.Name] = c
	}
	for _, name := range consuming {
		t.Run(name, func(t *testing.T) {
			c, ok := cases[name]
			require.True(t, ok, "the suite has no such case")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			b := openBus(t, kafkabus.Config{}, url)
			require.NoError(t, c.Test(ctx, bustest.Env{Bus: b, Again: func() (*bus.Bus, error) {
				return bus.Open(t.Context(), url, kafkabus.Scheme(kafkabus.Config{Logger: quiet}))
			}}))
		})
	}
}

// Members come and go also while the brokers assign partitions.
func TestRebalanceByBrokers(t *testing.T) {
	t.Parallel()
	group := rebalances(t, real(t)+brokerside)
	c, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(servicetest.Kafka(t), ",")...))
	require.NoError(t, err)
	defer c.Close()
	ask := kmsg.NewPtrListGroupsRequest()
	ask.TypesFilter = []string{"consumer"}
	answer, err := ask.RequestWith(t.Context(), c)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(answer.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return g.Group == group }), "the members share out the group, not the brokers")
}
