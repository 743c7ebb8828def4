package environment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/millrace-go/millrace/internal/mysqldb"
	"github.com/millrace-go/millrace/internal/pgdb"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// Addresses are the URLs of servers, and the brokers of Kafka separated by commas.
// Servers with an empty address are not asked.
type Addresses struct{ Postgres, MariaDB, MySQL, Redis, RedisCluster, RabbitMQ, Kafka string }

// patience bounds how long a server takes to answer.
const patience = 15 * time.Second

// Servers asks the servers for their versions.
func Servers(ctx context.Context, a Addresses) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cluster := a.RedisCluster
	if cluster != "" && !strings.Contains(cluster, "://") {
		cluster = "redis://" + cluster + "/"
	}
	versions := map[string]string{}
	for _, s := range []struct {
		name, at string
		ask      func(ctx context.Context, at string) (string, error)
	}{
		{"PostgreSQL", a.Postgres, func(ctx context.Context, at string) (string, error) {
			return query(ctx, at, pgdb.Open, `SELECT current_setting('server_version')`)
		}},
		{"MariaDB", a.MariaDB, mysqlVersion},
		{"MySQL", a.MySQL, mysqlVersion},
		{"Redis", a.Redis, redisVersion},
		{"Redis Cluster", cluster, redisVersion},
		{"RabbitMQ", a.RabbitMQ, rabbitMQ},
		{"Kafka", a.Kafka, kafka},
	} {
		if s.at == "" {
			continue
		}
		version, err := s.ask(ctx, s.at)
		if err != nil {
			return nil, fmt.Errorf("ask %s for its version: %w", s.name, err)
		}
		versions[s.name] = version
	}
	return versions, nil
}

func query(ctx context.Context, at string, open func(string) (*sql.DB, error), text string) (version string, err error) {
	db, err := open(at)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return version, db.QueryRowContext(ctx, text).Scan(&version)
}

func redisVersion(ctx context.Context, at string) (version string, err error) {
	client, err := redisdb.Open(at, redisdb.Config{PoolSize: 1})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	text, err := client.Info(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
			return v, nil
		}
	}
	return unknown, nil
}

func rabbitMQ(_ context.Context, at string) (string, error) {
	conn, err := amqp.DialConfig(at, amqp.Config{Dial: amqp.DefaultDial(patience)})
	if err != nil {
		return "", err
	}
	version, ok := conn.Properties["version"].(string)
	if !ok {
		version = unknown
	}
	return version, conn.Close()
}

// kafka guesses the version by the broker's features, since a broker does not
// report it: "v3.9".
func kafka(ctx context.Context, at string) (string, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(at, ",")...), kgo.RetryTimeout(patience/3), kgo.DialTimeout(patience/3))
	if err != nil {
		return "", err
	}
	defer client.Close()
	answer, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, client)
	if err != nil {
		return "", err
	}
	return kversion.FromApiVersionsResponse(answer).VersionGuess(), nil
}

func mysqlVersion(ctx context.Context, at string) (string, error) {
	return query(ctx, at, mysqldb.Open, `SELECT version()`)
}
