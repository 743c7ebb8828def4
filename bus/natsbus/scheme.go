package natsbus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/millrace-go/millrace/bus"
	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/fault"
)

// Config is the configuration of the scheme. The zero value works.
type Config struct {
	// Options are further options of the client, such as nats.Secure for TLS settings of
	// your own or nats.Nkey. They are applied before those of the URL.
	Options []nats.Option
	// Prefix of all names in NATS; "millrace" by default. The URL's ?prefix=P wins.
	// Programs with different prefixes share a server and nothing else.
	Prefix string
	// Partitions of a topic that was not declared; 3 by default. The URL's ?partitions=N
	// wins. More partitions let more instances share a group.
	Partitions int
	// Replicas of each stream in a cluster, 1 to 5; 1 by default. The URL's ?replicas=N
	// wins. It is used when a topic is created, and costs a round trip between servers.
	Replicas int
	// Retention of messages that every group has acknowledged; 72 h by default. The URL's
	// ?retention=D wins. A longer one costs disk space.
	Retention time.Duration
	// LeaseTTL is how long a killed process keeps its partitions; 10 s by default. Every
	// process renews its leases each third of it.
	LeaseTTL time.Duration
	// PollInterval is how often an idle partition is polled without a wake-up; 1 s by
	// default. Messages of foreign writers arrive at most that late.
	PollInterval time.Duration
	// Holder names this process over restarts; a random name by default. With a name, a
	// killed process gets its partitions back at once. Two live processes must not have one name.
	Holder string
	// Logger logs problems in the background; slog.Default() by default.
	Logger *slog.Logger
}

// Schemes returns nats:// and tls://, the latter over TLS.
//
//	nats://user:password@h1:4222,h2:4222
//	nats://token@host
//	tls://host?ca=ca.pem&creds=app.creds
//
// Parameters: prefix (millrace), partitions (3), replicas (1), retention (72h), token
// (none), creds (none: a file of credentials), tls (false), ca, cert and key (none: files
// in PEM; each of them turns TLS on).
func Schemes(cfg Config) []bus.Scheme {
	return []bus.Scheme{scheme{"nats", cfg}, scheme{"tls", cfg}}
}

type scheme struct {
	name string
	cfg  Config
}

func (s scheme) Name() string { return s.name }

func (s scheme) Open(_ context.Context, u *url.URL) (bus.Driver, error) {
	servers, cfg, err := parse(u, s.cfg)
	if err != nil {
		return nil, err
	}
	return open(servers, cfg)
}

// Connect connects for other uses, such as administration: to the servers of a nats:// or
// tls:// URL, signed in and encrypted as the URL and cfg.Options define. The caller closes
// the connection.
func Connect(rawURL string, cfg Config) (*nats.Conn, error) {
	u, err := kit.ParseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("natsbus: %w", err)
	}
	servers, cfg, err := parse(u, cfg)
	if err != nil {
		return nil, fmt.Errorf("natsbus: %w", kit.HideURL(err, rawURL))
	}
	conn, err := nats.Connect(servers, cfg.Options...)
	if err != nil {
		return nil, fmt.Errorf("natsbus: %w", fault.MarkInfrastructure(err))
	}
	return conn, nil
}

// parse returns the servers of a URL, and the configuration with the URL's parameters.
func parse(u *url.URL, cfg Config) (string, Config, error) {
	params := busdriver.NewParams(u)
	cfg.Prefix = params.String("prefix", cfg.Prefix)
	cfg.Partitions = params.Int("partitions", cfg.Partitions, 1)
	cfg.Replicas = params.Int("replicas", cfg.Replicas, 1)
	cfg.Retention = params.Duration("retention", cfg.Retention)
	sign := signIn{
		tls: params.Bool("tls", u.Scheme == "tls"), ca: params.String("ca", ""), cert: params.String("cert", ""), key: params.String("key", ""),
		token: params.String("token", ""), creds: params.String("creds", ""),
	}
	if err := params.Err(); err != nil {
		return "", cfg, err
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "millrace"
	}
	switch {
	case len(cfg.Prefix) > maxPrefix || token(cfg.Prefix) != cfg.Prefix:
		return "", cfg, fmt.Errorf("the prefix is %.80q; give at most %d letters, digits, - and _", cfg.Prefix, maxPrefix)
	case cfg.Replicas < 0 || cfg.Replicas > maxReplicas:
		return "", cfg, fmt.Errorf("replicas is %d; give 1, 3 or 5", cfg.Replicas)
	case u.Path != "" && u.Path != "/":
		return "", cfg, fmt.Errorf("the URL has the path %.80q; NATS has none, topics are named in the program", u.Path)
	}
	servers, err := servers(u)
	if err != nil {
		return "", cfg, err
	}
	options, err := sign.options(u)
	if err != nil {
		return "", cfg, err
	}
	cfg.Options = append(cfg.Options[:len(cfg.Options):len(cfg.Options)], options...)
	return servers, cfg, nil
}

const (
	maxPrefix   = 64
	maxReplicas = 5 // the limit of JetStream
)

// servers lists host:port of each server, in the client's form.
func servers(u *url.URL) (string, error) {
	hosts := strings.Split(u.Host, ",")
	for i, host := range hosts {
		one := url.URL{Host: host}
		if one.Hostname() == "" {
			return "", errors.New("the URL names no host, or an empty one; write nats://host:4222 or nats://h1:4222,h2:4222")
		}
		if one.Port() == "" {
			host += ":4222"
		}
		hosts[i] = "nats://" + host
	}
	return strings.Join(hosts, ","), nil
}

// signIn holds the credentials of the URL, and the authorities to trust.
type signIn struct {
	tls           bool
	ca, cert, key string
	token, creds  string
}

// options checks the settings that can be checked without a server.
func (s signIn) options(u *url.URL) (options []nats.Option, err error) {
	if (s.cert == "") != (s.key == "") {
		return nil, errors.New("parameters \"cert\" and \"key\" belong together; give the file of each")
	}
	for name, file := range map[string]string{"ca": s.ca, "cert": s.cert, "key": s.key, "creds": s.creds} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
	}
	if s.cert != "" {
		if _, err := tls.LoadX509KeyPair(s.cert, s.key); err != nil {
			return nil, fmt.Errorf("parameters \"cert\" and \"key\": %w", err)
		}
	}
	if s.tls {
		options = append(options, nats.Secure())
	}
	if s.ca != "" {
		options = append(options, nats.RootCAs(s.ca))
	}
	if s.cert != "" {
		options = append(options, nats.ClientCert(s.cert, s.key))
	}
	password, both := u.User.Password()
	name := u.User.Username()
	switch {
	case s.token != "" && name != "", s.creds != "" && name != "", s.creds != "" && s.token != "":
		return nil, errors.New("the URL signs in more than once; give a user, or \"token\", or \"creds\"")
	case both:
		options = append(options, nats.UserInfo(name, password))
	case name != "" || s.token != "": // a user alone is a token, as in NATS's own URLs
		options = append(options, nats.Token(name+s.token))
	case s.creds != "":
		options = append(options, nats.UserCredentials(s.creds))
	}
	return options, nil
}
