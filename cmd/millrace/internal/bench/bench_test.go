package bench

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/bus/sqsbus/sqsclient"
	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/internal/redisdb"
	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/internal/transporttest/natstest"
)

func TestMain(m *testing.M) {
	// The tests mostly wait for servers and for windows of a second.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	// Sarama counts fetches by topic in a registry of the process, which has one goroutine
	// for all topics and cannot be disabled.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// server is a server under measurement: its URL, a function that creates something of a
// name there, as another program would, and one that lists the existing things of that name.
type server struct {
	url   string
	make  func(t *testing.T, name string) (remove func())
	found func(t *testing.T, name string) []string
}

func must(t *testing.T, err error) {
	t.Helper()
	require.NoError(t, err)
}

func query(t *testing.T, raw string, ask func(db *sql.DB) error) {
	t.Helper()
	d, err := database.Open(raw, true)
	must(t, err)
	defer d.Close()
	must(t, ask(d.DB))
}

// sqlServer is a SQL server on which a place is created by a statement.
func sqlServer(raw, create, drop, list string) server {
	return server{
		url: raw,
		make: func(t *testing.T, name string) func() {
			query(t, raw, func(db *sql.DB) error { _, err := db.Exec(create + name); return err })
			return func() { query(t, raw, func(db *sql.DB) error { _, err := db.Exec(drop + name); return err }) }
		},
		found: func(t *testing.T, name string) (found []string) {
			query(t, raw, func(db *sql.DB) error {
				var n int
				err := db.QueryRow(strings.ReplaceAll(list, "NAME", name)).Scan(&n)
				if n > 0 {
					found = []string{name}
				}
				return err
			})
			return found
		},
	}
}

func mysqlServer(raw string) server {
	return sqlServer(raw, "CREATE DATABASE ", "DROP DATABASE ", "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'NAME'")
}

// databases are the servers that have an outbox.
func databases(t *testing.T) map[string]func(t *testing.T) server {
	return map[string]func(t *testing.T) server{
		"postgres": func(t *testing.T) server {
			return sqlServer(servicetest.PostgresURL(t), "CREATE SCHEMA ", "DROP SCHEMA ", "SELECT count(*) FROM pg_namespace WHERE nspname = 'NAME'")
		},
		"mariadb": func(t *testing.T) server { return mysqlServer(servicetest.MariaDBURL(t)) },
		"mysql":   func(t *testing.T) server { return mysqlServer(servicetest.MySQLURL(t)) },
		"sqlite": func(t *testing.T) server {
			servicetest.Embedded(t)
			dir := t.TempDir()
			return server{
				url: "sqlite://" + filepath.Join(dir, "app.db"),
				make: func(t *testing.T, name string) func() {
					path := filepath.Join(dir, name+".db")
					must(t, os.WriteFile(path, []byte("somebody's"), 0o600))
					return func() { must(t, os.Remove(path)) }
				},
				found: func(t *testing.T, name string) []string {
					found, err := filepath.Glob(filepath.Join(dir, name+"*"))
					must(t, err)
					return found
				},
			}
		},
	}
}

func redisServer(raw string, key func(name string) string) server {
	with := func(t *testing.T, do func(client redis.UniversalClient) error) {
		t.Helper()
		client, err := redisdb.Open(raw, redisdb.Config{})
		must(t, err)
		defer client.Close()
		must(t, do(client))
	}
	return server{
		url: raw,
		make: func(t *testing.T, name string) func() {
			with(t, func(client redis.UniversalClient) error { return client.HSet(t.Context(), key(name), "a", "b").Err() })
			return func() {
				with(t, func(client redis.UniversalClient) error { return client.Del(t.Context(), key(name)).Err() })
			}
		},
		found: func(t *testing.T, name string) (found []string) {
			scan := func(ctx context.Context, node *redis.Client) error {
				keys := node.Scan(ctx, 0, "*"+name+"*", 1000).Iterator()
				for keys.Next(ctx) {
					found = append(found, keys.Val())
				}
				return keys.Err()
			}
			with(t, func(client redis.UniversalClient) error {
				if cluster, ok := client.(*redis.ClusterClient); ok {
					return cluster.ForEachMaster(t.Context(), scan)
				}
				return scan(t.Context(), client.(*redis.Client))
			})
			return found
		},
	}
}

// brokers are the servers that carry messages and are not databases.
func brokers(t *testing.T) map[string]func(t *testing.T) server {
	topics := func(name string) string { return name + ":millrace:topics" }
	return map[string]func(t *testing.T) server{
		"redis":   func(t *testing.T) server { return redisServer(servicetest.Redis(t), topics) },
		"cluster": func(t *testing.T) server { return redisServer("redis://"+servicetest.RedisCluster(t)+"/", topics) },
		"kafka":   kafkaServer,
		"amqp":    rabbitServer,
		"nats":    natsServer,
		"sqs":     sqsServer,
	}
}

func kafkaServer(t *testing.T) server {
	brokers := strings.Split(servicetest.Kafka(t), ",")
	with := func(t *testing.T, do func(admin sarama.ClusterAdmin) error) {
		t.Helper()
		admin, err := sarama.NewClusterAdmin(brokers, sarama.NewConfig())
		must(t, err)
		defer admin.Close()
		must(t, do(admin))
	}
	return server{
		url: "kafka://" + strings.Join(brokers, ",") + "/",
		make: func(t *testing.T, name string) func() {
			with(t, func(admin sarama.ClusterAdmin) error {
				return admin.CreateTopic(name, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false)
			})
			return func() { with(t, func(admin sarama.ClusterAdmin) error { return admin.DeleteTopic(name) }) }
		},
		found: func(t *testing.T, name string) (found []string) {
			with(t, func(admin sarama.ClusterAdmin) error {
				topics, err := admin.ListTopics()
				must(t, err)
				groups, err := admin.ListConsumerGroups()
				if _, there := topics[name]; there {
					found = append(found, "topic "+name)
				}
				if _, there := groups[name]; there {
					found = append(found, "group "+name)
				}
				return err
			})
			return found
		},
	}
}

func rabbitServer(t *testing.T) server {
	raw := servicetest.RabbitMQ(t)
	u, err := url.Parse(raw)
	must(t, err)
	return server{
		url: raw,
		make: func(t *testing.T, name string) func() {
			conn, err := dialRabbit(u)
			must(t, err)
			defer conn.Close()
			ch, err := conn.Channel()
			must(t, err)
			must(t, ch.ExchangeDeclare(name, "topic", true, false, false, false, nil))
			return func() {
				conn, err := dialRabbit(u)
				must(t, err)
				defer conn.Close()
				must(t, removeRabbit(conn, name, nil))
			}
		},
		found: func(t *testing.T, name string) []string {
			conn, err := dialRabbit(u)
			must(t, err)
			defer conn.Close()
			c := Config{Name: name}
			there, err := foundRabbit(conn, name, c.queues())
			must(t, err)
			if there {
				return []string{name}
			}
			return nil
		},
	}
}

func natsServer(t *testing.T) server {
	raw := natstest.Server(t)
	with := func(t *testing.T, do func(js jetstream.JetStream) error) {
		t.Helper()
		must(t, Config{}.askNATS(raw, do))
	}
	return server{
		url: raw,
		make: func(t *testing.T, name string) func() {
			with(t, func(js jetstream.JetStream) error {
				_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name + "+" + name})
				return err
			})
			return func() {
				with(t, func(js jetstream.JetStream) error { return js.DeleteStream(t.Context(), name+"+"+name) })
			}
		},
		found: func(t *testing.T, name string) (found []string) {
			with(t, func(js jetstream.JetStream) error {
				all := js.StreamNames(t.Context())
				for stream := range all.Name() {
					if strings.Contains(stream, name) {
						found = append(found, stream)
					}
				}
				return all.Err()
			})
			return found
		},
	}
}

func sqsServer(t *testing.T) server {
	raw := "sqs://key:secret@elasticmq/?wait=50ms&endpoint=" + servicetest.SQS(t)
	u, err := url.Parse(raw)
	must(t, err)
	queue := func(name string) string { return name + "-" + name + ".fifo" }
	return server{
		url: raw,
		make: func(t *testing.T, name string) func() {
			client, done, err := sqsclient.Open(t.Context(), u)
			must(t, err)
			defer done()
			q := queue(name)
			made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &q, Attributes: map[string]string{"FifoQueue": "true"}})
			must(t, err)
			return func() {
				client, done, err := sqsclient.Open(t.Context(), u)
				must(t, err)
				defer done()
				_, err = client.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: made.QueueUrl})
				must(t, err)
			}
		},
		found: func(t *testing.T, name string) []string {
			client, done, err := sqsclient.Open(t.Context(), u)
			must(t, err)
			defer done()
			all, err := client.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: &name})
			must(t, err)
			return all.QueueUrls
		},
	}
}

// fresh is a unique name.
func fresh() string { return "b" + strings.ReplaceAll(uuid.NewString()[:18], "-", "") }

// quick is a short measurement.
func quick(name string) Config {
	return Config{Window: time.Second, Size: 100, Callers: 4, Name: name}
}

func gone(t *testing.T, s server, name string) {
	t.Helper()
	if left := s.found(t, name); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestOutbox(t *testing.T) {
	for kind, at := range databases(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, name := at(t), fresh()
			var steps []string
			cfg := quick(name)
			cfg.Step = func(text string) { steps = append(steps, text) }
			begun := time.Now()
			r, err := Outbox(t.Context(), s.url, cfg)
			require.NoError(t, err)
			if r.Appended == 0 || r.Appended > maxRows+100 || r.AppendPS <= 0 || r.Drained == 0 || r.Drained > r.Appended || r.DrainPS <= 0 {
				t.Errorf("measured %+v", r)
			}
			if l := r.ToPublish; l == nil || l.Count == 0 || l.P50 < 0 || l.P99 < l.P50 {
				t.Errorf("from commit to publish %+v", l)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			if len(steps) != 5 || !strings.HasPrefix(steps[0], "made the ") || !strings.HasPrefix(steps[4], "removed the ") {
				t.Errorf("it says %q", steps)
			}
			gone(t, s, name)
		})
	}
}

func TestTransport(t *testing.T) {
	all := brokers(t)
	for name, at := range databases(t) {
		all[name] = at
	}
	for kind, at := range all {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, name := at(t), fresh()
			r, err := Transport(t.Context(), s.url, quick(name))
			require.NoError(t, err)
			if r.Published == 0 || r.PublishPS <= 0 || r.Handled == 0 || r.Handled > r.Published || r.HandlePS <= 0 {
				t.Errorf("measured %+v", r)
			}
			if l := r.RoundTrip; l == nil || l.Count == 0 || l.P50 <= 0 || l.P99 < l.P50 {
				t.Errorf("a round trip %+v", l)
			}
			gone(t, s, name)
		})
	}
}

// limiters are the servers that keep budgets.
func limiters(t *testing.T) map[string]func(t *testing.T) server {
	budget := func(name string) string { return "{" + name + "}:low_cap" }
	return map[string]func(t *testing.T) server{
		"redis":   func(t *testing.T) server { return redisServer(servicetest.Redis(t), budget) },
		"cluster": func(t *testing.T) server { return redisServer("redis://"+servicetest.RedisCluster(t)+"/", budget) },
	}
}

func TestLimiter(t *testing.T) {
	for kind, at := range limiters(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, name := at(t), fresh()
			r, err := Limiter(t.Context(), s.url, quick(name))
			require.NoError(t, err)
			if len(r.Runs) != 2 || r.Runs[0].Callers != 1 || r.Runs[1].Callers != 16 {
				t.Fatalf("measured %+v", r)
			}
			for _, run := range r.Runs {
				if run.Granted == 0 || run.Decisions <= 0 || run.Latency.Count != run.Granted+run.Refused || run.Latency.P99 < run.Latency.P50 {
					t.Errorf("measured %+v, %+v", run, run.Latency)
				}
			}
			gone(t, s, name)
		})
	}
}

// measurements are all measurements.
func measurements(t *testing.T) map[string]struct {
	at  func(t *testing.T) server
	run func(ctx context.Context, raw string, cfg Config) error
} {
	type measurement = struct {
		at  func(t *testing.T) server
		run func(ctx context.Context, raw string, cfg Config) error
	}
	all := map[string]measurement{}
	transport := func(ctx context.Context, raw string, cfg Config) error {
		_, err := Transport(ctx, raw, cfg)
		return err
	}
	for name, at := range databases(t) {
		all["outbox "+name] = measurement{at, func(ctx context.Context, raw string, cfg Config) error { _, err := Outbox(ctx, raw, cfg); return err }}
		all["transport "+name] = measurement{at, transport}
	}
	for name, at := range brokers(t) {
		all["transport "+name] = measurement{at, transport}
	}
	for name, at := range limiters(t) {
		all["limiter "+name] = measurement{at, func(ctx context.Context, raw string, cfg Config) error { _, err := Limiter(ctx, raw, cfg); return err }}
	}
	return all
}

// Behind a pooler that refuses or drops search_path, the tables would be the application's own.
func TestPooler(t *testing.T) {
	for kind, at := range map[string]func(t *testing.T, name string) string{
		"refuses": func(t *testing.T, _ string) string { return servicetest.PgBouncerURL(t) },
		"drops":   dropsSearchPath,
	} {
		t.Run(kind, func(t *testing.T) {
			name := fresh()
			raw := at(t, name)
			for _, run := range []func() error{
				func() error { _, err := Outbox(t.Context(), raw, quick(name)); return err },
				func() error { _, err := Transport(t.Context(), raw, quick(name)); return err },
			} {
				require.ErrorContains(t, run(), "PgBouncer keeps it out; give the URL of the server itself")
			}
			query(t, raw, func(db *sql.DB) error {
				var n int
				err := db.QueryRow(`SELECT (SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()) + (SELECT count(*) FROM pg_namespace WHERE nspname = $1)`, name).Scan(&n)
				assert.Zero(t, n, "tables of the application's schema, and the place that is left behind")
				return err
			})
		})
	}
}

// dropsSearchPath returns a URL of the test's schema, whatever search_path says instead of it.
func dropsSearchPath(t *testing.T, name string) string {
	own := servicetest.PostgresURL(t)
	u, err := url.Parse(own)
	require.NoError(t, err)
	server, schema := u.Host, u.Query().Get("search_path")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var served sync.WaitGroup
	t.Cleanup(func() { require.NoError(t, l.Close()); served.Wait() })
	serve := func(client net.Conn) {
		defer client.Close()
		startup := make([]byte, 4096)
		n, err := client.Read(startup)
		if err != nil {
			return
		}
		body := bytes.Replace(startup[4:n], []byte("search_path\x00"+name), []byte("search_path\x00"+schema), 1)
		to, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer to.Close()
		_, _ = to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(4+len(body))), body...))
		served.Go(func() { _, _ = io.Copy(client, to); _ = client.Close() })
		_, _ = io.Copy(to, client)
	}
	served.Go(func() {
		for client, err := l.Accept(); err == nil; client, err = l.Accept() {
			served.Go(func() { serve(client) })
		}
	})
	u.Host = l.Addr().String()
	return u.String()
}

// An existing thing of the name belongs to another program and is refused, and so is the
// place of a run in progress.
func TestTaken(t *testing.T) {
	for kind, m := range measurements(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s, name := m.at(t), fresh()
			remove := s.make(t, name)
			before := s.found(t, name)
			if len(before) == 0 {
				t.Fatal("nothing was made")
			}
			err := m.run(t.Context(), s.url, quick(name))
			if !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--name") {
				t.Errorf("it is there, and the run says %v", err)
			}
			if after := s.found(t, name); !slices.Equal(after, before) {
				t.Errorf("there was %q, now %q", before, after)
			}
			remove()

			second := make(chan error, 1)
			cfg := quick(name)
			cfg.Step = func(text string) {
				if strings.HasPrefix(text, "made ") {
					second <- m.run(t.Context(), s.url, quick(name))
				}
			}
			if strings.HasSuffix(kind, "sqs") { // which keeps a deleted name for a while, and has no mark
				return
			}
			assert.NoError(t, m.run(t.Context(), s.url, cfg), "the first of two")
			assert.ErrorIs(t, <-second, ErrTaken, "the second of two")
			gone(t, s, name)
		})
	}
}

// An interruption at any step leaves nothing behind.
func TestInterrupted(t *testing.T) {
	for kind, m := range measurements(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := m.at(t)
			for step := 1; ; step++ {
				name := fresh()
				ctx, cancel := context.WithCancel(t.Context())
				cfg := quick(name)
				steps := 0
				cfg.Step = func(string) {
					if steps++; steps == step {
						cancel()
					}
				}
				err := m.run(ctx, s.url, cfg)
				cancel()
				gone(t, s, name)
				if steps == step { // this was the last one: removed
					assert.NoError(t, err, "at the end")
					return
				}
				assert.ErrorIsf(t, err, context.Canceled, "at step %d it says %v", step, err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	transport := func(raw string, cfg Config) error { _, err := Transport(t.Context(), raw, cfg); return err }
	for raw, want := range map[string]string{
		"mem://": "ends with its process", "oracle://x": "unknown scheme", "kafka://a:geh%zzeim@h/": "malformed", "postgres://a:geh%zzeim@h/": "malformed",
	} {
		if err := transport(raw, Config{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geh") {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
	for want, cfg := range map[string]Config{
		"--seconds is 0.5": {Window: time.Second / 2}, "--seconds is 61": {Window: 61 * time.Second}, "--size is 65537": {Size: 65537},
		"--callers is -1": {Callers: -1}, `--name is "Ab"`: {Name: "Ab"}, `--name is "x; DROP"`: {Name: "x; DROP"},
	} {
		for _, err := range []error{transport("mem://", cfg), func() error { _, err := Outbox(t.Context(), "sqlite://x", cfg); return err }(),
			func() error { _, err := Limiter(t.Context(), "redis://x", cfg); return err }()} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", cfg, err, want)
			}
		}
	}
}
