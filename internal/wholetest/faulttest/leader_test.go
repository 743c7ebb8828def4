package faulttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/millrace-go/millrace/internal/servicetest"
)

// The leaders of all partitions move to the next of three brokers while the
// flow runs, and then the one that leads the first partition is killed.
func TestLeaderMoves(t *testing.T) {
	brokers := servicetest.Env(t, "MILLRACE_KAFKA3_BROKERS", "three Kafka brokers", "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094")
	f := start(t, postgres(t), schemes(nil), "kafka://"+brokers+"/?replication=3")
	cfg := sarama.NewConfig()
	cfg.Version = sarama.V2_6_0_0
	admin, err := sarama.NewClusterAdmin(strings.Split(brokers, ","), cfg)
	f.must(err)
	defer admin.Close() //nolint:errcheck // the test is over

	for range 2 {
		f.handles(100)
		before := leaders(f, admin)
		move(f, admin)
		f.until(30*time.Second, "new leaders", func(context.Context) (bool, error) { return !slices.Equal(before, leaders(f, admin)), nil })
		t.Logf("leaders moved from %v to %v", before, leaders(f, admin))
		f.recovered("a move of the leaders")
	}
	leader := leaders(f, admin)[0]
	restart(t, fmt.Sprintf("kafka3-%d", leader), strings.Split(brokers, ",")[leader-1])
	f.recovered("the death of a leader")
	f.check()
}

// leaders are the ids of the brokers that lead the topic's partitions.
func leaders(f *flow, admin sarama.ClusterAdmin) []int32 {
	f.t.Helper()
	meta, err := admin.DescribeTopics([]string{f.topic})
	f.must(err)
	out := make([]int32, len(meta[0].Partitions))
	for _, p := range meta[0].Partitions {
		out[p.ID] = p.Leader
	}
	return out
}

// move puts the next replica of each partition first and elects it.
func move(f *flow, admin sarama.ClusterAdmin) {
	f.t.Helper()
	meta, err := admin.DescribeTopics([]string{f.topic})
	f.must(err)
	assignment := make([][]int32, len(meta[0].Partitions))
	partitions := make([]int32, len(meta[0].Partitions))
	for _, p := range meta[0].Partitions {
		if len(p.Replicas) != 3 {
			f.t.Fatalf("partition %d has the replicas %v", p.ID, p.Replicas)
		}
		assignment[p.ID] = append(slices.Clone(p.Replicas[1:]), p.Replicas[0])
		partitions[p.ID] = p.ID
	}
	f.must(admin.AlterPartitionReassignments(f.topic, assignment))
	f.until(30*time.Second, "an election", func(context.Context) (bool, error) {
		_, err := admin.ElectLeaders(sarama.PreferredElection, map[string][]int32{f.topic: partitions})
		return err == nil, err
	})
}
