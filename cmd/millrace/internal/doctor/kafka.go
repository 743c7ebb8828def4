package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/kafkabus"
)

func (e *examination) kafka(ctx context.Context, u *url.URL) {
	addresses, ok := e.hosts(ctx, u, "9092")
	if !ok {
		return
	}
	// The settings are those that the transport makes of the URL.
	client, err := kafkabus.Client(e.target.URL, kafkabus.Config{
		ClientID: "millrace-doctor", Logger: slog.New(slog.DiscardHandler),
		Options: []kgo.Opt{kgo.DialTimeout(e.Timeout), kgo.RequestTimeoutOverhead(e.Timeout), kgo.RetryTimeout(e.Timeout), kgo.RequestRetries(1)},
	})
	if err != nil {
		e.kafkaRefused(strings.Join(addresses, ", "), err)
		return
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	asking, cancel := e.within(ctx)
	defer cancel()
	cluster, err := admin.BrokerMetadata(asking)
	if err != nil {
		e.kafkaRefused(strings.Join(addresses, ", "), err)
		return
	}
	if !e.advertised(ctx, cluster.Brokers) {
		return
	}
	e.kafkaBrokers(ctx, admin, cluster.Brokers)
	e.kafkaTopics(ctx, admin, len(cluster.Brokers))
	e.kafkaExposed(u, hostOf(addresses[0]))
}

func (e *examination) kafkaExposed(u *url.URL, host string) {
	if !driver.NewParams(u).Bool("tls", false) {
		sasl := u.Query().Get("sasl")
		e.exposed(host, sasl == "plain" || sasl == "oauthbearer", "give the brokers a TLS listener, and use tls=true")
	}
}

func (e *examination) kafkaRefused(where string, err error) {
	var plain *url.Error
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		e.add(Error, "authentication", "user or password is wrong", "correct them in the URL, percent-encoded, and the mechanism: sasl=plain, scram-sha-256 or scram-sha-512")
	case errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		e.add(Error, "authentication", "the brokers do not sign in by this mechanism", "use another: sasl=plain, scram-sha-256, scram-sha-512, oauthbearer or aws-msk-iam; or none, if this listener asks for none")
	case errors.Is(err, kerr.ClusterAuthorizationFailed), errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.GroupAuthorizationFailed):
		e.add(Error, "authentication", "this user may not do what is needed: "+e.quoted(err.Error()), "kafka-acls.sh --add --allow-principal …")
	case errors.As(err, &plain), strings.Contains(err.Error(), "parameter "), strings.Contains(err.Error(), "the URL "):
		e.unusable(err, "write kafka://user:password@h1:9092,h2:9092/?tls=true&sasl=scram-sha-512")
	case !e.connecting(where, "ca=FILE", err):
		e.add(Error, "answers", fmt.Sprintf("no broker answers: %s", e.said(err)), "is it a Kafka? a listener with TLS or SASL wants tls=true or sasl=… in the URL; the broker's log says more")
	}
}

// advertised checks whether the addresses that brokers advertise to clients can be reached
// from here.
func (e *examination) advertised(ctx context.Context, brokers kadm.BrokerDetails) bool {
	var addresses []string
	for _, b := range brokers {
		addresses = append(addresses, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))))
	}
	slices.Sort(addresses)
	before := len(e.findings)
	reached := e.reach(ctx, addresses)
	for i := range e.findings[before:] {
		f := &e.findings[before+i]
		f.Check, f.Text = "advertised", "a broker tells its clients to come to an address that they cannot reach: "+f.Text
		f.Fix = "correct advertised.listeners of that broker, or the name service of this machine"
	}
	return reached
}

// kafkaBrokers asks each broker for the settings behind Millrace's guarantees.
func (e *examination) kafkaBrokers(ctx context.Context, admin *kadm.Client, brokers kadm.BrokerDetails) {
	text := "a cluster of " + strconv.Itoa(len(brokers)) + " brokers"
	if len(brokers) == 1 {
		text = "one broker"
	}
	e.ok("version", "%s", text)
	if len(brokers) == 1 {
		e.add(Warning, "replication", "there is one broker: what it has acknowledged is lost with its disk, and nothing works while it is away", "three brokers in production")
		return
	}
	asking, cancel := e.within(ctx)
	defer cancel()
	all, err := admin.DescribeBrokerConfigs(asking, brokers.NodeIDs()...)
	set, err := settings(0, all, err)
	if err != nil {
		e.add(Warning, "settings", fmt.Sprintf("the settings of the brokers cannot be read: %s", e.said(err)), "allow this user DescribeConfigs on the cluster")
		return
	}
	var unclean, hasty, few []string
	for _, b := range brokers {
		set := set[strconv.Itoa(int(b.NodeID))]
		which := fmt.Sprintf("broker %d", b.NodeID)
		if set["unclean.leader.election.enable"] == "true" {
			unclean = append(unclean, which)
		}
		if n, err := strconv.Atoi(set["min.insync.replicas"]); err == nil && n < 2 {
			hasty = append(hasty, which)
		}
		if n, err := strconv.Atoi(set["default.replication.factor"]); err == nil && n < 3 {
			few = append(few, which)
		}
	}
	e.several(Error, "unclean.leader.election.enable", unclean, "a replica that lacks messages may become leader, and they are lost", "unclean.leader.election.enable=false")
	e.several(Error, "min.insync.replicas", hasty, "a message is acknowledged when a single broker has it", "min.insync.replicas=2, and a replication of 3")
	e.several(Warning, "default.replication.factor", few, "new topics have fewer than three copies unless asked for more", "default.replication.factor=3; the transport asks with ?replication=3")
}

// settings returns the settings of brokers or topics, by their number or name; from one
// source, if it is not zero.
func settings(source kmsg.ConfigSource, all kadm.ResourceConfigs, err error) (map[string]map[string]string, error) {
	if err != nil {
		return nil, err
	}
	of := map[string]map[string]string{}
	for _, resource := range all {
		if resource.Err != nil {
			return nil, resource.Err
		}
		of[resource.Name] = map[string]string{}
		for _, c := range resource.Configs {
			if source == 0 || c.Source == source {
				of[resource.Name][c.Key] = c.MaybeValue()
			}
		}
	}
	return of, nil
}

// kafkaTopics checks the copies of each topic.
func (e *examination) kafkaTopics(ctx context.Context, admin *kadm.Client, brokers int) {
	asking, cancel := e.within(ctx)
	defer cancel()
	topics, err := admin.ListTopics(asking)
	if err != nil {
		e.add(Warning, "topics", fmt.Sprintf("the topics cannot be listed: %s", e.said(err)), "allow this user Describe on the topics")
		return
	}
	topics.FilterInternal()
	set := map[string]map[string]string{}
	if len(topics) > 0 {
		all, err := admin.DescribeTopicConfigs(asking, topics.Names()...)
		if set, err = settings(kmsg.ConfigSourceDynamicTopicConfig, all, err); err != nil {
			e.add(Warning, "topics", fmt.Sprintf("the settings of the topics cannot be read: %s", e.said(err)), "allow this user DescribeConfigs on the topics")
			return
		}
	}
	var single, unsafe, stuck, leaderless, lagging []string
	for name, t := range topics {
		for _, p := range t.Partitions {
			switch {
			case p.Leader < 0:
				leaderless = append(leaderless, fmt.Sprintf("%s/%d", name, p.Partition))
			case len(p.ISR) < len(p.Replicas):
				lagging = append(lagging, fmt.Sprintf("%s/%d", name, p.Partition))
			}
		}
		if brokers == 1 {
			continue // there is no other place for a copy
		}
		least, _ := strconv.Atoi(set[name]["min.insync.replicas"]) // a number, by its name
		switch copies := t.Partitions.NumReplicas(); {
		case copies < 2:
			single = append(single, name)
		case least > copies:
			stuck = append(stuck, name)
		case least == 1:
			unsafe = append(unsafe, name)
		}
	}
	e.several(Error, "replication", single, "one copy only: what is acknowledged is lost with one disk", "kafka-reassign-partitions.sh to three brokers; new topics by ?replication=3")
	e.several(Error, "min.insync.replicas", unsafe, "min.insync.replicas=1: a message is acknowledged when a single broker has it", "kafka-configs.sh --alter --add-config min.insync.replicas=2")
	e.several(Error, "min.insync.replicas", stuck, "min.insync.replicas above the number of copies: nothing can be published", "lower it below the replication, or add copies")
	e.several(Error, "partitions", leaderless, "no leader: nothing can be published or read", "start the broker that has it")
	e.several(Warning, "partitions", lagging, "copies that lag behind or are away", "start the broker that is away; kafka-topics.sh --describe --under-replicated-partitions")
	e.ok("topics", "topics looked at: %d", len(topics))
}

// several adds one finding for all items that share a fault.
func (e *examination) several(level Level, check string, which []string, text, fix string) {
	if len(which) == 0 {
		return
	}
	slices.Sort(which)
	shown := strings.Join(which[:min(len(which), 5)], ", ")
	if n := len(which) - 5; n > 0 {
		shown += fmt.Sprintf(" and %d more", n)
	}
	e.add(level, check, shown+": "+text, fix)
}
