// Command matrix runs the tests with the real servers required and prints one
// table: suites as rows, servers as columns, and in each cell the number of tests
// that passed. Cases that a capability rules out (n/a) are listed with the reason.
// Any skip is a failure, and so is a cell without a passed test.
//
// It takes the flags of go test, such as -race. The tests that kill servers run
// last and alone.
//
// SERVERS, names of scripts/services.sh and memory and sqlite, chooses columns: only
// their cells run, and of those only the tests that belong to them. Without it all
// servers are columns; tests without a server are left to make test. With the flag
// -start it prints the servers that these cells need, and ends.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// list is the cells of the matrix.
//
//go:embed cells.txt
var list string

// beside are packages that use real servers and have no cell of their own.
var beside = []string{
	".", "./examples/orders", "./examples/tickets", "./bus", "./bus/allbus", "./bus/redrive", "./ratelimit/keyed/rediskeyed", "./outbox", "./outbox/internal/...", "./idempotency", "./idempotency/idempotencytest",
	"./sqltx", "./sqltx/pgxtx", "./idempotency/pgidempotency", "./postgres", "./millracetest", "./cmd/millrace/...",
	"./internal/migrate", "./internal/pgdb", "./internal/mysqldb", "./internal/redisdb", "./internal/servicetest",
	"./internal/log/logbus", "./internal/log/logtest", "./internal/txbus", "./internal/sqlrows",
	"./examples/boxoffice/internal/ops", "./examples/boxoffice/internal/store",
	"./examples/boxoffice/internal/chat", "./examples/boxoffice/internal/live",
	"./examples/boxoffice/internal/meter",
	"./examples/boxoffice/internal/admissions", "./examples/boxoffice/internal/catalog/rediscopy", "./examples/boxoffice/internal/heldseats",
	"./deploy/...", "./examples/migrating",
	"./proof/batchbench", "./proof/busbench", "./proof/cheats", "./proof/doorbench", "./proof/kafkabench", "./proof/limitbench", "./proof/limitproof",
	"./proof/environment", "./proof/gatebench", "./proof/onsale", "./proof/outboxbench", "./proof/place", "./proof/queuebench", "./proof/redisserver",
}

// alone are packages that kill servers, or want a transport to themselves.
var alone = []string{"./internal/wholetest/faulttest", "./examples/boxoffice/internal/mirrorrun", "./proof/bookingbench"}

// business are packages that run once more on each database server.
var business = []string{
	"./examples/boxoffice/internal/catalog", "./examples/boxoffice/internal/booking",
	"./examples/boxoffice/internal/payment", "./examples/boxoffice/internal/stats", "./examples/boxoffice/internal/artist",
	"./examples/boxoffice/internal/social", "./examples/boxoffice/internal/inbox", "./examples/boxoffice/internal/chat",
	"./examples/boxoffice/internal/ticket",
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(flags []string, out io.Writer) error {
	all, err := parse(list)
	if err != nil {
		return err
	}
	servers := os.Getenv("SERVERS")
	cells, left, err := choose(all, servers, os.Getenv("VERSIONS"))
	if err != nil {
		return err
	}
	if slices.Equal(flags, []string{"-start"}) {
		_, err := fmt.Fprintln(out, strings.Join(starts(cells), " "))
		return err
	}
	r := newResults()
	pooled, direct := divide(cells)
	if strings.TrimSpace(servers) != "" {
		// One package after the other: those that kill servers come last.
		some := packagesOf(direct, alone)
		for _, pkg := range append(some, packagesOf(direct, some)...) {
			if err := r.test(out, "", append([]string{"-run", pattern(direct, pkg)}, flags...), []string{pkg}, nil); err != nil {
				return err
			}
		}
		return errors.Join(r.pooled(out, flags, pooled), report(cells, left, r, out))
	}
	packages := append(packagesOf(direct, alone), beside...)
	// make test runs the tests without a server.
	served := "MILLRACE_SERVERS_ONLY=1"
	if err := r.test(out, "", flags, packages, []string{served}); err != nil {
		return err
	}
	for _, db := range []string{"postgres", "mariadb", "mysql"} {
		if err := r.test(out, " on "+db, flags, business, []string{served, "BOXOFFICE_TEST_DB=" + db}); err != nil {
			return err
		}
	}
	if err := r.pooled(out, flags, pooled); err != nil {
		return err
	}
	if err := r.test(out, "", append(slices.Clone(flags), "-p=1"), alone, []string{served}); err != nil {
		return err
	}
	return report(cells, nil, r, out)
}

// divide returns the cells in PgBouncer's column, and the others.
func divide(cells []cell) (pooled, direct []cell) {
	for _, c := range cells {
		if c.pooled() {
			pooled = append(pooled, c)
		} else {
			direct = append(direct, c)
		}
	}
	return pooled, direct
}

// pooled runs the tests of PgBouncer's cells, with its URL in the place of PostgreSQL's.
func (r *results) pooled(out io.Writer, flags []string, cells []cell) error {
	url := "MILLRACE_POSTGRES_URL=" + os.Getenv("MILLRACE_PGBOUNCER_URL")
	for _, pkg := range packagesOf(cells, nil) {
		if err := r.test(out, throughPooler, append([]string{"-run", pattern(cells, pkg)}, flags...), []string{pkg}, []string{url}); err != nil {
			return err
		}
	}
	return nil
}

// test runs the packages. Failures are in the results; the error says that nothing
// could be run.
func (r *results) test(out io.Writer, note string, flags, packages, env []string) error {
	args := append([]string{"test", "-json", "-count=1", "-vet=off", "-timeout=20m"}, flags...)
	cmd := exec.Command("go", append(args, packages...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := r.collect(note, pipe, out); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		r.runs = append(r.runs, err)
	}
	return nil
}
