package depstest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// driver is a family of modules, and the public packages that may link them: those whose last
// part equals, begins or ends with a name. It is separate from the table of links, so that
// -update cannot allow a package.
type driver struct {
	modules []string // each module and those below it
	names   []string // "pg…", "…watermill", or a whole path
}

// drivers are the modules that a user links only on request.
func drivers() []driver {
	return []driver{
		// sqlcounter uses pgx's types for PostgreSQL, on any database.
		{[]string{"github.com/jackc/pgx"}, []string{"pg…", "postgres", "bus/allbus", "counter/sqlcounter"}},
		{[]string{"github.com/go-sql-driver/mysql"}, []string{"mysql…", "bus/allbus"}},
		{[]string{"modernc.org/sqlite"}, []string{"sqlite…", "bus/allbus"}},
		{[]string{"github.com/redis/go-redis"}, []string{"redis…", "bus/allbus"}},
		{[]string{"github.com/twmb/franz-go"}, []string{"kafka…", "bus/allbus"}},
		{[]string{"github.com/rabbitmq/amqp091-go"}, []string{"amqp…", "bus/allbus"}},
		// Watermill's own adapters are linked only with ?mode=watermill.
		{[]string{"github.com/IBM/sarama", "github.com/ThreeDotsLabs/watermill-kafka"}, []string{"kafkawatermill", "bus/allbus"}},
		{[]string{"github.com/ThreeDotsLabs/watermill-amqp"}, []string{"amqpwatermill", "bus/allbus"}},
		{[]string{"github.com/ThreeDotsLabs/watermill-redisstream"}, []string{"rediswatermill", "bus/allbus"}},
		{[]string{"github.com/nats-io/nats.go"}, []string{"nats…", "bus/allbus"}},
		{[]string{"github.com/ThreeDotsLabs/watermill-sql"}, []string{"pg…", "postgres", "mysql…", "bus/allbus"}},
		{[]string{"github.com/aws", "github.com/ThreeDotsLabs/watermill-aws"}, []string{"sqs…", "dynamo…", "bus/allbus"}},
		{[]string{"github.com/prometheus"}, []string{"metrics", "promtest"}},
		{[]string{"github.com/stretchr/testify"}, []string{"bus/bustest"}}, // Watermill's own conformance suite needs it
	}
}

func (d driver) allows(path string) bool {
	last := path[strings.LastIndexByte(path, '/')+1:]
	return slices.ContainsFunc(d.names, func(name string) bool {
		if begin, ok := strings.CutSuffix(name, "…"); ok {
			return strings.HasPrefix(last, begin)
		}
		if end, ok := strings.CutPrefix(name, "…"); ok {
			return strings.HasSuffix(last, end)
		}
		return name == path || name == last
	})
}

func (d driver) has(mod string) bool { return below(mod, d.modules) }

func below(mod string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return mod == root || strings.HasPrefix(mod, root+"/") })
}

// TestDrivers: a core package, or a backend, links no driver except the backend's own.
func TestDrivers(t *testing.T) {
	g := build(t)
	for _, wrong := range strayDrivers(g) {
		t.Error(wrong)
	}
	// A rule without a match has no effect.
	for _, d := range drivers() {
		if !slices.ContainsFunc(g.public(), func(p string) bool { return slices.ContainsFunc(g.links(p), d.has) }) && d.modules[0] != "github.com/ThreeDotsLabs/watermill-aws" {
			t.Errorf("no public package links %s: take the rule out", d.modules)
		}
	}
}

func strayDrivers(g graph) (wrong []string) {
	for _, path := range g.public() {
		for _, m := range g.links(path) {
			for _, d := range drivers() {
				if d.has(m) && !d.allows(path) {
					wrong = append(wrong, fmt.Sprintf("%s links %s, by %s; only %s may", path, m, strings.Join(g.way(path, m), " → "), strings.Join(d.names, ", ")))
				}
			}
		}
	}
	return wrong
}

// never are modules that no public package links, and the programs that may import them.
func never() map[string][]string {
	return map[string][]string{
		"github.com/spf13/cobra":                                        {"cmd"},
		"github.com/spf13/pflag":                                        {"cmd"}, // cobra's flags
		"github.com/chromedp/chromedp":                                  {"internal"},
		"github.com/getkin/kin-openapi":                                 {},
		"github.com/santhosh-tekuri/jsonschema":                         {},
		"github.com/alicebob/miniredis":                                 {},
		"github.com/nats-io/nats-server":                                {"internal/transporttest/natstest"},
		"github.com/twmb/franz-go/pkg/kfake":                            {},
		"github.com/riverqueue/river":                                   {"proof"},
		"github.com/go-redis/redis_rate":                                {"proof"},
		"github.com/ulule/limiter":                                      {"proof"},
		"github.com/r3labs/sse":                                         {"proof"},
		"github.com/tmaxmax/go-sse":                                     {"proof"},
		"github.com/anishathalye/porcupine":                             {},
		"github.com/cloudevents/sdk-go":                                 {},
		"pgregory.net/rapid":                                            {"idempotency/internal", "internal/draw"},
		"go.uber.org/goleak":                                            {"internal/log/logbus/logbustest", "examples/boxoffice/internal/boxtest"},
		"go.opentelemetry.io/otel/sdk":                                  {"examples", "cmd", "proof"},
		"go.opentelemetry.io/otel/exporters":                            {"examples", "cmd", "proof"},
		"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp": {"examples", "cmd", "proof"},
	}
}

// TestNeverLinked: modules of commands, tests and benchmarks are linked only by them.
func TestNeverLinked(t *testing.T) {
	g := build(t)
	for _, wrong := range strayTools(g) {
		t.Error(wrong)
	}
	for tool, allowed := range never() {
		if strings.HasPrefix(tool, "go.opentelemetry.io/") {
			continue // any program may export its traces
		}
		for _, root := range allowed {
			if !slices.ContainsFunc(g.ours(), func(path string) bool { return below(path, []string{root}) && g.imports(path, tool) }) {
				t.Errorf("nothing in %s imports %s: take it out of never", root, tool)
			}
		}
	}
}

// imports reports whether a package itself imports a package of a module.
func (g graph) imports(path, mod string) bool {
	return slices.ContainsFunc(g[path].imports, func(p string) bool { return below(g[p].module, []string{mod}) })
}

func strayTools(g graph) (wrong []string) {
	for _, path := range g.public() {
		for _, m := range g.links(path) {
			for tool := range never() {
				if below(m, []string{tool}) {
					wrong = append(wrong, fmt.Sprintf("%s links %s, by %s; no public package may", path, m, strings.Join(g.way(path, m), " → ")))
				}
			}
		}
	}
	for _, path := range g.ours() {
		for _, imported := range g[path].imports {
			m := g[imported].module
			for tool, allowed := range never() {
				if below(m, []string{tool}) && !below(path, allowed) {
					wrong = append(wrong, fmt.Sprintf("%s imports %s; only %q may, and tests", path, imported, allowed))
				}
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}
