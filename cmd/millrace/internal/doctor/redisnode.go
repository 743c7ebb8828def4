package doctor

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
)

// redisNode asks one server about itself; where is its address.
func (e *examination) redisNode(ctx context.Context, which, where string, node *redis.Client) bool {
	asking, cancel := e.within(ctx)
	defer cancel()
	began := time.Now()
	text, err := node.Info(asking).Result()
	took := time.Since(began)
	if err != nil {
		e.redisRefused(where, err)
		return false
	}
	info := fieldsOf(text)
	// Many services refuse requests for settings; then the setting is unknown.
	if set, err := node.ConfigGet(asking, "appendfsync").Result(); err == nil {
		info["appendfsync"] = set["appendfsync"]
	}
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
	e.redisReplicas(which, info)
	if e.redisScripts(asking, which, node) {
		said, err := node.Eval(asking, "return redis.call('INFO', 'replication')", nil).Text()
		e.redisIdentity(which, said, err)
	}
	l := lap{asked: time.Now()}
	now, err := node.Time(asking).Result()
	l.answered = time.Now()
	if err != nil {
		e.redisRefused(where, err)
		return false
	}
	e.clock(which, now, l)
	return true
}

// redisMemory checks whether Redis evicts keys.
func (e *examination) redisMemory(which string, info map[string]string) {
	policy := info["maxmemory_policy"]
	switch {
	case policy != "noeviction":
		bound := ""
		if info["maxmemory"] == "0" {
			bound = "; no maxmemory is set yet, so it has not begun"
		}
		e.add(Error, "maxmemory-policy", which+"maxmemory-policy is "+policy+": when memory is short Redis throws away leases, waiting rooms, budgets and messages"+bound,
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

// redisDisk checks whether a restart loses data.
func (e *examination) redisDisk(which string, info map[string]string) {
	switch {
	case info["aof_enabled"] == "1" && info["aof_last_write_status"] == "err":
		e.add(Error, "appendonly", which+"the append-only file cannot be written", "free space on its disk; Redis takes no writes until then")
	case info["aof_enabled"] == "1":
		e.redisSync(which, info["appendfsync"])
	case e.forTransport():
		e.add(Error, "appendonly", which+"appendonly is off: a restart loses messages that were published", "CONFIG SET appendonly yes, and in redis.conf")
	default:
		e.add(Warning, "appendonly", which+"appendonly is off: a restart loses waiting rooms with their thresholds, leases and idempotency keys; a limiter goes on with an empty budget",
			"CONFIG SET appendonly yes, and in redis.conf")
	}
	if info["rdb_last_bgsave_status"] == "err" {
		e.add(Warning, "save", which+"the last snapshot failed", "free space on its disk, or memory to fork; with stop-writes-on-bgsave-error Redis takes no writes")
	}
}

// redisSync reports the data that a crash of the machine loses.
func (e *examination) redisSync(which, fsync string) {
	switch fsync {
	case "always":
		e.ok("appendonly", "%swhat was answered survives a restart, and a crash of the machine", which)
	case "no":
		e.add(Warning, "appendfsync", which+"appendfsync is no: a crash of the machine loses half a minute of waiting rooms, leases and messages",
			"CONFIG SET appendfsync everysec, or always where nothing may be lost, and in redis.conf")
	default: // everysec, or unknown
		e.ok("appendonly", "%swhat was written survives a restart; the last second may not survive a crash of the machine, unless appendfsync is always", which)
	}
}

// redisReplicas checks whether a master that was cut off keeps accepting writes: then two
// masters give out the same budget and the same places.
func (e *examination) redisReplicas(which string, info map[string]string) {
	n, _ := strconv.Atoi(info["connected_slaves"])
	// The server reports good replicas only if it requires some.
	if _, waits := info["min_slaves_good_slaves"]; info["role"] != "master" || n == 0 || waits {
		return
	}
	e.add(Warning, "replicas", which+"the server takes writes when its replicas are gone: while two masters answer, each gives a limiter's budget and a room's places out",
		"CONFIG SET min-replicas-to-write 1, and in redis.conf; it refuses writes when it is cut off")
}

// redisScripts checks whether this user may run scripts, which limiter, waiting room,
// leases and counters use. This script reads the clock.
func (e *examination) redisScripts(ctx context.Context, which string, node *redis.Client) bool {
	err := node.Eval(ctx, "return redis.call('TIME')", nil).Err()
	switch {
	case err == nil:
		return true
	case redisdb.Forbidden(err):
		e.add(Error, "scripts", which+"this user may not run scripts, and everything here is made of them: "+e.said(err), "ACL SETUSER … +eval +evalsha +time, and what the packages in use name in their errors")
	default:
		e.add(Error, "scripts", which+"the server does not run scripts: "+e.said(err), "is it a Redis, or a service that leaves scripts out?")
	}
	return false
}

// replicationID is the id of a master that has data of its own: a promotion changes it.
var replicationID = regexp.MustCompile(`(?m)^master_replid:[0-9a-f]{40}\b`)

// redisIdentity checks whether a script sees the id that a promotion changes, which tells a
// waiting room that its last orders may be lost.
func (e *examination) redisIdentity(which, said string, err error) {
	switch {
	case err == nil && replicationID.MatchString(said):
		e.ok("replication-id", "%sa waiting room sees a promotion: it gives no order of the lost writes again", which)
	case err != nil && redisdb.Forbidden(err):
		e.add(Error, "replication-id", which+"this user's scripts may not ask for INFO, which a waiting room does in each call: "+e.said(err), "ACL SETUSER … +info")
	default:
		e.add(Warning, "replication-id", which+"the server hides its replication id from scripts: after a promotion that loses writes, a waiting room may give an order of the lost second again, "+
			"until the process that gives it has looked at the line once; the first owner then goes to the end",
			"lose no writes: appendfsync always for a restart; a service that shows master_replid in INFO replication for a promotion")
	}
}
