package doctor_test

import (
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/millrace-go/millrace/cmd/millrace/internal/doctor"
)

// A cluster that acknowledges a message before a second broker has it.
func TestKafkaReplication(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(2, "orders"))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	admin, err := sarama.NewClusterAdmin(c.ListenAddrs(), sarama.NewConfig())
	require.NoError(t, err)
	defer admin.Close()
	one, four := "1", "4"
	for name, detail := range map[string]*sarama.TopicDetail{
		"lonely": {NumPartitions: 1, ReplicationFactor: 1},
		"hasty":  {NumPartitions: 1, ReplicationFactor: 3, ConfigEntries: map[string]*string{"min.insync.replicas": &one}},
		"stuck":  {NumPartitions: 1, ReplicationFactor: 3, ConfigEntries: map[string]*string{"min.insync.replicas": &four}},
	} {
		require.NoError(t, admin.CreateTopic(name, detail, false))
	}
	r := examine(t, doctor.Transport, "kafka://"+strings.Join(c.ListenAddrs(), ",")+"/")
	want(t, r, doctor.OK, "version", "3 brokers")
	want(t, r, doctor.Error, "min.insync.replicas", "broker 0, broker 1, broker 2: a message is acknowledged when a single broker has it")
	want(t, r, doctor.Error, "replication", "lonely: one copy only")
	want(t, r, doctor.Error, "min.insync.replicas", "hasty: min.insync.replicas=1")
	want(t, r, doctor.Error, "min.insync.replicas", "stuck: min.insync.replicas above")
	assert.Falsef(t, says(r, doctor.Error, "replication", "orders"), "a topic in good order is blamed: %+v", r)
}
