// Package rediskit makes the client of a transport on Redis from a redis:// URL: of one server,
// of a master behind Sentinels, or of a Redis Cluster. It is for authors of drivers; package kit
// documents the rules of compatibility.
//
//	client, err := rediskit.Client(u, rediskit.Config{})
//	defer client.Close()
//
//	property                                                  proven by
//	errors name the mistake in a URL, and no secret           TestURLErrors
//	URLs select one server, a Cluster, Sentinels, TLS         TestURLs
//	errors have a class                                       TestClassify
package rediskit

import (
	"net/url"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// Config of a client: the Timeout of a call, the PoolSize, and the TLS of rediss:// URLs. The
// zero value works.
type Config = redisdb.Config

// Client makes a client of a URL, which may have parameters other than [Parameters]. Client does
// not connect. A call of the client fails in time and is never repeated automatically.
func Client(u *url.URL, cfg Config) (redis.UniversalClient, error) { return redisdb.Client(u, cfg) }

// Parameters lists the parameters of a URL that [Client] reads.
func Parameters() []string { return redisdb.Parameters() }

// Classify implements fault.Classifier for the errors of go-redis.
func Classify(err error) fault.Class { return redisdb.Classify(err) }
