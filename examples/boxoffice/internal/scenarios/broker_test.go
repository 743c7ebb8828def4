package scenarios

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// topicsOfOffices are the topics of every box office on a broker.
func topicsOfOffices() []string {
	return []string{
		events.Payments, events.Reservations, events.Transfers, events.Memberships, events.Likes, events.Orders,
		events.Products, events.Stock, events.Domain, artist.TopicHigh, artist.TopicLow, artist.DeadLetters,
		"dlq.payment", "dlq.reservation", "dlq.transfer", "dlq.membership", "like-events.DLT", "order-events.DLT",
		"product-events.DLT", "stock-events.DLT", "notification_dlq", "aggregate_dlq", "chat_persist_dlq", "chat_fanout_dlq",
	}
}

// groupsOfOffices are the groups of every box office.
func groupsOfOffices() []string {
	return []string{
		events.GroupReservation, events.GroupSold, events.GroupTickets, events.GroupRelease, events.GroupStats, events.GroupLikes,
		events.GroupOrders, events.GroupViews, events.GroupStock, events.GroupNotifications, events.GroupCounts,
		events.GroupChatPersist, events.GroupChatFanout, artist.GroupHigh, artist.GroupLow, "redrive",
	}
}

// emptyKafka removes the topics and groups that earlier box offices left on the
// broker, and returns its URL: the names are fixed, and a new office would read the
// old offsets as its own. It does so on this machine only.
func emptyKafka(t testing.TB) string {
	t.Helper()
	brokers := servicetest.Kafka(t)
	for address := range strings.SplitSeq(brokers, ",") {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			t.Fatalf("MILLRACE_KAFKA_BROKERS names %s: the scenarios delete the topics of the box office, and do that on a broker of this machine only", address)
		}
	}
	var last error
	for began := time.Now(); ; {
		left, err := sweepKafka(strings.Split(brokers, ","))
		if err == nil && left == 0 {
			return "kafka://" + brokers + "/"
		}
		if last = errors.Join(err, fmt.Errorf("%d topics and groups are left", left)); time.Since(began) > time.Minute {
			t.Fatalf("empty Kafka: %v", last) // a killed process's session ends before that
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// sweepKafka deletes once, and returns the number of deleted items.
func sweepKafka(brokers []string) (left int, err error) {
	conf := sarama.NewConfig()
	conf.Version = sarama.V3_2_0_0
	admin, err := sarama.NewClusterAdmin(brokers, conf)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	groups, err := admin.ListConsumerGroups()
	if err != nil {
		return 0, err
	}
	for _, g := range groupsOfOffices() {
		if _, ok := groups[g]; ok {
			left++
			err = errors.Join(err, admin.DeleteConsumerGroup(g))
		}
	}
	if err != nil { // members of it are there for a while
		return left, err
	}
	// A broker that has just started loads its offsets, and refuses to declare a group.
	described, err := admin.DescribeConsumerGroups(groupsOfOffices())
	if err != nil {
		return left, err
	}
	for _, g := range described {
		if errors.Is(g.Err, sarama.ErrOffsetsLoadInProgress) || errors.Is(g.Err, sarama.ErrConsumerCoordinatorNotAvailable) {
			left++
		}
	}
	topics, err := admin.ListTopics()
	if err != nil {
		return left, err
	}
	for name := range topics {
		if slices.Contains(topicsOfOffices(), name) {
			left++
			if e := admin.DeleteTopic(name); e != nil && !errors.Is(e, sarama.ErrUnknownTopicOrPartition) {
				err = errors.Join(err, e)
			}
		}
	}
	return left, err
}
