package config

import (
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
	value                *string
}

type raw struct {
	addr, dataDir, dbURL, busURL, redisURL, roles, secret, adminToken, gatewayURL, hold, payment    string
	redisPrefix, upstreamURL, archiveURL, workers, noticeURL, streams, tracesURL, leave, ticketKeys string
	queue                                                                                           rawQueue
	door                                                                                            rawDoor
	edge                                                                                            rawEdge
}

func (r *raw) settings() []setting {
	return append([]setting{
		{"BOXOFFICE_ADDR", "addr", "127.0.0.1:8080", "host:port to serve on", &r.addr},
		{"BOXOFFICE_DATA_DIR", "data-dir", ".boxoffice", "folder for the database, the secrets and the simulated gateway's ledger", &r.dataDir},
		{"BOXOFFICE_DB_URL", "db-url", "", "database: sqlite://path, postgres://user:password@host/name or mysql://…; default: a SQLite file in the data folder, for one process", &r.dbURL},
		{"BOXOFFICE_BUS_URL", "bus-url", "", "transport; default: the database's own", &r.busURL},
		{"BOXOFFICE_REDIS_URL", "redis-url", EmbeddedRedis, "Redis: redis://host:6379/0, rediss://…, several hosts separated by commas (or ?cluster=true) for a Redis Cluster, or Sentinels with ?master=NAME (and sentinel_user=, sentinel_password= if they ask for a sign-in); embedded:// keeps its data, and the waiting room, in this process, which then has the roles api, worker and admitter; off: artists are not mirrored, and the waiting room is in the memory of the one process that has the roles api and admitter", &r.redisURL},
		{"BOXOFFICE_REDIS_PREFIX", "redis-prefix", "", "stands before every key in Redis, so that several box offices can share one", &r.redisPrefix},
		{"BOXOFFICE_ROLES", "roles", "all", "api, relay, worker, admitter, separated by commas, or all", &r.roles},
		{"BOXOFFICE_SECRET", "secret", "", "signs sign-ins, at least 32 bytes; default: made and kept in the data folder (other users can see a flag; prefer the variable)", &r.secret},
		{"BOXOFFICE_TICKET_KEYS", "ticket-keys", "", "signs the codes of tickets: Ed25519 seeds of 64 hexadecimal digits, separated by commas: the first signs, all verify; default: made and kept in the data folder", &r.ticketKeys},
		{"BOXOFFICE_ADMIN_TOKEN", "admin-token", "", "opens /api/admin; default: made, kept in the data folder and printed", &r.adminToken},
		{"BOXOFFICE_GATEWAY_URL", "gateway-url", "", "payment gateway; default: a simulated one in this process", &r.gatewayURL},
		{"BOXOFFICE_UPSTREAM_URL", "upstream-url", "", "API of the artists; default: a simulated one in this process", &r.upstreamURL},
		{"BOXOFFICE_ARCHIVE_URL", "archive-url", "", "where snapshots of artists go that nobody has read for 30 days: a folder, or s3://bucket/prefix?region=R, with endpoint=URL for another server than Amazon's and timeout=10s; credentials by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or as the AWS tools find them, or in the URL as key:secret@bucket; default: a folder in the data folder, for one process", &r.archiveURL},
		{"BOXOFFICE_WORKERS", "workers", "1", "how many processes with the role worker share the artist API's limit, those that are about to end included", &r.workers},
		{"BOXOFFICE_HOLD_SECONDS", "hold-seconds", "300", "how long seats are held for payment", &r.hold},
		{"BOXOFFICE_PAYMENT_SECONDS", "payment-seconds", "120", "how long after the end of a hold a payment that was accepted before it keeps the seats: as long as the payment gateway may take to decide", &r.payment},
		{"BOXOFFICE_LEAVE_SECONDS", "leave-seconds", "0", "how long the process goes on serving once it was asked to end, while /readyz answers 503: longer than a load balancer takes to see that", &r.leave},
		{"BOXOFFICE_NOTICE_URL", "notice-url", "", "transport, such as sqs://region, that tells others whom the waiting room admitted, on the topic queue.admitted; default: nobody is told", &r.noticeURL},
		{"BOXOFFICE_STREAMS", "streams", StreamsPortable, "how live streams are served: portable works over everything; lean takes connections of plain HTTP/1.1 over from the server and keeps no goroutine for each", &r.streams},
		{"BOXOFFICE_TRACES_URL", "traces-url", "", "OpenTelemetry collector that spans are sent to by OTLP over HTTP: http://127.0.0.1:4318; ?ratio=0.1 keeps a tenth of the traces; headers by OTEL_EXPORTER_OTLP_HEADERS; default: no spans are made", &r.tracesURL},
	}, slices.Concat(r.queue.settings(), r.door.settings(), r.edge.settings())...)
}

// Parse reads the settings from args and the environment. schemes are the transports that the
// program knows; notices can use sqs:// too. It writes usage and flag errors to stderr;
// flag.ErrHelp means that help was asked for. Parse makes no file; [Config.Fill] does.
func Parse(args []string, getenv func(string) string, schemes []string, stderr io.Writer) (Config, error) {
	var r raw
	set := flag.NewFlagSet("boxoffice", flag.ContinueOnError)
	set.SetOutput(stderr)
	settings := r.settings()
	for _, s := range settings {
		def := s.def
		if v := getenv(s.env); v != "" {
			def = v
		}
		set.StringVar(s.value, s.flag, def, s.help)
	}
	set.Usage = func() { usage(stderr, settings) }
	if err := set.Parse(args); err != nil {
		return Config{}, err
	}
	if set.NArg() > 0 {
		return Config{}, fmt.Errorf("unexpected argument %q; settings are flags, see --help", set.Arg(0))
	}
	return r.check(schemes)
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

// check turns the texts into a Config, and returns all mistakes.
func (r *raw) check(schemes []string) (Config, error) {
	c := Config{Addr: r.addr, DataDir: r.dataDir, DBURL: r.dbURL, BusURL: r.busURL, GatewayURL: r.gatewayURL, UpstreamURL: r.upstreamURL, ArchiveURL: r.archiveURL, RedisURL: r.redisURL, RedisPrefix: r.redisPrefix, NoticeURL: r.noticeURL, TracesURL: r.tracesURL, Secret: r.secret, TicketKeys: r.ticketKeys, AdminToken: r.adminToken}
	var errs []error
	bad := func(env, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s (--%s): "+format, append([]any{env, r.flagOf(env)}, args...)...))
	}
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
	var err error
	if c.Roles, err = parseRoles(r.roles); err != nil {
		bad("BOXOFFICE_ROLES", "%v", err)
	}
	if c.DBURL == "" {
		c.Embedded = true
		c.DBURL = "sqlite://" + (&url.URL{Path: filepath.Join(c.DataDir, "boxoffice.db")}).EscapedPath()
	} else if err := store.CheckURL(c.DBURL); err != nil {
		bad("BOXOFFICE_DB_URL", "%v", err)
	}
	if c.BusURL == "" {
		c.BusURL = c.DBURL
	} else if err := checkBus(c.BusURL, schemes); err != nil {
		bad("BOXOFFICE_BUS_URL", "%v", err)
	}
	if missing := c.missingRoles(); len(missing) > 0 && len(c.Roles) > 0 {
		why := "this process has only the roles " + strings.Join(c.Roles, ", ") + ", so others must do the rest"
		if c.Embedded {
			bad("BOXOFFICE_DB_URL", "%s, but the default database belongs to one process; give all of them the same sqlite://path, or set BOXOFFICE_ROLES=all", why)
		}
		if strings.HasPrefix(c.BusURL, "mem://") {
			bad("BOXOFFICE_BUS_URL", "%s, but mem:// stays inside a process; use a transport that they share, or set BOXOFFICE_ROLES=all", why)
		}
	}
	for env, text := range map[string]string{"BOXOFFICE_GATEWAY_URL": c.GatewayURL, "BOXOFFICE_UPSTREAM_URL": c.UpstreamURL} {
		if u, err := kit.ParseURL(text); text != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
			bad(env, "it is not an http:// or https:// URL; write for example http://127.0.0.1:9090")
		}
	}
	if c.Secret != "" {
		if err := auth.CheckSecret(c.Secret); err != nil {
			bad("BOXOFFICE_SECRET", "%v", err)
		}
	}
	if c.TicketKeys != "" {
		if _, err := ticket.ParseKeys(c.TicketKeys); err != nil {
			bad("BOXOFFICE_TICKET_KEYS", "%v", err)
		}
	}
	if c.AdminToken != "" && len(c.AdminToken) < 16 {
		bad("BOXOFFICE_ADMIN_TOKEN", "the token is %d characters long; use at least 16", len(c.AdminToken))
	}
	if c.NoticeURL != "" {
		if err := checkNotices(c.NoticeURL, schemes); err != nil {
			bad("BOXOFFICE_NOTICE_URL", "%v", err)
		}
	}
	if c.TracesURL != "" {
		if err := traces.Check(c.TracesURL); err != nil {
			bad("BOXOFFICE_TRACES_URL", "%v", err)
		}
	}
	if c.ArchiveURL == "" {
		c.ArchiveURL = filepath.Join(c.DataDir, "artists")
	} else if err := archive.Check(c.ArchiveURL); err != nil {
		bad("BOXOFFICE_ARCHIVE_URL", "%v", err)
	}
	number := func(env, text string, low, high int) int {
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			bad(env, "%q is not a whole number from %d to %d", text, low, high)
		}
		return n
	}
	c.Workers = number("BOXOFFICE_WORKERS", r.workers, 1, MaxWorkers)
	c.checkRedis(bad)
	if c.LeanStreams = r.streams == StreamsLean; !c.LeanStreams && r.streams != StreamsPortable {
		bad("BOXOFFICE_STREAMS", "unknown way %q; known are: %s, %s", r.streams, StreamsPortable, StreamsLean)
	}
	c.Hold = time.Duration(number("BOXOFFICE_HOLD_SECONDS", r.hold, 1, 86_400)) * time.Second
	c.PaymentLimit = time.Duration(number("BOXOFFICE_PAYMENT_SECONDS", r.payment, 1, 86_400)) * time.Second
	c.Leave = time.Duration(number("BOXOFFICE_LEAVE_SECONDS", r.leave, 0, 600)) * time.Second
	r.queue.check(&c, number, bad)
	r.door.check(&c, number, bad)
	r.edge.check(&c, bad)
	return c, errors.Join(errs...)
}

func (r *raw) flagOf(env string) string {
	for _, s := range r.settings() {
		if s.env == env {
			return s.flag
		}
	}
	return ""
}

func (c Config) missingRoles() []string {
	var missing []string
	for _, role := range allRoles() {
		if !c.Has(role) {
			missing = append(missing, role)
		}
	}
	return missing
}

func parseRoles(text string) ([]string, error) {
	var roles []string
	for _, role := range strings.Split(text, ",") {
		switch role = strings.TrimSpace(role); {
		case role == "all":
			roles = append(roles, allRoles()...)
		case slices.Contains(allRoles(), role):
			roles = append(roles, role)
		default:
			return nil, fmt.Errorf("unknown role %q; known are: %s, all", role, strings.Join(allRoles(), ", "))
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles), nil
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

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && n <= 65_535
}
