package depstest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// leaves are the packages that every package may import, and their own imports.
func leaves() map[string][]string {
	return map[string][]string{
		// shared by transports
		"bus/driver/kit": {"internal/backoff", "internal/jsonmap", "internal/lazy", "internal/log", "internal/parallel", "internal/rawurl", "internal/tlshint"},

		"fault": nil, "migrations": nil, "sqltx": {"internal/intx"}, "event": {"fault"}, "eventlog": {"event", "internal/otelevent"},
		"sqltx/pgxtx": {"sqltx", "internal/intx", "internal/pgdb"},
		"bus/driver":  nil, // imported by transports
	}
}

// seams are internal packages that implement an interface of a public one, for its
// backends.
func seams() map[string][]string {
	return map[string][]string{
		"internal/log/logbus/logbustest": {"bus"},
		"internal/log/logsub":            {"bus"},
		"internal/tlstest":               {"bus"},
		"internal/txbus":                 {"bus", "bus/watermillbus"},
		"internal/txbus/txbustest":       {"bus"},
	}
}

// beside are packages that import others beside or below them, in one family.
func beside() map[string][]string {
	return map[string][]string{
		"bus/allbus": {"bus/amqpbus/amqpwatermill", "bus/kafkabus/kafkawatermill", "bus/redisbus/rediswatermill"}, // and every transport
		// A package of ?mode=watermill imports its transport and the adapter.
		"bus/amqpbus/amqpwatermill":   {"bus/watermillbus"},
		"bus/kafkabus/kafkawatermill": {"bus/watermillbus"},
		"bus/redisbus/rediswatermill": {"bus/driver/rediskit", "bus/watermillbus"},
		"bus/redisbus":                {"bus/driver/rediskit"},
		"bus/bustest":                 {"bus/redrive"}, // redriving is part of a transport's tests
		"idempotency/pgidempotency":   {"idempotency/sqlidempotency"},
		"outbox/internal/storetest":   {"outbox/outboxtest"}, // it runs cases of the suite on other tables and pools
		"queue":                       {"queue/draw", "queue/token"},
		"queue/challenge":             {"queue/token"},
		"queue/driver":                {"queue/draw"},
		"queue/frontgate":             {"queue/queuehttp", "queue/token"},
		"queue/gate":                  {"queue/challenge", "queue/queuehttp", "queue/queuepage", "queue/token"},
		"queue/memqueue":              {"queue/draw"},
		"queue/queuehttp":             {"queue/challenge", "queue/draw", "queue/token"},
		"queue/queuetest":             {"queue/draw"},
		"queue/redisqueue":            {"queue/draw"},
	}
}

// frontDoor are the root package, the packages that combine one database's stores, and the
// collectors of all packages, with their imports.
func frontDoor() map[string][]string {
	return map[string][]string{
		module:         {"bus", "driver", "idempotency", "outbox"},
		"driver":       {"bus", "idempotency/driver", "idempotency/sqlidempotency", "outbox/driver"},
		"millracetest": {module, "bus", "driver", "idempotency/driver", "outbox/driver"},
		"sqlite":       {module, "driver", "bus", "bus/sqlitebus", "outbox/driver", "outbox/sqliteoutbox"},
		"postgres": {
			module, "driver", "bus", "bus/pgbus", "idempotency/pgidempotency", "idempotency/sqlidempotency", "outbox/driver", "outbox/pgoutbox", "sqltx/pgxtx",
		},
		"metrics": {
			"bus", "coalesce", "counter", "idempotency", "outbox", "outbox/driver", "queue", "ratelimit", "ratelimit/driver", "ratelimit/keyed", "sse",
		},
		"mysql": {module, "driver", "bus", "bus/mysqlbus", "outbox/driver", "outbox/mysqloutbox"},
	}
}

// TestArrows: examples and cmd import packages, packages import the leaves and internal
// packages, and never the other way round; no package imports another's backend.
func TestArrows(t *testing.T) {
	g := build(t)
	for _, wrong := range wrongArrows(g) {
		t.Error(wrong)
	}
	for path, all := range beside() {
		for _, imported := range all {
			assert.Containsf(t, g[path].imports, imported, "%s does not import %s any more: take it out of beside", path, imported)
		}
	}
	for _, path := range g.public() {
		if isTransport(path) && !slices.Contains(g["bus/allbus"].imports, path) {
			t.Errorf("bus/allbus does not have the transport %s", path)
		}
	}
	for path, all := range frontDoor() {
		for _, imported := range all {
			assert.Containsf(t, g[path].imports, imported, "%s does not import %s any more: take it out of frontDoor", path, imported)
		}
	}
	for path, all := range seams() {
		for _, imported := range all {
			assert.Containsf(t, g[path].imports, imported, "%s does not import %s any more: take it out of seams", path, imported)
		}
	}
}

func wrongArrows(g graph) (wrong []string) {
	for _, path := range g.ours() {
		for _, imported := range g[path].imports {
			if !g[imported].ours {
				continue
			}
			if why := forbidden(path, imported); why != "" {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: %s", path, imported, why))
			}
		}
	}
	for _, path := range g.public() {
		if isTest(path) {
			continue
		}
		for p := range g.reach(path) {
			if g[p].ours && isTest(p) {
				wrong = append(wrong, fmt.Sprintf("%s links %s, which is for tests", path, p))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// forbidden returns the reason why a package of ours may not import another, or "".
func forbidden(path, imported string) string {
	from, to := family(path), family(imported)
	_, leaf := leaves()[imported]
	if of, ok := leaves()[path]; ok {
		if slices.Contains(of, imported) {
			return ""
		}
		return "it is a leaf"
	}
	switch {
	case isProgram(path):
		return forbiddenProgram(from, to)
	case isProgram(imported):
		return "packages stand below commands, examples and benchmarks"
	case leaf, from != "internal" && to == "internal", isTest(path) && imported == "conformance":
		return ""
	case slices.Contains(frontDoor()[path], imported):
		return ""
	case from == "internal":
		if to == "internal" || slices.Contains(seams()[path], imported) {
			return ""
		}
		return "what is internal stands below the packages"
	case from != to:
		return "packages stand on event, eventlog, fault, sqltx and internal alone"
	}
	return forbiddenRelative(path, imported)
}

func forbiddenProgram(from, to string) string {
	if from == to || !slices.Contains([]string{"cmd", "examples", "proof", "scripts"}, to) || from == "proof" && to == "examples" {
		return ""
	}
	return "commands, examples and benchmarks do not stand on each other"
}

// forbiddenRelative is forbidden within one family: a package may import the packages above it,
// their drivers, its own driver, and an internal package made for it. A transport may be made of a
// log, and allbus has all transports.
func forbiddenRelative(path, imported string) string {
	if strings.HasPrefix(path, imported+"/") || slices.Contains(beside()[path], imported) {
		return ""
	}
	if isTransport(path) && imported == "bus/driver/logdriver" || path == "bus/allbus" && isTransport(imported) {
		return ""
	}
	if above, ok := strings.CutSuffix(imported, "/driver"); ok && (path == above || strings.HasPrefix(path, above+"/")) {
		return ""
	}
	if above, _, ok := strings.Cut(imported, "/internal/"); ok && (path == above || strings.HasPrefix(path, above+"/")) {
		return ""
	}
	return "a package does not stand on what is below it or beside it"
}

// unopened are internal packages of the library that programs in examples still import: their
// migrations, and the pool of MySQL that they wrap.
func unopened() map[string][]string {
	return map[string][]string{
		"examples/boxoffice/internal/ops":   {"internal/migrate"},
		"examples/boxoffice/internal/store": {"internal/migrate", "internal/mysqldb"},
	}
}

// TestExamplesImportPublicPackages: an example shows how to use the library, so a package that it
// needs is one that users can import.
func TestExamplesImportPublicPackages(t *testing.T) {
	g := build(t)
	for _, wrong := range strayExamples(g) {
		t.Error(wrong)
	}
	for path, all := range unopened() {
		for _, imported := range all {
			assert.Containsf(t, g[path].imports, imported, "%s does not import %s any more: take it out of unopened", path, imported)
		}
	}
}

func strayExamples(g graph) (wrong []string) {
	for _, path := range g.ours() {
		if family(path) != "examples" || isTest(path) {
			continue
		}
		for _, imported := range g[path].imports {
			if family(imported) == "internal" && !slices.Contains(unopened()[path], imported) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s; take a public package, or a file of the example's own", path, imported))
			}
		}
	}
	return wrong
}

// isTransport reports whether a package has a transport of its own: bus/natsbus has, and the
// adapters of Watermill and the list of all transports have not.
func isTransport(path string) bool {
	name, ok := strings.CutPrefix(path, "bus/")
	return ok && strings.HasSuffix(name, "bus") && !strings.Contains(name, "/") && name != "allbus" && name != "watermillbus"
}

func isTest(path string) bool { return strings.HasSuffix(path, "test") || path == "conformance" }
