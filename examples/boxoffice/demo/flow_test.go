package demo

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/launch"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/screen"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

// TestBookingFlow sends a crowd through a box office of many processes, two of
// each role and the gateway, on every transport. Each database carries some. The
// waiting room is in Redis, in a Redis Cluster, or in the one process that serves
// it, and lets in a few at a time.
func TestBookingFlow(t *testing.T) {
	program, err := launch.Build(t.Context(), t.TempDir(), launch.Boxoffice)
	require.NoError(t, err)
	own := func(testing.TB) string { return "" } // the database's own transport; a room in memory
	cluster := func(t testing.TB) string { return "redis://" + servicetest.RedisCluster(t) + "/" }
	for _, on := range []struct {
		name          string
		db, bus, room func(testing.TB) string
	}{
		{"SQLite", own, own, own},
		{"PostgreSQL", servicetest.PostgresURL, own, servicetest.Redis},
		{"MariaDB", servicetest.MariaDBURL, own, cluster},
		{"MySQL", servicetest.MySQLURL, own, servicetest.Redis},
		{"Kafka", servicetest.PostgresURL, func(t testing.TB) string { return "kafka://" + servicetest.Kafka(t) + "/" }, own},
		{"RabbitMQ", servicetest.MariaDBURL, servicetest.RabbitMQ, own},
		{"Redis", servicetest.PostgresURL, servicetest.Redis, servicetest.Redis},
		{"NATS", servicetest.PostgresURL, natstest.Server, own},
		{"RedisCluster", servicetest.MariaDBURL, cluster, cluster},
		{"RabbitMQ and SQLite", own, servicetest.RabbitMQ, servicetest.Redis},
	} {
		t.Run(on.name, func(t *testing.T) {
			if on.name == "SQLite" {
				servicetest.Embedded(t)
			}
			cfg := []string{"--split", "--plain", "--fans", "25", "--think", "20ms", "--hold", "3s", "--threshold", "3"}
			if url := on.db(t); url != "" {
				cfg = append(cfg, "--db-url", url)
			}
			if url := on.bus(t); url != "" {
				cfg = append(cfg, "--bus-url", url)
			}
			if url := on.room(t); url != "" {
				cfg = append(cfg, "--redis-url", url)
			}
			c, err := parse(cfg, &bytes.Buffer{})
			require.NoError(t, err)
			c.program, c.temp = program, t.TempDir()
			var out, errs bytes.Buffer
			code := run(t.Context(), c, screen.New(&out, true), &errs)
			checks := 36
			if c.told() { // live, so that there is a trace to the stream
				checks++
			}
			if code != 0 || !strings.Contains(out.String(), fmt.Sprintf("OK: all %d checks hold", checks)) {
				t.Errorf("exit %d\n%s\n%s", code, out.String(), errs.String())
			}
		})
	}
}
