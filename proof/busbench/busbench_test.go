package busbench

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/report"
)

// Sarama's metrics, of the client that sweeps up, have a goroutine for good, and
// Watermill's reader of a Redis stream sleeps for a while after its end.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"),
		goleak.IgnoreAnyFunction("github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream.(*Subscriber).read"))
}

func TestRun(t *testing.T) {
	for name, on := range map[string]func(*testing.T, *Config){
		"sqlite": func(*testing.T, *Config) {},
		"postgres": func(t *testing.T, c *Config) {
			c.Postgres = servicetest.Env(t, "MILLRACE_POSTGRES_URL", "PostgreSQL", "postgres://user:password@127.0.0.1:5432/name")
		},
		"mariadb": func(t *testing.T, c *Config) {
			c.MariaDB = servicetest.Env(t, "MILLRACE_MARIADB_URL", "MariaDB", "mysql://user:password@127.0.0.1:3306/name")
		},
		"mysql": func(t *testing.T, c *Config) {
			c.MariaDB = servicetest.Env(t, "MILLRACE_MYSQL_URL", "MySQL", "mysql://user:password@127.0.0.1:3306/name")
		},
		"redis":    func(t *testing.T, c *Config) { c.Redis = servicetest.Redis(t) },
		"rabbitmq": func(t *testing.T, c *Config) { c.RabbitMQ = servicetest.RabbitMQ(t) },
		"kafka":    func(t *testing.T, c *Config) { c.Brokers = servicetest.Kafka(t) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{
				Window: 10 * time.Millisecond, Backlog: 100, Rounds: 1,
				Prefix: "bench_" + strconv.FormatInt(time.Now().UnixNano(), 36),
			}
			on(t, &cfg)
			var out bytes.Buffer
			rec := report.To(&out)
			if err := Run(t.Context(), cfg, rec); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if s := rec.Section(); len(s.Charts) != 4 || len(s.Figures) != 4*len(transports(cfg)) || !s.Figures[0].Median.Known() {
				t.Errorf("recorded are %+v", s)
			}
			if peers := strings.Count(out.String(), "  ratio"); peers != len(transports(cfg))/2 {
				t.Errorf("%d peers in\n%s", peers, &out)
			}
		})
	}
}
