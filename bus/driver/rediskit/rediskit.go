// Package rediskit makes the client of a transport on Redis from a redis:// URL: of one
// server, of a master behind Sentinels, or of a Redis Cluster. It is for authors of
// drivers; package kit says how far it is compatible.
//
//	client, err := rediskit.Client(u, rediskit.Config{})
//	defer client.Close()
//
//	property                                                  proven by
//	what is wrong with a URL is said, no secret is            TestURLErrors
//	one server, a Cluster, Sentinels and TLS are told apart   TestURLs
//	errors have a class                                       TestClassify
package rediskit

import (
	"net/url"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/internal/redisdb"
)

// Config of a client: the Timeout of a call, the PoolSize, and the TLS of rediss:// URLs.
// The zero value works.
type Config = redisdb.Config

// Client makes a client of a URL, which may have parameters other than [Parameters]. It
// connects to nothing; a call fails in time and is never repeated by itself.
func Client(u *url.URL, cfg Config) (redis.UniversalClient, error) { return redisdb.Client(u, cfg) }

// Parameters lists the parameters of a URL that [Client] reads.
func Parameters() []string { return redisdb.Parameters() }

// Classify implements fault.Classifier for the errors of go-redis.
func Classify(err error) fault.Class { return redisdb.Classify(err) }
