package redisbus

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/rediskit"
)

// Config is the configuration of the scheme. The zero value works.
type Config struct {
	// Client is the application's own client, used instead of the URL's servers; if nil,
	// one is opened. Set ContextTimeoutEnabled and MaxRetries -1 in it, so that Publish is
	// not sent twice. It is not closed.
	Client redis.UniversalClient
	// TLS is used for rediss:// URLs; the system's roots by default.
	TLS *tls.Config
	// Prefix of all names in Redis; none by default. The URL's ?prefix=P wins. Programs
	// with different prefixes share a server and nothing else.
	Prefix string
	// Partitions of a topic that was not declared; 3 by default. The URL's ?partitions=N
	// wins. With more partitions more instances can share a group; one is a plain stream of
	// the topic's name, as Watermill's own subscriber reads it.
	Partitions int
	// Retention of messages that every group has acknowledged; 72 h by default. The URL's
	// ?retention=D wins. A longer one costs Redis's memory.
	Retention time.Duration
	// MaxLen bounds the messages of a partition; no bound by default. The URL's ?maxlen=N
	// wins. At the bound, acknowledged messages are removed before their retention is over,
	// and Publish fails when that is not enough.
	MaxLen int
	// Wait is how many replicas have to confirm before Publish returns; 0 by default. The
	// URL's ?wait=N wins. It costs a round trip to them.
	Wait int
	// LeaseTTL is how long a killed process keeps its partitions; 10 s by default. Every
	// process renews its leases each third of it.
	LeaseTTL time.Duration
	// PollInterval is how often an idle partition is polled without a wake-up; 1 s by
	// default. Messages of foreign writers arrive at most that late.
	PollInterval time.Duration
	// Logger logs problems in the background; slog.Default() by default.
	Logger *slog.Logger
}

// Scheme returns redis:// and rediss://, the latter over TLS.
//
//	redis://user:password@host:6379/0
//	redis://h1:7001,h2:7002,h3:7003/
//	redis://user:password@s1:26379,s2:26379,s3:26379/0?master=NAME
//
// Parameters: cluster (true for a Redis Cluster named by one host; several hosts always are
// a Cluster), master (the Sentinels' name for their master; the hosts then are Sentinels),
// sentinel_user and sentinel_password (none), prefix (none), partitions (3), retention
// (72h), maxlen (none), wait (0); mode=watermill needs the scheme of package rediswatermill.
func Scheme(cfg Config) bus.Scheme { return scheme{cfg} }

type scheme struct{ cfg Config }

func (scheme) Names() []string { return []string{"redis", "rediss"} }

func (s scheme) Open(_ context.Context, u *url.URL) (busdriver.Driver, error) {
	cfg := s.cfg
	params := busdriver.NewParams(u)
	for _, name := range rediskit.Parameters() {
		params.String(name, "") // known here, and read when the client is made
	}
	cfg.Prefix = params.String("prefix", cfg.Prefix)
	cfg.Partitions = params.Int("partitions", cfg.Partitions, 1)
	cfg.Retention = params.Duration("retention", cfg.Retention)
	cfg.MaxLen = params.Int("maxlen", cfg.MaxLen, 1)
	cfg.Wait = params.Int("wait", cfg.Wait, 1)
	mode := params.String("mode", "")
	if err := params.Err(); err != nil {
		return nil, err
	}
	switch {
	case mode != "":
		return nil, errors.New("parameter \"mode\" needs the scheme of package bus/redisbus/rediswatermill; import it for mode=watermill, or leave the parameter out")
	case strings.ContainsAny(cfg.Prefix, "{}"):
		return nil, errors.New("the prefix has a brace, which Redis Cluster reads as a hash tag; use another")
	case cfg.MaxLen < 0:
		return nil, errors.New("Config.MaxLen is negative; give a positive number, or 0 for no bound")
	case cfg.Wait < 0:
		return nil, errors.New("Config.Wait is negative; give a number of replicas, or 0 not to wait")
	}
	return open(u, cfg)
}
