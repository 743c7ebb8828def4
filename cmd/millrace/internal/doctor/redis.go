package doctor

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
)

func (e *examination) redis(ctx context.Context, u *url.URL) {
	cluster, _ := strconv.ParseBool(u.Query().Get("cluster")) // what is wrong with it is said by the transport
	client, err := redisdb.Client(u, cluster, redisdb.Config{Timeout: e.Timeout, PoolSize: 2})
	if err != nil {
		e.add(Error, "url", fmt.Sprintf("the URL cannot be used: %s", e.said(err)), "write redis://user:password@host:6379/0, or redis://h1:7001,h2:7002,h3:7003/ for a cluster")
		return
	}
	defer client.Close() //nolint:errcheck // everything it had to say was said
	var addresses []string
	for host := range strings.SplitSeq(u.Host, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "6379")
		}
		addresses = append(addresses, host)
	}
	if !e.reach(ctx, addresses) {
		return
	}
	asking, cancel := e.within(ctx)
	began := time.Now()
	now, err := client.Time(asking).Result()
	l := lap{began, time.Now()}
	cancel()
	if err != nil {
		e.redisRefused(strings.Join(addresses, ", "), err)
		return
	}
	switch client := client.(type) {
	case *redis.Client:
		if !e.redisNode(ctx, "", client) {
			return
		}
	case *redis.ClusterClient:
		e.redisCluster(ctx, client)
	}
	if u.Scheme == "redis" {
		_, password := u.User.Password()
		e.exposed(hostOf(addresses[0]), password, "turn TLS on in Redis, and use rediss://")
	}
	e.clock(now, l)
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

func (e *examination) redisRefused(where string, err error) {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "WRONGPASS"), strings.HasPrefix(text, "ERR AUTH"):
		e.add(Error, "authentication", "user or password is wrong", "correct them in the URL, percent-encoded: redis://user:password@host, or redis://:password@host")
	case strings.HasPrefix(text, "NOAUTH"):
		e.add(Error, "authentication", "the server wants a password and the URL has none", "write redis://:password@host:6379/0")
	case strings.HasPrefix(text, "NOPERM"):
		e.add(Error, "authentication", "this user may not do what is needed: "+e.quoted(text), "ACL SETUSER … +@all ~*, or what the packages in use need")
	case strings.Contains(text, "DB index"), strings.Contains(text, "invalid DB"):
		e.add(Error, "database", "the server has no database of this number", "use /0, or raise `databases` in redis.conf")
	case strings.HasPrefix(text, "LOADING"):
		e.add(Error, "answers", "the server is still loading its data", "wait")
	case strings.HasPrefix(text, "CLUSTERDOWN"):
		e.add(Error, "cluster", "the cluster is down: "+e.quoted(text), "redis-cli --cluster check says which slots nobody serves")
	case strings.Contains(text, "cluster support disabled"):
		e.add(Error, "cluster", "the server is no cluster and the URL says so", "name one host, without cluster=true")
	case !e.connecting(where, "the system's trust store", err):
		e.add(Error, "answers", fmt.Sprintf("the server refuses: %s", e.said(err)), "is it a Redis? its log says more")
	}
}

// redisCluster looks at the cluster as a whole and at each of its masters.
func (e *examination) redisCluster(ctx context.Context, client *redis.ClusterClient) {
	asking, cancel := e.within(ctx)
	defer cancel()
	info, err := client.ClusterInfo(asking).Result()
	if err != nil {
		e.redisRefused("the cluster", err)
		return
	}
	fields := fieldsOf(info)
	if fields["cluster_state"] != "ok" || fields["cluster_slots_ok"] != "16384" {
		e.add(Error, "cluster", fmt.Sprintf("the cluster is %s, %s of 16384 slots are served", fields["cluster_state"], fields["cluster_slots_ok"]),
			"redis-cli --cluster check, and --cluster fix")
	} else {
		e.ok("cluster", "a cluster of %s masters, every slot is served", fields["cluster_size"])
	}
	var mu sync.Mutex // ForEachMaster asks all of them at once
	var masters []*redis.Client
	err = client.ForEachMaster(asking, func(_ context.Context, master *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, master)
		return nil
	})
	if err != nil {
		e.redisRefused("the cluster", err)
		return
	}
	slices.SortFunc(masters, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
	for _, master := range masters {
		e.redisNode(ctx, master.Options().Addr+": ", master)
	}
}

// redisNode asks one server about itself.
func (e *examination) redisNode(ctx context.Context, which string, node *redis.Client) bool {
	asking, cancel := e.within(ctx)
	defer cancel()
	began := time.Now()
	text, err := node.Info(asking).Result()
	took := time.Since(began)
	if err != nil {
		e.redisRefused(node.Options().Addr, err)
		return false
	}
	info := fieldsOf(text)
	version := info["redis_version"]
	if versionOf(version) < 70000 {
		e.add(Error, "version", which+"Redis "+version+" is too old", "upgrade to 7.0 or newer")
	} else {
		e.ok("version", "%sRedis %s, %s away", which, version, took.Round(100*time.Microsecond))
	}
	if info["role"] == "slave" {
		e.add(Error, "writable", which+"the server is a replica and takes no writes", "connect to the master")
	}
	e.redisMemory(which, info)
	e.redisDisk(which, info)
	return true
}

// redisMemory looks whether Redis throws away what nobody has deleted.
func (e *examination) redisMemory(which string, info map[string]string) {
	policy := info["maxmemory_policy"]
	switch {
	case policy != "noeviction":
		bound := ""
		if info["maxmemory"] == "0" {
			bound = "; no maxmemory is set yet, so it has not begun"
		}
		e.add(Error, "maxmemory-policy", which+"maxmemory-policy is "+policy+": when memory is short Redis throws away leases, queues and messages"+bound,
			"CONFIG SET maxmemory-policy noeviction, and in redis.conf; keep caches on a server of their own")
	default:
		e.ok("maxmemory-policy", "%snothing is thrown away when memory is short", which)
	}
	if n := info["evicted_keys"]; n != "" && n != "0" {
		e.add(Warning, "evicted", which+n+" keys were thrown away since the server started", "raise maxmemory, or keep caches on a server of their own")
	}
	used, _ := strconv.ParseFloat(info["used_memory"], 64)
	most, _ := strconv.ParseFloat(info["maxmemory"], 64)
	if most > 0 && used > 0.9*most {
		e.add(Warning, "memory", fmt.Sprintf("%s%.0f %% of maxmemory is used; at 100 %% every write fails", which, 100*used/most), "raise maxmemory, or shorten retentions")
	}
}

// redisDisk looks whether a restart loses anything.
func (e *examination) redisDisk(which string, info map[string]string) {
	switch {
	case info["aof_enabled"] == "1" && info["aof_last_write_status"] == "err":
		e.add(Error, "appendonly", which+"the append-only file cannot be written", "free space on its disk; Redis takes no writes until then")
	case info["aof_enabled"] == "1":
		e.ok("appendonly", "%swhat was written survives a restart; the last second may not survive a crash of the machine, unless appendfsync is always", which)
	case e.forTransport():
		e.add(Error, "appendonly", which+"appendonly is off: a restart loses messages that were published", "CONFIG SET appendonly yes, and in redis.conf")
	default:
		e.add(Warning, "appendonly", which+"appendonly is off: a restart loses waiting rooms, leases and idempotency keys", "CONFIG SET appendonly yes, and in redis.conf")
	}
	if info["rdb_last_bgsave_status"] == "err" {
		e.add(Warning, "save", which+"the last snapshot failed", "free space on its disk, or memory to fork; with stop-writes-on-bgsave-error Redis takes no writes")
	}
}

// fieldsOf reads name:value lines.
func fieldsOf(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}
