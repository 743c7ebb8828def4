// Package redisclient makes the go-redis client for the packages with state in Redis:
// redisratelimit, rediscoalesce, redisqueue, redisgate, redissse and rediscounter refuse a
// client with go-redis' defaults.
//
//	client, err := redisclient.Open("", redisclient.Config{}) // at $MILLRACE_REDIS_URL
//	defer client.Close()
//	store, err := redisratelimit.New(client, redisratelimit.Config{})
//
// The URLs are
//
//	redis://user:password@host:6379/0
//	rediss://host:6380/0                       the same over TLS
//	redis://h1:7001,h2:7002,h3:7003/           a Cluster, by several of its nodes
//	redis://h1:7001/?cluster=true              a Cluster, by one of its nodes
//	redis://user:password@s1:26379,s2:26379/0?master=NAME
//	                                           the master that Sentinels name
//	… &sentinel_user=u&sentinel_password=p     the same, if the Sentinels need a password
//
//	property                                                proven by
//	each package accepts the client                         TestEveryPackageTakesIt
//	the URL may come from the environment; if it is missing
//	or invalid, the error says which one to give            TestOpen
//	a call ends with its context, and is sent once          redisdb.TestDeadline, redisdb.TestCheckClient
//
// Failure modes: a call without an answer within Config.Timeout fails, and it is unknown
// whether the server has executed it. You can use your own client instead: set
// ContextTimeoutEnabled, MaxRetries -1 and DialerRetries 1.
package redisclient

import (
	"cmp"
	"fmt"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/internal/redisdb"
)

// envRedis is the environment variable that names the server when Open is given no URL.
const envRedis = "MILLRACE_REDIS_URL"

// Config configures a client: the Timeout of a call, the PoolSize, and the TLS of rediss://
// URLs. The zero value works.
type Config = redisdb.Config

// Open returns a client for a URL, or for $MILLRACE_REDIS_URL when the URL is empty. It
// connects to no server. Close the client when done.
func Open(url string, cfg Config) (redis.UniversalClient, error) {
	if url = cmp.Or(url, os.Getenv(envRedis)); url == "" {
		return nil, fmt.Errorf("redisclient: no URL was given to Open, and $%s is empty; give one such as redis://127.0.0.1:6379/0", envRedis)
	}
	return redisdb.Open(url, cfg)
}
