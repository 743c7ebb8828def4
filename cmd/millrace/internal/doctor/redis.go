package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
)

func (e *examination) redis(ctx context.Context, u *url.URL) {
	client, err := redisdb.Client(u, redisdb.Config{Timeout: e.Timeout, PoolSize: 2})
	if err != nil {
		e.unusable(err, "write redis://user:password@host:6379/0, or redis://h1:7001,h2:7002,h3:7003/ for a cluster, or redis://s1:26379,s2:26379/0?master=NAME for a master behind Sentinels")
		return
	}
	defer client.Close() //nolint:errcheck // everything it had to say was said
	addresses, err := redisdb.Addresses(u)
	if err != nil {
		return // as the client would have reported
	}
	where := strings.Join(addresses, ", ")
	if name := u.Query().Get("master"); name != "" {
		where = "the master " + name
	}
	if !e.reach(ctx, addresses) {
		return
	}
	asking, cancel := e.within(ctx)
	err = client.Ping(asking).Err()
	cancel()
	if err != nil {
		e.redisRefused(where, err)
		return
	}
	switch client := client.(type) {
	case *redis.Client:
		if !e.redisNode(ctx, "", where, client) {
			return
		}
	case *redis.ClusterClient:
		e.redisCluster(ctx, client)
	}
	if u.Scheme == "redis" {
		_, password := u.User.Password()
		e.exposed(hostOf(addresses[0]), password || u.Query().Has("sentinel_password"), "turn TLS on in Redis, and use rediss://")
	}
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
	case errors.Is(err, redisdb.ErrNoMaster):
		e.add(Error, "sentinels", e.said(err), "redis-cli -p 26379 SENTINEL MASTERS says what a Sentinel watches")
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

// redisCluster checks the cluster as a whole and each of its masters.
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
		e.redisNode(ctx, master.Options().Addr+": ", master.Options().Addr, master)
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
