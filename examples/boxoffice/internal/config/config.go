package config

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist/archive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/traces"
)

// The roles that a process can have.
const (
	RoleAPI      = "api"      // serves the site and the API
	RoleRelay    = "relay"    // publishes the outbox
	RoleWorker   = "worker"   // consumes events, carries out payments, ends holds
	RoleAdmitter = "admitter" // admits from the waiting room
)

// The ways to serve live streams; see package sse.
const (
	StreamsPortable = "portable"
	StreamsLean     = "lean"
)

func allRoles() []string { return []string{RoleAPI, RoleRelay, RoleWorker, RoleAdmitter} }

// Config is the box office's configuration.
type Config struct {
	Addr    string
	DataDir string
	DBURL   string
	BusURL  string
	Roles   []string
	// Embedded reports that the database is a file of this process alone.
	Embedded bool

	Secret       string
	EntrySecrets []string // the first signs
	TicketKeys   string   // of package ticket: the first signs
	AdminToken   string
	// AdminTokenMade reports that the admin token was generated, so it is printed.
	AdminTokenMade bool

	GatewayURL string // "" means the simulated gateway in this process
	Hold       time.Duration
	// PaymentLimit is how long a payment in flight keeps its seats beyond Hold.
	PaymentLimit time.Duration

	// RedisURL is [EmbeddedRedis], [NoRedis] or where Redis is.
	RedisURL    string
	RedisPrefix string // of every key
	UpstreamURL string // of the artists; "" means the simulated one in this process
	ArchiveURL  string // of artists that are not read; a folder in DataDir when not set
	Workers     int    // processes that share the upstream's limit

	// Leave is how long the process serves on once it was asked to end, with /readyz at 503, so that
	// load balancers stop sending requests before it closes its port.
	Leave time.Duration

	// LeanStreams serves live streams without a goroutine for each.
	LeanStreams bool

	// Queue has the settings of the waiting room.
	Queue Queue
	// Door has the limits of an address.
	Door Door
	// NoticeURL is the transport on which admissions are published; "" for none.
	NoticeURL string
	// GateURL is where the counters of the front gates are; "" for the room's store.
	GateURL string
	// EdgeSecrets are the secrets of a trusted edge; none trusts no edge.
	EdgeSecrets []string
	// TracesURL is the collector that spans are sent to; "" for none. See package
	// traces.
	TracesURL string
}

// Has reports whether this process has a role.
func (c Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

// setting is one environment variable and its flag.
type setting struct {
	env, flag, def, help string
	set                  func(text string) error
}

func (c *Config) settings() []setting {
	return append([]setting{
		{"BOXOFFICE_ADDR", "addr", "127.0.0.1:8080", "host:port to serve on", as(&c.Addr)},
		{"BOXOFFICE_DATA_DIR", "data-dir", ".boxoffice", "folder for the database, the secrets and the simulated gateway's ledger", as(&c.DataDir)},
		{"BOXOFFICE_DB_URL", "db-url", "", "database: sqlite://path, postgres://user:password@host/name or mysql://…; default: a SQLite file in the data folder, for one process", sound(&c.DBURL, store.CheckURL)},
		{"BOXOFFICE_BUS_URL", "bus-url", "", "transport; default: the database's own", as(&c.BusURL)},
		{"BOXOFFICE_REDIS_URL", "redis-url", EmbeddedRedis, "Redis: redis://host:6379/0, rediss://…, several hosts separated by commas (or ?cluster=true) for a Redis Cluster, or Sentinels with ?master=NAME (and sentinel_user=, sentinel_password= if they ask for a sign-in); embedded:// keeps its data, and the waiting room, in this process, which then has the roles api, worker and admitter; off: artists are not mirrored, and the waiting room is in the memory of the one process that has the roles api and admitter", as(&c.RedisURL)},
		{"BOXOFFICE_REDIS_PREFIX", "redis-prefix", "", "stands before every key in Redis, so that several box offices can share one", as(&c.RedisPrefix)},
		{"BOXOFFICE_ROLES", "roles", "all", "api, relay, worker, admitter, separated by commas, or all", c.setRoles},
		{"BOXOFFICE_SECRET", "secret", "", "signs sign-ins, at least 32 bytes; default: made and kept in the data folder (other users can see a flag; prefer the variable)", sound(&c.Secret, auth.CheckSecret)},
		{"BOXOFFICE_TICKET_KEYS", "ticket-keys", "", "signs the codes of tickets: Ed25519 seeds of 64 hexadecimal digits, separated by commas: the first signs, all verify; default: made and kept in the data folder", sound(&c.TicketKeys, checkTicketKeys)},
		{"BOXOFFICE_ADMIN_TOKEN", "admin-token", "", "opens /api/admin; default: made, kept in the data folder and printed", sound(&c.AdminToken, checkAdminToken)},
		{"BOXOFFICE_GATEWAY_URL", "gateway-url", "", "payment gateway; default: a simulated one in this process", sound(&c.GatewayURL, checkHTTP)},
		{"BOXOFFICE_UPSTREAM_URL", "upstream-url", "", "API of the artists; default: a simulated one in this process", sound(&c.UpstreamURL, checkHTTP)},
		{"BOXOFFICE_ARCHIVE_URL", "archive-url", "", "where snapshots of artists go that nobody has read for 30 days: a folder, or s3://bucket/prefix?region=R, with endpoint=URL for another server than Amazon's and timeout=10s; credentials by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or as the AWS tools find them, or in the URL as key:secret@bucket; default: a folder in the data folder, for one process", sound(&c.ArchiveURL, archive.Check)},
		{"BOXOFFICE_WORKERS", "workers", "1", "how many processes with the role worker share the artist API's limit, those that are about to end included", whole(&c.Workers, 1, MaxWorkers)},
		{"BOXOFFICE_HOLD_SECONDS", "hold-seconds", "300", "how long seats are held for payment", times(&c.Hold, time.Second, 1, 86_400)},
		{"BOXOFFICE_PAYMENT_SECONDS", "payment-seconds", "120", "how long after the end of a hold a payment that was accepted before it keeps the seats: as long as the payment gateway may take to decide", times(&c.PaymentLimit, time.Second, 1, 86_400)},
		{"BOXOFFICE_LEAVE_SECONDS", "leave-seconds", "0", "how long the process goes on serving once it was asked to end, while /readyz answers 503: longer than a load balancer takes to see that", times(&c.Leave, time.Second, 0, 600)},
		{"BOXOFFICE_NOTICE_URL", "notice-url", "", "transport, such as sqs://region, that tells others whom the waiting room admitted, on the topic queue.admitted; default: nobody is told", as(&c.NoticeURL)},
		{"BOXOFFICE_STREAMS", "streams", StreamsPortable, "how live streams are served: portable works over everything; lean takes connections of plain HTTP/1.1 over from the server and keeps no goroutine for each", c.setStreams},
		{"BOXOFFICE_TRACES_URL", "traces-url", "", "OpenTelemetry collector that spans are sent to by OTLP over HTTP: http://127.0.0.1:4318; ?ratio=0.1 keeps a tenth of the traces; headers by OTEL_EXPORTER_OTLP_HEADERS; default: no spans are made", sound(&c.TracesURL, traces.Check)},
	}, slices.Concat(c.queueSettings(), c.doorSettings(), c.edgeSettings())...)
}

// Parse reads the settings from args and the environment. schemes are the transports that the
// program knows; notices can use sqs:// too. It writes usage and flag errors to stderr;
// flag.ErrHelp means that help was asked for. Parse makes no file; [Config.Fill] does.
func Parse(args []string, getenv func(string) string, schemes []string, stderr io.Writer) (Config, error) {
	var c Config
	set := flag.NewFlagSet("boxoffice", flag.ContinueOnError)
	set.SetOutput(stderr)
	settings := c.settings()
	texts := make([]*string, len(settings))
	for i, s := range settings {
		texts[i] = set.String(s.flag, cmp.Or(getenv(s.env), s.def), s.help)
	}
	set.Usage = func() { usage(stderr, settings) }
	if err := set.Parse(args); err != nil {
		return Config{}, err
	}
	if set.NArg() > 0 {
		return Config{}, fmt.Errorf("unexpected argument %q; settings are flags, see --help", set.Arg(0))
	}
	mistakes := mistakes{settings: settings}
	for i, s := range settings {
		if err := s.set(*texts[i]); err != nil {
			mistakes.add(s.env, "%v", err)
		}
	}
	c.check(schemes, mistakes.add)
	return c, errors.Join(mistakes.errs...)
}

// mistakes are those in all settings.
type mistakes struct {
	settings []setting
	errs     []error
}

// add adds a mistake in the setting of an environment variable.
func (m *mistakes) add(env, format string, args ...any) {
	i := slices.IndexFunc(m.settings, func(s setting) bool { return s.env == env })
	m.errs = append(m.errs, fmt.Errorf("%s (--%s): %w", env, m.settings[i].flag, fmt.Errorf(format, args...)))
}

func usage(w io.Writer, settings []setting) {
	text := "Usage: boxoffice [serve] [flags]\n\nEach flag can be set by the environment variable beside it.\n\n"
	for _, s := range settings {
		text += fmt.Sprintf("  --%-32s %s\n      %s", s.flag, s.env, s.help)
		if s.def != "" {
			text += " (default " + s.def + ")"
		}
		text += "\n"
	}
	_, _ = io.WriteString(w, text) // stderr may be closed
}

// check completes the settings that follow from others, and tells bad all mistakes that no
// setting shows by itself.
func (c *Config) check(schemes []string, bad func(env, format string, args ...any)) {
	if _, port, err := net.SplitHostPort(c.Addr); err != nil || !isPort(port) {
		bad("BOXOFFICE_ADDR", "%q is not host:port; write for example 127.0.0.1:8080", c.Addr)
	}
	if c.DataDir == "" {
		bad("BOXOFFICE_DATA_DIR", "it is empty; name a folder")
	} else if abs, err := filepath.Abs(c.DataDir); err != nil {
		bad("BOXOFFICE_DATA_DIR", "%v", err)
	} else {
		c.DataDir = abs
	}
	if c.DBURL == "" {
		c.Embedded = true
		c.DBURL = "sqlite://" + (&url.URL{Path: filepath.Join(c.DataDir, "boxoffice.db")}).EscapedPath()
	}
	if c.BusURL == "" {
		c.BusURL = c.DBURL
	} else if err := checkBus(c.BusURL, schemes); err != nil {
		bad("BOXOFFICE_BUS_URL", "%v", err)
	}
	if n := len(c.Roles); n > 0 && n < len(allRoles()) {
		why := "this process has only the roles " + strings.Join(c.Roles, ", ") + ", so others must do the rest"
		if c.Embedded {
			bad("BOXOFFICE_DB_URL", "%s, but the default database belongs to one process; give all of them the same sqlite://path, or set BOXOFFICE_ROLES=all", why)
		}
		if strings.HasPrefix(c.BusURL, "mem://") {
			bad("BOXOFFICE_BUS_URL", "%s, but mem:// stays inside a process; use a transport that they share, or set BOXOFFICE_ROLES=all", why)
		}
	}
	if c.NoticeURL != "" {
		if err := checkNotices(c.NoticeURL, schemes); err != nil {
			bad("BOXOFFICE_NOTICE_URL", "%v", err)
		}
	}
	if c.ArchiveURL == "" {
		c.ArchiveURL = filepath.Join(c.DataDir, "artists")
	}
	c.checkRedis(bad)
	c.checkEdge(bad)
}

// as takes a text as it is written.
func as(into *string) func(string) error {
	return func(text string) error {
		*into = text
		return nil
	}
}

// sound takes a text that may be left out, and checks it otherwise.
func sound(into *string, check func(string) error) func(string) error {
	return func(text string) error {
		if *into = text; text == "" {
			return nil
		}
		return check(text)
	}
}

// whole reads a whole number.
func whole(into *int, low, high int) func(string) error {
	return func(text string) (err error) {
		if *into, err = strconv.Atoi(text); err != nil || *into < low || *into > high {
			return fmt.Errorf("%q is not a whole number from %d to %d", text, low, high)
		}
		return nil
	}
}

// times reads a whole number of units.
func times(into *time.Duration, unit time.Duration, low, high int) func(string) error {
	return func(text string) error {
		var n int
		err := whole(&n, low, high)(text)
		*into = time.Duration(n) * unit
		return err
	}
}

// secrets reads several, separated by commas; none when the text is empty.
func secrets(into *[]string) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		*into = strings.Split(text, ",")
		var errs []error
		for _, s := range *into {
			errs = append(errs, auth.CheckSecret(s))
		}
		return errors.Join(errs...)
	}
}

func (c *Config) setStreams(text string) error {
	if c.LeanStreams = text == StreamsLean; !c.LeanStreams && text != StreamsPortable {
		return fmt.Errorf("unknown way %q; known are: %s, %s", text, StreamsPortable, StreamsLean)
	}
	return nil
}

func (c *Config) setRoles(text string) error {
	for role := range strings.SplitSeq(text, ",") {
		switch role = strings.TrimSpace(role); {
		case role == "all":
			c.Roles = append(c.Roles, allRoles()...)
		case slices.Contains(allRoles(), role):
			c.Roles = append(c.Roles, role)
		default:
			c.Roles = nil
			return fmt.Errorf("unknown role %q; known are: %s, all", role, strings.Join(allRoles(), ", "))
		}
	}
	slices.Sort(c.Roles)
	c.Roles = slices.Compact(c.Roles)
	return nil
}

func checkBus(raw string, known []string) error {
	scheme, _, ok := strings.Cut(raw, "://")
	if !ok {
		return fmt.Errorf("the URL has no scheme; write for example %s://…", known[0])
	}
	if !slices.Contains(known, strings.ToLower(scheme)) {
		return fmt.Errorf("unknown scheme %q; known are: %s", scheme, strings.Join(known, ", "))
	}
	return nil
}

func checkHTTP(raw string) error {
	if u, err := kit.ParseURL(raw); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return errors.New("it is not an http:// or https:// URL; write for example http://127.0.0.1:9090")
	}
	return nil
}

func checkTicketKeys(text string) error {
	_, err := ticket.ParseKeys(text)
	return err
}

func checkAdminToken(token string) error {
	if len(token) < 16 {
		return fmt.Errorf("the token is %d characters long; use at least 16", len(token))
	}
	return nil
}

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && n <= 65_535
}
