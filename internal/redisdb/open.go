package redisdb

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/millrace-go/millrace/internal/rawurl"
	"github.com/millrace-go/millrace/internal/tlshint"
)

// Config of a client. The zero value works.
type Config struct {
	// Timeout bounds the wait for an answer, and for a connection; 5 s by default. With a
	// shorter one a slow server counts as dead. Behind Sentinels a connection may take three
	// times as long: after a silent Sentinel the client asks another.
	Timeout time.Duration
	// PoolSize is the most connections kept per node; 10 for each processor by default. Beyond
	// it calls wait for a connection.
	PoolSize int
	// TLS is used for rediss:// URLs; the system's roots by default.
	TLS *tls.Config
}

func (c Config) validate() error {
	switch {
	case c.Timeout < 0:
		return errors.New("redisdb: Config.Timeout is negative; give a positive duration, or 0 for 5 s")
	case c.PoolSize < 0:
		return errors.New("redisdb: Config.PoolSize is negative; give at least 1, or 0 for the default")
	}
	return nil
}

// Open makes a client of a URL, which may only have the parameters in [Parameters]. It does not
// connect. Close the client when done.
func Open(rawURL string, cfg Config) (redis.UniversalClient, error) {
	u, err := rawurl.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("redisdb: %w", err)
	}
	known := Parameters()
	for name := range u.Query() {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("redisdb: unknown parameter %q; known are: %s", name, strings.Join(known, ", "))
		}
	}
	return Client(u, cfg)
}

// Client is Open for a URL that may have other parameters too. Several hosts are nodes of a
// Cluster, or Sentinels if there is a parameter master.
func Client(u *url.URL, cfg Config) (redis.UniversalClient, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p, err := read(u)
	if err != nil {
		return nil, err
	}
	addrs, err := Addresses(u)
	if err != nil {
		return nil, err
	}
	db, err := database(u)
	if err != nil {
		return nil, err
	}
	cluster := p.cluster || len(addrs) > 1 && p.master == ""
	if cluster && db != 0 {
		return nil, fmt.Errorf("redisdb: the URL names database %d; a Redis Cluster has database 0 only", db)
	}
	opts := &redis.UniversalOptions{
		Addrs:         addrs,
		DB:            db,
		IsClusterMode: cluster,
		PoolSize:      cfg.PoolSize,

		MasterName:       p.master,
		SentinelUsername: p.sentinelUser,
		SentinelPassword: p.sentinelPassword,

		ContextTimeoutEnabled: true,
		// Whether a lost call was carried out is unknown, so its caller decides whether to
		// repeat it.
		MaxRetries:      -1,
		DialerRetries:   1,
		ReadTimeout:     cmp.Or(cfg.Timeout, 5*time.Second),
		WriteTimeout:    cmp.Or(cfg.Timeout, 5*time.Second),
		DialTimeout:     cmp.Or(cfg.Timeout, 5*time.Second),
		DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
	if u.User != nil {
		opts.Username = u.User.Username()
		opts.Password, _ = u.User.Password()
	}
	if u.Scheme == "rediss" {
		opts.TLSConfig = cfg.TLS
		if opts.TLSConfig == nil {
			opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		opts.Dialer = dialer(opts.DialTimeout, opts.TLSConfig)
	}
	switch {
	case p.master != "":
		return behindSentinels(opts), nil
	case cluster:
		nodes := opts.Cluster()
		// How long calls may continue to fail after another node has taken over from a dead
		// master; 60 s by default. Each check is one call.
		nodes.ClusterStateReloadInterval = 3 * time.Second
		return redis.NewClusterClient(nodes), nil
	}
	return redis.NewClient(opts.Simple()), nil
}

// dialer connects, with TLS if it has a configuration. If a server is not trusted, the error
// names the setting to correct.
func dialer(timeout time.Duration, cfg *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	dial := redis.NewDialer(&redis.Options{DialTimeout: timeout, TLSConfig: cfg})
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return conn, tlshint.Untrusted(err, address, "SSL_CERT_FILE, or by Config.TLS")
	}
}

// Addresses returns host:port of every host in the URL. The default port is that of Redis, or of
// a Sentinel if the URL has master=.
func Addresses(u *url.URL) ([]string, error) {
	port := "6379"
	if u.Query().Has(masterParam) {
		port = "26379"
	}
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return nil, errors.New("redisdb: the URL's scheme is neither redis nor rediss")
	case u.Fragment != "":
		return nil, errors.New("redisdb: a Redis URL has no fragment; write # in a password as %23")
	}
	out, err := rawurl.Hosts(u, port)
	if err != nil {
		return nil, fmt.Errorf("redisdb: %w", err)
	}
	return out, nil
}

// database returns the number in the URL's path.
func database(u *url.URL) (int, error) {
	path := strings.Trim(u.Path, "/")
	if path == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(path)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("redisdb: %.20q is no number of a database; write redis://host:6379/0", path)
	}
	return n, nil
}
