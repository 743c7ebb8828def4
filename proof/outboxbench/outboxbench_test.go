package outboxbench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/millrace-go/millrace/internal/servicetest"
	"github.com/millrace-go/millrace/proof/report"
)

// TestMain is also the appender process of latency measurements.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "appender" {
		cfg := Config{URL: os.Getenv("MILLRACE_POSTGRES_URL"), MariaDB: os.Getenv("MILLRACE_MARIADB_URL"), MySQL: os.Getenv("MILLRACE_MYSQL_URL")}
		if err := Appender(context.Background(), cfg, os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// tiny is a configuration that runs quickly, without figures worth reading.
func tiny() Config {
	return Config{Rows: 500, Rounds: 1, Rate: 100, Seconds: 1, Bookings: 8, Prefix: "bench_" + strconv.FormatInt(time.Now().UnixNano(), 36)}
}

func postgres(t *testing.T) string {
	return servicetest.Env(t, "MILLRACE_POSTGRES_URL", "PostgreSQL", "postgres://user:password@127.0.0.1:5432/name")
}

func TestSections(t *testing.T) {
	for name, section := range map[string]struct {
		cfg  func(*testing.T) Config
		run  func(context.Context, Config, *report.Recorder) error
		want []string
	}{
		"outbox": {
			func(t *testing.T) Config { c := tiny(); c.URL = postgres(t); return c },
			func(ctx context.Context, c Config, out *report.Recorder) error { return Run(ctx, c, out) },
			[]string{"drain / tuned watermill-sql ", "drain / River", "raw read", "p50 latency", "idle relay", "PostgreSQL", "SQLite"},
		},
		"mariadb": {
			func(t *testing.T) Config {
				c := tiny()
				c.MariaDB = servicetest.Env(t, "MILLRACE_MARIADB_URL", "MariaDB", "mysql://user:password@127.0.0.1:3306/name")
				return c
			},
			func(ctx context.Context, c Config, out *report.Recorder) error { return RunMariaDB(ctx, c, out) },
			[]string{"drain / tuned watermill-sql, MariaDB", "p50 latency", "p99 latency"},
		},
		"mysql": {
			func(t *testing.T) Config {
				c := tiny()
				c.MySQL = servicetest.Env(t, "MILLRACE_MYSQL_URL", "MySQL", "mysql://user:password@127.0.0.1:3306/name")
				return c
			},
			func(ctx context.Context, c Config, out *report.Recorder) error { return RunMySQL(ctx, c, out) },
			[]string{"drain / tuned watermill-sql, MySQL", "p50 latency", "p99 latency"},
		},
		"status": {
			func(t *testing.T) Config { c := tiny(); c.URL = postgres(t); return c },
			func(ctx context.Context, c Config, out *report.Recorder) error { return RunStatus(ctx, c, out) },
			[]string{"status kind / plain", "20 hot keys / 10,000 keys"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			rec := report.To(&out)
			if err := section.run(t.Context(), section.cfg(t), rec); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			recorded(t, rec.Section())
			for _, want := range section.want {
				line, ok := lineWith(out.String(), want)
				if !ok || !strings.Contains(line, "goal") {
					t.Errorf("no figure %q in\n%s", want, &out)
				}
				if strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
					t.Errorf("%q was not measured: %s", want, line)
				}
			}
		})
	}
}

// recorded checks that every chart has figures of this run, and every claim a
// measured figure.
func recorded(t *testing.T, s report.Section) {
	t.Helper()
	for _, c := range s.Charts {
		n := 0
		for _, f := range s.Figures {
			if f.Chart == c.Name && f.Median.Known() && f.Unit == c.Unit {
				n++
			}
		}
		if n < 2 {
			t.Errorf("%d figures are in the chart %s", n, c.Name)
		}
	}
	if len(s.Charts) == 0 || len(s.Claims) == 0 || len(s.Settings) == 0 {
		t.Errorf("%d charts, %d claims, %d settings", len(s.Charts), len(s.Claims), len(s.Settings))
	}
	for _, c := range s.Claims {
		assert.Truef(t, c.Judged().Known(), "%+v", c)
	}
}

// lineWith finds the goal's line that has a text.
func lineWith(out, text string) (string, bool) {
	for line := range strings.Lines(out) {
		if strings.Contains(line, text) && strings.Contains(line, "goal") {
			return line, true
		}
	}
	return "", false
}
