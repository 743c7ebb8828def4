package config

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const secret = "0123456789abcdef0123456789abcdef"

func parse(env map[string]string, args ...string) (Config, error) {
	return Parse(args, func(name string) string { return env[name] }, []string{"mem", "sqlite"}, io.Discard)
}

func TestDefaults(t *testing.T) {
	c, err := parse(nil)
	require.NoError(t, err)
	if c.Addr != "127.0.0.1:8080" || filepath.Base(c.DataDir) != ".boxoffice" || !filepath.IsAbs(c.DataDir) || !c.Embedded ||
		c.BusURL != c.DBURL || !strings.HasPrefix(c.DBURL, "sqlite:///") || len(c.Roles) != 4 || c.Hold != 5*time.Minute || c.PaymentLimit != 2*time.Minute ||
		c.GatewayURL != "" || c.UpstreamURL != "" || c.RedisURL != EmbeddedRedis || c.Workers != 1 || !c.Mirrors() || c.NoticeURL != "" || !c.RoomInMemory() || c.LeanStreams ||
		c.Queue != (Queue{Threshold: 1000, Active: 10 * time.Minute, Seen: 10 * time.Minute, Tick: time.Second, Batch: 100, SweepEvery: 30 * time.Second, MemberShare: 30}) {
		t.Errorf("%+v", c)
	}
}

func TestPrecedence(t *testing.T) {
	c, err := parse(map[string]string{"BOXOFFICE_ADDR": "127.0.0.1:1", "BOXOFFICE_HOLD_SECONDS": "7", "BOXOFFICE_PAYMENT_SECONDS": "9", "BOXOFFICE_ROLES": "all"}, "--addr", "127.0.0.1:2")
	if err != nil || c.Addr != "127.0.0.1:2" || c.Hold != 7*time.Second || c.PaymentLimit != 9*time.Second {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := parse(map[string]string{"BOXOFFICE_STREAMS": "lean"}); err != nil || !c.LeanStreams {
		t.Errorf("lean streams: %+v, %v", c, err)
	}
	// Every setting has its variable and its flag.
	var r Config
	for _, s := range r.settings() {
		want := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s.env, "BOXOFFICE_"), "_", "-"))
		assert.Equalf(t, want, s.flag, "%s has the flag %s", s.env, s.flag)
	}
}

func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want []string // all of these stand in the error
	}{
		"addr":             {env: map[string]string{"BOXOFFICE_ADDR": "here"}, want: []string{"BOXOFFICE_ADDR", "host:port"}},
		"port":             {args: []string{"--addr", "127.0.0.1:99999"}, want: []string{"BOXOFFICE_ADDR"}},
		"role":             {args: []string{"--roles", "api,boss"}, want: []string{"BOXOFFICE_ROLES", `"boss"`, "worker"}},
		"database":         {args: []string{"--db-url", "oracle://u:hunter2@x"}, want: []string{"BOXOFFICE_DB_URL", `"oracle"`, "sqlite"}},
		"database param":   {args: []string{"--db-url", "sqlite://x?foo=hunter2"}, want: []string{"BOXOFFICE_DB_URL", `"foo"`}},
		"gate scheme":      {args: []string{"--gate-url", "redis://u:hunter2@x"}, want: []string{"BOXOFFICE_GATE_URL", `"redis"`, "dynamodb://"}},
		"gate parameter":   {args: []string{"--gate-url", "dynamodb://u:hunter2@local?endpont=x"}, want: []string{"BOXOFFICE_GATE_URL", `"endpont"`, "endpoint"}},
		"gate endpoint":    {args: []string{"--gate-url", "dynamodb://u:hunter2@local?endpoint=x"}, want: []string{"BOXOFFICE_GATE_URL", "endpoint", "http://host:port"}},
		"edge secret":      {env: map[string]string{"BOXOFFICE_EDGE_SECRET": "hunter2"}, want: []string{"BOXOFFICE_EDGE_SECRET", "32"}},
		"edge, a second":   {env: map[string]string{"BOXOFFICE_EDGE_SECRET": secret + ",hunter2"}, want: []string{"BOXOFFICE_EDGE_SECRET", "32"}},
		"edge as entry":    {env: map[string]string{"BOXOFFICE_EDGE_SECRET": secret, "QUEUE_ENTRY_TOKEN_SECRET": secret}, want: []string{"BOXOFFICE_EDGE_SECRET", "one of its own"}},
		"edge as sign-in":  {env: map[string]string{"BOXOFFICE_EDGE_SECRET": secret, "BOXOFFICE_SECRET": secret}, want: []string{"BOXOFFICE_EDGE_SECRET", "one of its own"}},
		"transport":        {args: []string{"--bus-url", "carrier-pigeon://u:hunter2@x"}, want: []string{"BOXOFFICE_BUS_URL", `"carrier-pigeon"`, "mem, sqlite"}},
		"no scheme":        {args: []string{"--bus-url", "x"}, want: []string{"BOXOFFICE_BUS_URL", "scheme"}},
		"redis":            {args: []string{"--redis-url", "memcached://u:hunter2@x"}, want: []string{"BOXOFFICE_REDIS_URL", `"memcached"`, "embedded, redis, rediss"}},
		"redis, no scheme": {args: []string{"--redis-url", "hunter2@x"}, want: []string{"BOXOFFICE_REDIS_URL", "no scheme"}},
		"redis host":       {args: []string{"--redis-url", "redis://u:hunter2@/"}, want: []string{"BOXOFFICE_REDIS_URL", "no host"}},
		"redis database":   {args: []string{"--redis-url", "redis://u:hunter2@a,b/3"}, want: []string{"BOXOFFICE_REDIS_URL", "database 3"}},
		"redis param":      {args: []string{"--redis-url", "redis://u:hunter2@a/?db=3"}, want: []string{"BOXOFFICE_REDIS_URL", `"db"`}},
		"redis master":     {args: []string{"--redis-url", "redis://u:hunter2@a,b/?master="}, want: []string{"BOXOFFICE_REDIS_URL", `"master" is empty`}},
		"redis malformed":  {args: []string{"--redis-url", "redis://u:hunter2%@a/"}, want: []string{"BOXOFFICE_REDIS_URL", "malformed"}},
		"redis prefix":     {args: []string{"--redis-prefix", "a{b}"}, want: []string{"BOXOFFICE_REDIS_PREFIX", "letters"}},
		"workers":          {args: []string{"--workers", "17"}, want: []string{"BOXOFFICE_WORKERS", "1 to 16"}},
		"workers apart":    {args: []string{"--workers", "2"}, want: []string{"BOXOFFICE_WORKERS", "BOXOFFICE_REDIS_URL", "redis://"}},
		"archive":          {args: []string{"--archive-url", "s3://key:hunter2@x"}, want: []string{"BOXOFFICE_ARCHIVE_URL", "s3://bucket"}},
		"archive folder":   {args: []string{"--archive-url", "artists"}, want: []string{"BOXOFFICE_ARCHIVE_URL", "/folder"}},
		"upstream":         {args: []string{"--upstream-url", "u:hunter2@x"}, want: []string{"BOXOFFICE_UPSTREAM_URL", "http://"}},
		"gateway":          {args: []string{"--gateway-url", "ftp://x"}, want: []string{"BOXOFFICE_GATEWAY_URL", "http://"}},
		"secret":           {env: map[string]string{"BOXOFFICE_SECRET": "hunter2"}, want: []string{"BOXOFFICE_SECRET", "7 bytes", "32", "openssl"}},
		"admin token":      {env: map[string]string{"BOXOFFICE_ADMIN_TOKEN": "hunter2"}, want: []string{"BOXOFFICE_ADMIN_TOKEN", "16"}},
		"entry secret":     {env: map[string]string{"QUEUE_ENTRY_TOKEN_SECRET": secret + ",hunter2"}, want: []string{"QUEUE_ENTRY_TOKEN_SECRET", "32"}},
		"leave":            {args: []string{"--leave-seconds", "601"}, want: []string{"BOXOFFICE_LEAVE_SECONDS", "0 to 600"}},
		"hold":             {args: []string{"--hold-seconds", "5m"}, want: []string{"BOXOFFICE_HOLD_SECONDS", "whole number"}},
		"threshold":        {args: []string{"--queue-threshold", "0"}, want: []string{"QUEUE_THRESHOLD"}},
		"active":           {args: []string{"--queue-active-ttl-seconds", "0"}, want: []string{"QUEUE_ACTIVE_TTL_SECONDS", "1 to"}},
		"seen":             {args: []string{"--queue-seen-ttl-seconds", "197"}, want: []string{"QUEUE_SEEN_TTL_SECONDS", "198"}},
		"tick":             {args: []string{"--queue-admission-interval-ms", "1s"}, want: []string{"QUEUE_ADMISSION_INTERVAL_MS", "whole number"}},
		"batch":            {args: []string{"--queue-admission-batch-size", "0"}, want: []string{"QUEUE_ADMISSION_BATCH_SIZE"}},
		"sweep":            {args: []string{"--queue-stale-cleanup-interval-ms", "999"}, want: []string{"QUEUE_STALE_CLEANUP_INTERVAL_MS", "1000"}},
		"opening":          {args: []string{"--opening", "show-5"}, want: []string{"BOXOFFICE_OPENING", "show-5:300"}},
		"opening too soon": {args: []string{"--opening", "show-5:14"}, want: []string{"BOXOFFICE_OPENING", "15"}},
		"opening of none":  {args: []string{"--opening", ":300"}, want: []string{"BOXOFFICE_OPENING", "show-5:300"}},
		"member share":     {args: []string{"--queue-member-share", "75"}, want: []string{"QUEUE_MEMBER_SHARE", "0 to 74"}},
		"streams":          {args: []string{"--streams", "thin"}, want: []string{"BOXOFFICE_STREAMS", `"thin"`, "portable, lean"}},
		"traces":           {args: []string{"--traces-url", "http://u:hunter2@x"}, want: []string{"BOXOFFICE_TRACES_URL", "OTEL_EXPORTER_OTLP_HEADERS"}},
		"traces param":     {args: []string{"--traces-url", "http://x?part=hunter2"}, want: []string{"BOXOFFICE_TRACES_URL", `"part"`, "ratio"}},
		"notices":          {args: []string{"--notice-url", "pigeon://u:hunter2@x"}, want: []string{"BOXOFFICE_NOTICE_URL", `"pigeon"`, "sqs"}},
		"notices, mem":     {args: []string{"--notice-url", "mem://"}, want: []string{"BOXOFFICE_NOTICE_URL", "stays inside"}},
		"notices, scheme":  {args: []string{"--notice-url", "hunter2@x"}, want: []string{"BOXOFFICE_NOTICE_URL", "no scheme"}},
		"data dir":         {args: []string{"--data-dir", ""}, want: []string{"BOXOFFICE_DATA_DIR"}},
		"argument":         {args: []string{"now"}, want: []string{`"now"`}},
		"payment":          {args: []string{"--payment-seconds", "0"}, want: []string{"BOXOFFICE_PAYMENT_SECONDS", "from 1 to 86400"}},
		"several at once":  {args: []string{"--addr", "x", "--roles", "y", "--hold-seconds", "z"}, want: []string{"BOXOFFICE_ADDR", "BOXOFFICE_ROLES", "BOXOFFICE_HOLD_SECONDS"}},
	} {
		_, err := parse(c.env, c.args...)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range c.want {
			assert.Containsf(t, err.Error(), want, "%s: %q is missing in: %v", name, want, err)
		}
		assert.NotContainsf(t, err.Error(), "hunter2", "%s: the error repeats a secret: %v", name, err)
	}
	if _, err := parse(nil, "--nonsense"); err == nil {
		t.Error("an unknown flag was accepted")
	}
	var help bytes.Buffer
	_, err := Parse([]string{"--help"}, func(string) string { return "" }, []string{"mem"}, &help)
	if !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "BOXOFFICE_DATA_DIR") || !strings.Contains(help.String(), "--data-dir") {
		t.Errorf("help: %v\n%s", err, help.String())
	}
}

func TestSplitRoles(t *testing.T) {
	if _, err := parse(nil, "--roles", "api"); err == nil || !strings.Contains(err.Error(), "BOXOFFICE_DB_URL") {
		t.Errorf("a part of the roles on the default database: %v", err)
	}
	if _, err := parse(nil, "--roles", "worker,relay", "--db-url", "sqlite:///x.db", "--bus-url", "mem://"); err == nil || !strings.Contains(err.Error(), "BOXOFFICE_BUS_URL") {
		t.Errorf("a part of the roles on an in-process transport: %v", err)
	}
	// State that the API, the workers and the admitter share cannot be in each of them.
	for _, roles := range []string{"api", "worker,relay", "admitter", "api,worker,relay", "api,admitter", "worker,admitter"} {
		_, err := parse(nil, "--roles", roles, "--db-url", "sqlite:///x.db")
		if err == nil || !strings.Contains(err.Error(), "BOXOFFICE_REDIS_URL") || !strings.Contains(err.Error(), "redis://") {
			t.Errorf("%s with a Redis of its own: %v", roles, err)
		}
		for _, redis := range []string{"redis://a:6379/1", "rediss://a", "redis://a,b,c", "redis://a/?cluster=true", "redis://a,b/1?master=m&sentinel_user=u&sentinel_password=p"} {
			if c, err := parse(nil, "--roles", roles, "--db-url", "sqlite:///x.db", "--redis-url", redis); err != nil || c.RoomInMemory() {
				t.Errorf("%s on %s: %v", roles, redis, err)
			}
		}
	}
	for _, roles := range []string{"relay", "api,worker,admitter"} {
		if c, err := parse(nil, "--roles", roles, "--db-url", "sqlite:///x.db"); err != nil || !c.Mirrors() {
			t.Errorf("%s need no Redis that others have too: %v", roles, err)
		}
	}
	// Without Redis the room is in the process that serves it.
	for roles, ok := range map[string]bool{"api": false, "admitter,worker": false, "api,worker,relay": false, "api,admitter": true, "relay,worker": true, "all": true} {
		c, err := parse(nil, "--roles", roles, "--db-url", "sqlite:///x.db", "--redis-url", "off")
		if ok && (err != nil || !c.RoomInMemory()) || !ok && (err == nil || !strings.Contains(err.Error(), "BOXOFFICE_REDIS_URL") || !strings.Contains(err.Error(), "redis://")) {
			t.Errorf("%s without Redis: %v", roles, err)
		}
	}
	c, err := parse(nil, "--roles", " relay , worker,worker", "--db-url", "sqlite:///x.db", "--redis-url", "off")
	if err != nil || !slices.Equal(c.Roles, []string{"relay", "worker"}) || c.Embedded || c.BusURL != "sqlite:///x.db" || c.Has(RoleAPI) || !c.Has(RoleRelay) || c.Mirrors() {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := parse(nil, "--workers", "16", "--redis-url", "redis://a", "--redis-prefix", "box-1:"); err != nil || c.Workers != 16 || c.RedisPrefix != "box-1:" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := parse(nil, "--roles", "api,relay,worker"); err == nil || !strings.Contains(err.Error(), "BOXOFFICE_DB_URL") {
		t.Errorf("nobody to admit, on the default database: %v", err)
	}
	if c, err := parse(nil, "--notice-url", "sqs://eu-central-1"); err != nil || c.NoticeURL != "sqs://eu-central-1" {
		t.Errorf("notices: %+v, %v", c, err)
	}
	_, err = parse(nil, "--bus-url", "mem://")
	assert.NoError(t, err, "all roles on mem")
}

func TestSecrets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	fill := func(args ...string) Config {
		t.Helper()
		c, err := parse(nil, append([]string{"--data-dir", dir}, args...)...)
		require.NoError(t, err)
		if c, err = c.Fill(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := fill()
	if len(first.Secret) < 32 || len(first.EntrySecrets) != 1 || len(first.EntrySecrets[0]) < 32 || len(first.AdminToken) < 32 || !first.AdminTokenMade {
		t.Errorf("%+v", first)
	}
	if first.Secret == first.EntrySecrets[0] || first.Secret == first.AdminToken {
		t.Error("one secret serves two purposes")
	}
	second := fill()
	if second.Secret != first.Secret || second.EntrySecrets[0] != first.EntrySecrets[0] || second.TicketKeys != first.TicketKeys || first.TicketKeys == first.Secret || second.AdminToken != first.AdminToken {
		t.Error("a restart made new secrets")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v", info.Mode())
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "secret"), 0o604))
	if _, err := first.refill(); err == nil || !strings.Contains(err.Error(), "chmod") || strings.Contains(err.Error(), first.Secret) {
		t.Errorf("a secret that everybody can read: %v", err)
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "secret"), 0o640))
	assert.Equal(t, first.Secret, fill().Secret, "a secret that a group can read was not used")
	chosen := fill("--secret", secret, "--admin-token", "an-admin-token-of-mine", "--queue-entry-token-secret", secret)
	if chosen.Secret != secret || chosen.AdminToken != "an-admin-token-of-mine" || chosen.AdminTokenMade || chosen.EntrySecrets[0] != secret {
		t.Errorf("%+v", chosen)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("short\n"), 0o600))
	if _, err := first.refill(); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("a damaged file: %v", err)
	}
}

// refill is Fill without the known secrets.
func (c Config) refill() (Config, error) {
	c.Secret, c.EntrySecrets, c.AdminToken = "", nil, ""
	return c.Fill()
}

func TestSecretsOfTwoProcesses(t *testing.T) {
	c, err := parse(nil, "--data-dir", t.TempDir())
	require.NoError(t, err)
	got := make(chan string, 20)
	for range cap(got) {
		go func() {
			filled, err := c.Fill()
			assert.NoError(t, err)
			got <- filled.Secret + filled.AdminToken
		}()
	}
	first := <-got
	for range cap(got) - 1 {
		require.Equal(t, first, <-got, "two processes use different secrets")
	}
}

func TestDataDir(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/boxoffice"} {
		c, err := parse(nil, "--data-dir", dir)
		require.NoError(t, err)
		if _, err := c.Fill(); err == nil || !strings.Contains(err.Error(), "BOXOFFICE_DATA_DIR") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	// Where permissions mean something (root may write anywhere).
	if os.Getuid() == 0 {
		return
	}
	locked := t.TempDir()
	require.NoError(t, os.Chmod(locked, 0o500))
	c, err := parse(nil, "--data-dir", locked)
	require.NoError(t, err)
	if _, err := c.Fill(); err == nil || !strings.Contains(err.Error(), "can't be written") {
		t.Errorf("a folder without write permission: %v", err)
	}
}
