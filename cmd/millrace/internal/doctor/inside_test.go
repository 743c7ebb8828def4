package doctor

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/outbox/driver"
)

func TestVersions(t *testing.T) {
	for text, want := range map[string]int{
		"10.11.6-MariaDB-0+deb12u1": 101106, "8.0.36": 80036, "8.0": 80000, "7.0.15": 70015, "3.13.0-rc.1": 31300, "12.2.150": 120299, "": 0, "x": 0,
	} {
		if got := versionOf(text); got != want {
			t.Errorf("%q is version %d, want %d", text, got, want)
		}
	}
}

// found lists level and check of the findings.
func found(judge func(*examination)) string {
	e := &examination{Config: Config{Timeout: time.Second}}
	judge(e)
	var out []string
	for _, f := range e.findings {
		if f.Level != OK {
			out = append(out, string(f.Level)+" "+f.Check)
		}
	}
	return strings.Join(out, ", ")
}

func TestPostgresSettings(t *testing.T) {
	good := postgresState{version: "15.4", number: 150004, fsync: "on", commits: "on", pages: "on", used: 10, most: 100}
	for want, change := range map[string]func(*postgresState){
		"":                         func(*postgresState) {},
		"error version":            func(s *postgresState) { s.number = 120019 },
		"error fsync":              func(s *postgresState) { s.fsync = "off" },
		"error synchronous_commit": func(s *postgresState) { s.commits = "off" },
		"warning full_page_writes": func(s *postgresState) { s.pages = "off" },
		"error writable":           func(s *postgresState) { s.standby, s.readOnly = true, true },
		"warning connections":      func(s *postgresState) { s.used = 90 },
	} {
		s := good
		change(&s)
		assert.Equal(t, want, found(func(e *examination) { e.judgePostgres(s) }), "found")
	}
}

func TestMySQLSettings(t *testing.T) {
	good := mysqlState{version: "10.11.6-MariaDB", engine: "InnoDB", flush: 1, binlog: 0, logs: 0, readOnly: "0", doublewrite: "1", used: 1, most: 100}
	for _, c := range []struct {
		want   string
		change func(*mysqlState)
	}{
		{"", func(*mysqlState) {}},
		{"error version", func(s *mysqlState) { s.version = "10.5.22-MariaDB" }},
		{"error version", func(s *mysqlState) { s.version = "5.7.44" }},
		{"", func(s *mysqlState) { s.version = "8.0.36" }},
		{"error innodb_flush_log_at_trx_commit", func(s *mysqlState) { s.flush = 2 }},
		{"warning sync_binlog", func(s *mysqlState) { s.logs = 1 }},
		{"", func(s *mysqlState) { s.logs, s.binlog = 1, 1 }},
		{"warning innodb_doublewrite", func(s *mysqlState) { s.doublewrite = "OFF" }},
		{"error engine", func(s *mysqlState) { s.engine = "Aria" }},
		{"error writable", func(s *mysqlState) { s.readOnly = "1" }},
		{"warning connections", func(s *mysqlState) { s.used = 95 }},
	} {
		s := good
		c.change(&s)
		assert.Equal(t, c.want, found(func(e *examination) { e.judgeMySQL(s) }), "found")
	}
}

func TestNATSStreams(t *testing.T) {
	topic := func(change func(*natsStream)) natsStream {
		s := natsStream{Config: jetstream.StreamConfig{Name: "millrace+orders", Replicas: 3, AllowBatchPublish: true, AllowDirect: true}}
		change(&s)
		return s
	}
	for _, c := range []struct {
		want   string
		change func(*natsStream)
	}{
		{"", func(*natsStream) {}},
		{"error storage", func(s *natsStream) { s.Config.Storage = jetstream.MemoryStorage }},
		{"error replication", func(s *natsStream) { s.Config.Replicas = 1 }},
		{"error retention", func(s *natsStream) { s.Config.MaxAge = time.Hour }},
		{"error retention", func(s *natsStream) { s.Config.MaxMsgs = 1 }},
		{"error retention", func(s *natsStream) { s.Config.MaxBytes = 1 }},
		{"error retention", func(s *natsStream) { s.Config.MaxMsgsPerSubject = 1 }},
		{"error retention", func(s *natsStream) { s.Config.Retention = jetstream.InterestPolicy }},
		{"error settings", func(s *natsStream) { s.Config.AllowDirect = false }},
		{"error settings", func(s *natsStream) { s.Config.AllowBatchPublish = false }},
		{"warning partitions", func(s *natsStream) {
			s.Cluster = &jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{{Current: true}, {Current: true, Offline: true}}}
		}},
		{"warning partitions", func(s *natsStream) {
			s.Cluster = &jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{{Current: true}, {}}}
		}},
		// The bucket keeps the newest value of each key, and has no batches.
		{"", func(s *natsStream) {
			s.Config = jetstream.StreamConfig{Name: "KV_millrace", Replicas: 3, MaxMsgsPerSubject: 1, AllowDirect: true}
		}},
	} {
		assert.Equal(t, c.want, found(func(e *examination) { e.judgeStreams([]natsStream{topic(c.change)}, nil, true) }), "found")
	}
	alone := topic(func(s *natsStream) { s.Config.Replicas = 1 })
	assert.Equal(t, "", found(func(e *examination) { e.judgeStreams([]natsStream{alone}, nil, false) }), "of the one copy on a single server")
	if got := found(func(e *examination) { e.judgeStreams(nil, []string{"millrace+orders"}, true) }); got != "error partitions" {
		t.Errorf("of a stream without a leader: %q", got)
	}
}

func TestNATSLimits(t *testing.T) {
	for want, change := range map[string]func(*jetstream.Tier){
		"":                               func(*jetstream.Tier) {},
		"error limits":                   func(r *jetstream.Tier) { r.Limits.MaxStore = 0 },
		"warning limits":                 func(r *jetstream.Tier) { r.Limits.MaxStore, r.Store = 100, 90 },
		"warning limits, warning limits": func(r *jetstream.Tier) { r.Limits.MaxStore, r.Store, r.Limits.MaxStreams, r.Streams = 100, 100, 10, 9 },
	} {
		room := jetstream.Tier{Limits: jetstream.AccountLimits{MaxStore: -1, MaxStreams: -1}}
		change(&room)
		assert.Equal(t, want, found(func(e *examination) { e.natsRoom("", room) }), "found")
	}
}

func TestOldSnapshots(t *testing.T) {
	for _, dialect := range []database.Dialect{database.Postgres, database.MySQL} {
		for _, c := range []struct {
			want   string
			oldest driver.Snapshot
		}{
			{"", driver.Snapshot{}},
			{"", driver.Snapshot{Holder: "sessions of other users are hidden"}},
			{"", driver.Snapshot{Age: 59 * time.Minute, Holder: "session 7 of app"}},
			{"warning snapshot", driver.Snapshot{Age: time.Hour, Holder: "session 7 of app"}},
		} {
			var said string
			got := found(func(e *examination) {
				e.judgeSnapshot(dialect, c.oldest)
				said = e.findings[0].Text
			})
			if got != c.want || !strings.Contains(said, c.oldest.Holder) {
				t.Errorf("%s, %+v: found %q, want %q; it says %q", dialect, c.oldest, got, c.want, said)
			}
		}
	}
}

func TestRedisSettings(t *testing.T) {
	good := map[string]string{
		"maxmemory_policy": "noeviction", "maxmemory": "0", "evicted_keys": "0", "used_memory": "1",
		"aof_enabled": "1", "aof_last_write_status": "ok", "rdb_last_bgsave_status": "ok",
	}
	for _, c := range []struct{ field, value, want string }{
		{"maxmemory", "0", ""},
		{"maxmemory_policy", "volatile-ttl", "error maxmemory-policy"},
		{"evicted_keys", "7", "warning evicted"},
		{"aof_enabled", "0", "error appendonly"},
		{"aof_last_write_status", "err", "error appendonly"},
		{"appendfsync", "always", ""},
		{"appendfsync", "everysec", ""},
		{"appendfsync", "no", "warning appendfsync"},
		{"role", "slave", ""}, // reported elsewhere
		{"connected_slaves", "2", "warning replicas"},
		{"rdb_last_bgsave_status", "err", "warning save"},
	} {
		info := map[string]string{}
		for k, v := range good {
			info[k] = v
		}
		info["role"], info["connected_slaves"] = "master", "0"
		info[c.field] = c.value
		got := found(func(e *examination) {
			e.target.Purpose = Transport
			e.redisMemory("", info)
			e.redisDisk("", info)
			e.redisReplicas("", info)
		})
		assert.Equalf(t, c.want, got, "with %s=%s found %q", c.field, c.value, got)
	}
	guarded := map[string]string{"role": "master", "connected_slaves": "2", "min_slaves_good_slaves": "2"}
	assert.Equal(t, "", found(func(e *examination) { e.redisReplicas("", guarded) }), "with min-replicas-to-write found")
	full := map[string]string{"maxmemory_policy": "noeviction", "maxmemory": "100", "used_memory": "95"}
	if got := found(func(e *examination) { e.redisMemory("", full) }); got != "warning memory" {
		t.Errorf("with 95 %% of the memory used found %q", got)
	}
}

// refusal is an answer of Redis.
type refusal string

func (r refusal) Error() string { return string(r) }

func (refusal) RedisError() {}

func TestRedisIdentity(t *testing.T) {
	const id = "master_replid:8371b4fb1155b71f4a04d3e1bc3e18c4a990aeeb\r\n"
	for _, c := range []struct {
		said string
		err  error
		want string
	}{
		{"role:master\r\n" + id, nil, ""},
		{"role:master\r\nconnected_slaves:0\r\n", nil, "warning replication-id"},
		{"role:master\r\nmaster_replid:\r\n", nil, "warning replication-id"},
		{"role:master\r\nother_" + id, nil, "warning replication-id"},
		{"", refusal("ERR unknown command 'INFO'"), "warning replication-id"},
		{"", refusal("NOPERM this user has no permissions to run the 'info' command"), "error replication-id"},
	} {
		if got := found(func(e *examination) { e.redisIdentity("", c.said, c.err) }); got != c.want {
			t.Errorf("of %q and %v found %q, want %q", c.said, c.err, got, c.want)
		}
	}
}

func TestClock(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		server, took time.Duration
		want         string
	}{
		{0, time.Millisecond, ""},
		{900 * time.Millisecond, time.Millisecond, ""},
		{-900 * time.Millisecond, time.Millisecond, ""},
		{1500 * time.Millisecond, time.Millisecond, "warning clock"},
		{-time.Hour, time.Millisecond, "warning clock"},
		{2 * time.Second, 3 * time.Second, ""}, // a slow answer may have been read at any time
		{6 * time.Second, 3 * time.Second, "warning clock"},
	} {
		got := found(func(e *examination) { e.clock("", now.Add(c.server), lap{now, now.Add(c.took)}) })
		assert.Equalf(t, c.want, got, "a clock %s away, after %s", c.server, c.took)
	}
}

// Servers whose clocks are each near enough to ours may differ too much from each other.
func TestClocksOfServers(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		ahead []time.Duration
		want  string // of the last
	}{
		{[]time.Duration{0, 900 * time.Millisecond}, ""},
		{[]time.Duration{-600 * time.Millisecond, 0, 700 * time.Millisecond}, "its clock is 1.3s ahead of that of redis://a"},
		{[]time.Duration{-5 * time.Second, 900 * time.Millisecond}, ""}, // reported for the first already
		{[]time.Duration{100 * time.Millisecond}, ""},
	} {
		var all []*examination
		for i, ahead := range c.ahead {
			e := &examination{target: Target{URL: "redis://" + string(rune('a'+i))}}
			e.clock("", now.Add(ahead), lap{now, now})
			e.findings = nil
			all = append(all, e)
		}
		compareClocks(all)
		got := ""
		for _, e := range all {
			for _, f := range e.findings {
				got += f.Text
			}
		}
		assert.Equalf(t, c.want, got, "clocks ahead by %v", c.ahead)
	}
}

// Only connections that are unencrypted, over a network, and with a password.
func TestExposed(t *testing.T) {
	for host, want := range map[string]string{
		"db.example": "warning tls", "10.0.0.7": "warning tls", "127.0.0.1": "", "::1": "", "localhost": "", "/var/run/postgresql": "",
	} {
		assert.Equalf(t, want, found(func(e *examination) { e.exposed(host, true, "x") }), "%s", host)
		assert.Equalf(t, "", found(func(e *examination) { e.exposed(host, false, "x") }), "%s without a password", host)
	}
}

func TestKafkaExposed(t *testing.T) {
	for query, want := range map[string]string{
		"sasl=plain": "warning tls", "sasl=plain&tls=false": "warning tls", "sasl=plain&tls=true": "", "sasl=plain&tls=1": "", "sasl=scram-sha-256": "",
		"sasl=oauthbearer&token_file=t": "warning tls", "sasl=oauthbearer&tls=true": "",
	} {
		assert.Equalf(t, want, found(func(e *examination) { e.kafkaExposed(&url.URL{RawQuery: query}, "k1.example") }), "%s", query)
	}
}
