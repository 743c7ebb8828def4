// Package doctor connects to servers and reports their problems in words, with fixes. It
// changes nothing.
package doctor

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace-go/millrace/cmd/millrace/internal/redact"
	"github.com/millrace-go/millrace/internal/sqlname"
)

// Level is the severity of a finding.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning" // it works, and may not for ever
	Error   Level = "error"   // it does not work, or breaks a guarantee
)

// Finding is one result of an examination.
type Finding struct {
	Level Level  `json:"level"`
	Check string `json:"check"` // a stable word for programs
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`
}

// Purpose is the use of a server, which decides the checks.
type Purpose string

// The purposes.
const (
	Database  Purpose = "database"
	Transport Purpose = "transport"
	Redis     Purpose = "redis" // limits, queues, leases and idempotency keys
	Any       Purpose = "server"
)

// Target is a server to look at.
type Target struct {
	URL     string
	Purpose Purpose
}

// Result is the findings about a target.
type Result struct {
	URL      string    `json:"url"` // without credentials
	Purpose  Purpose   `json:"purpose"`
	Findings []Finding `json:"findings"`
}

// Config is the configuration of an examination. The zero value works.
type Config struct {
	// Timeout bounds each connect and each request; 5 s when zero.
	Timeout time.Duration
	// Packages are those whose tables must exist; none by default: tables that are missing
	// altogether may not be needed.
	Packages []string
	// Names are the names of the outbox's tables.
	Names sqlname.Names
}

// Examine examines all targets at once and returns its findings, in their order.
func Examine(ctx context.Context, targets []Target, cfg Config) []Result {
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	examinations := make([]*examination, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		e := &examination{Config: cfg, target: t, findings: []Finding{}}
		examinations[i] = e
		all.Go(func() { e.examine(ctx) })
	}
	all.Wait()
	compareClocks(examinations)
	results := make([]Result, len(targets))
	for i, e := range examinations {
		results[i] = Result{e.shown(), e.target.Purpose, e.findings}
	}
	return results
}

// examination is the examination of one target.
type examination struct {
	Config
	target   Target
	findings []Finding
	clocks   []reading
}

// shown is the target's URL without secrets.
func (e *examination) shown() string { return redact.URL(e.target.URL) }

func (e *examination) add(level Level, check, text, fix string) {
	e.findings = append(e.findings, Finding{level, check, text, fix})
}

func (e *examination) ok(check, format string, args ...any) {
	e.add(OK, check, fmt.Sprintf(format, args...), "")
}

// unusable reports a URL that its driver refuses.
func (e *examination) unusable(err error, fix string) {
	e.add(Error, "url", "the URL cannot be used: "+e.said(err), fix)
}

// said is the text of an error, without the URL's secrets. Every text from a driver or a
// server goes through it.
func (e *examination) said(err error) string { return e.quoted(err.Error()) }

func (e *examination) quoted(text string) string { return redact.Text(text, e.target.URL) }

// kind is a kind of server.
type kind struct {
	purpose Purpose // Database or Redis for a server that can be one, otherwise Transport
	look    func(context.Context, *url.URL)
}

// kinds are the kinds of servers by the schemes of their URLs.
func (e *examination) kinds() map[string]kind {
	return map[string]kind{
		"postgres": {Database, e.postgres}, "postgresql": {Database, e.postgres},
		"mysql": {Database, e.mysql}, "mariadb": {Database, e.mysql}, "sqlite": {Database, e.sqlite},
		"redis": {Redis, e.redis}, "rediss": {Redis, e.redis},
		"kafka": {Transport, e.kafka}, "amqp": {Transport, e.amqp}, "amqps": {Transport, e.amqp},
		"nats": {Transport, e.nats}, "tls": {Transport, e.nats},
		"sqs": {Transport, e.sqs}, "sns": {Transport, e.sqs},
		"mem": {Transport, func(context.Context, *url.URL) {
			e.add(Warning, "durable", "mem:// is gone with its process", "use it in tests; sqlite:// is as simple and keeps what it was given")
		}},
	}
}

func (e *examination) examine(ctx context.Context) {
	kinds := e.kinds()
	known := strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
	scheme, _, ok := strings.Cut(e.target.URL, "://")
	if !ok {
		e.add(Error, "url", "the URL has no scheme", "begin it with scheme://, as in postgres://host/database; known are: "+known)
		return
	}
	scheme = strings.ToLower(scheme)
	k, ok := kinds[scheme]
	if !ok {
		e.add(Error, "url", fmt.Sprintf("there is no %q here", scheme), "use one of "+known)
		return
	}
	if p := e.target.Purpose; p != k.purpose && (p == Database || p == Redis) {
		e.add(Error, "url", fmt.Sprintf("%s:// is no %s", scheme, p), "give it with --bus, or without a flag")
		return
	}
	u, err := url.Parse(e.target.URL)
	if err != nil {
		// The parser's error quotes parts of the URL.
		e.add(Error, "url", "the URL is malformed", "percent-encode special characters in user, password and path: / is %2F, @ is %40, % is %25")
		return
	}
	k.look(ctx, u)
}

// forTransport reports whether the target carries messages, and forDatabase
// whether it holds an application's tables.
func (e *examination) forTransport() bool {
	return e.target.Purpose == Transport || e.target.Purpose == Any
}
func (e *examination) forDatabase() bool {
	return e.target.Purpose == Database || e.target.Purpose == Any
}
