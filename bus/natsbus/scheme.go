package natsbus

import (
	"cmp"
	"context"
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

// Scheme returns nats:// and tls://, the latter over TLS.
//
//	nats://user:password@h1:4222,h2:4222
//	nats://token@host
//	tls://host?ca=ca.pem&creds=app.creds
//
// The parameters are in the documentation of the package.
func Scheme(cfg Config) bus.Scheme { return scheme{cfg} }

type scheme struct{ cfg Config }

func (scheme) Names() []string { return []string{"nats", "tls"} }

func (s scheme) Open(_ context.Context, u *url.URL) (busdriver.Driver, error) {
	client, cfg, err := parse(u, s.cfg)
	if err != nil {
		return nil, err
	}
	_, d, err := open(client, cfg)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Connect connects for other uses, such as administration: to the servers of a nats:// or
// tls:// URL, signed in and encrypted as the URL and cfg.Options define. The caller closes
// the connection.
func Connect(rawURL string, cfg Config) (*nats.Conn, error) {
	u, err := kit.ParseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("natsbus: %w", err)
	}
	client, _, err := parse(u, cfg)
	if err != nil {
		return nil, fmt.Errorf("natsbus: %w", kit.HideURL(err, rawURL))
	}
	conn, err := client.Connect()
	if err != nil {
		return nil, fmt.Errorf("natsbus: %w", fault.MarkInfrastructure(err))
	}
	return conn, nil
}

const (
	maxPrefix   = 64
	maxReplicas = 5 // the limit of JetStream
)

// parse returns the client of a URL, and the configuration with the URL's parameters. It checks
// all that can be checked without a server.
func parse(u *url.URL, cfg Config) (nats.Options, Config, error) {
	client := nats.GetDefaultOptions()
	p := busdriver.NewParams(u)
	cfg.Prefix = cmp.Or(p.String("prefix", cfg.Prefix), "millrace")
	cfg.Partitions = p.Int("partitions", cfg.Partitions, 1)
	cfg.Replicas = p.Int("replicas", cfg.Replicas, 1)
	cfg.Retention = p.Duration("retention", cfg.Retention)
	secure, ca, cert, key := p.Bool("tls", u.Scheme == "tls"), p.String("ca", ""), p.String("cert", ""), p.String("key", "")
	secret, creds := p.String("token", ""), p.String("creds", "")
	name := u.User.Username()
	password, both := u.User.Password()
	err := p.Err()
	switch {
	case err != nil:
	case len(cfg.Prefix) > maxPrefix || token(cfg.Prefix) != cfg.Prefix:
		err = fmt.Errorf("the prefix is %.80q; give at most %d letters, digits, - and _", cfg.Prefix, maxPrefix)
	case cfg.Replicas < 0 || cfg.Replicas > maxReplicas:
		err = fmt.Errorf("replicas is %d; give 1, 3 or 5", cfg.Replicas)
	case u.Path != "" && u.Path != "/":
		err = fmt.Errorf("the URL has the path %.80q; NATS has none, topics are named in the program", u.Path)
	case (cert == "") != (key == ""):
		err = errors.New("parameters \"cert\" and \"key\" belong together; give the file of each")
	case secret != "" && name != "", creds != "" && name+secret != "":
		err = errors.New("the URL signs in more than once; give a user, or \"token\", or \"creds\"")
	case creds != "":
		if _, missing := os.Stat(creds); missing != nil { // the client reads it whenever it connects
			err = fmt.Errorf("parameter \"creds\": %w", missing)
		}
	}
	if err == nil {
		client.Servers, err = servers(u)
	}
	for _, o := range cfg.Options {
		if err == nil && o != nil {
			err = o(&client)
		}
	}
	for _, o := range []struct {
		name   string
		given  bool
		option nats.Option
	}{
		{`parameter "tls"`, secure, nats.Secure()},
		{`parameter "ca"`, ca != "", nats.RootCAs(ca)},
		{`parameters "cert" and "key"`, cert != "", nats.ClientCert(cert, key)},
		{`parameter "creds"`, creds != "", nats.UserCredentials(creds)},
		{"the user", both, nats.UserInfo(name, password)},
		{"the token", !both && name+secret != "", nats.Token(name + secret)}, // a user alone is a token, as in NATS's own URLs
	} {
		if err == nil && o.given {
			if err = o.option(&client); err != nil {
				err = fmt.Errorf("%s: %w", o.name, err)
			}
		}
	}
	return client, cfg, err
}

// servers lists the servers, in the client's form.
func servers(u *url.URL) (all []string, err error) {
	for host := range strings.SplitSeq(u.Host, ",") {
		address, ok := kit.Address(host, "4222")
		if !ok {
			return nil, errors.New("the URL names no host, or an empty one; write nats://host:4222 or nats://h1:4222,h2:4222")
		}
		all = append(all, "nats://"+address)
	}
	return all, nil
}
