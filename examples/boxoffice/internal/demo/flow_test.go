package demo

import (
	"bytes"
	"strings"
	"testing"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/built"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/demo/screen"
	"github.com/millrace-go/millrace/internal/servicetest"
)

// TestBookingFlow sends a crowd through a box office of seven processes, two of
// each role and the gateway, on every transport. Each database carries some.
func TestBookingFlow(t *testing.T) {
	program, err := built.Boxoffice(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own := func(testing.TB) string { return "" } // the database's own transport
	for _, on := range []struct {
		name    string
		db, bus func(testing.TB) string
	}{
		{"SQLite", own, own},
		{"PostgreSQL", servicetest.PostgresURL, own},
		{"MariaDB", servicetest.MariaDBURL, own},
		{"Kafka", servicetest.PostgresURL, func(t testing.TB) string { return "kafka://" + servicetest.Kafka(t) + "/" }},
		{"RabbitMQ", servicetest.MariaDBURL, servicetest.RabbitMQ},
		{"Redis", servicetest.PostgresURL, servicetest.Redis},
		{"RedisCluster", servicetest.MariaDBURL, func(t testing.TB) string { return "redis://" + servicetest.RedisCluster(t) + "/" }},
		{"RabbitMQ and SQLite", own, servicetest.RabbitMQ},
	} {
		t.Run(on.name, func(t *testing.T) {
			cfg := []string{"--split", "--plain", "--fans", "25", "--think", "20ms", "--hold", "3s"}
			if url := on.db(t); url != "" {
				cfg = append(cfg, "--db-url", url)
			}
			if url := on.bus(t); url != "" {
				cfg = append(cfg, "--bus-url", url)
			}
			c, err := parse(cfg, &bytes.Buffer{})
			if err != nil {
				t.Fatal(err)
			}
			c.program, c.temp = program, t.TempDir()
			var out, errs bytes.Buffer
			code := run(t.Context(), c, screen.New(&out, true), &errs)
			if code != 0 || !strings.Contains(out.String(), "OK: all 23 checks hold") {
				t.Errorf("exit %d\n%s\n%s", code, out.String(), errs.String())
			}
		})
	}
}
