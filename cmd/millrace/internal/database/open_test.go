package database_test

import (
	"strings"
	"testing"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/internal/sqlname"
)

func TestPlain(t *testing.T) {
	for raw, want := range map[string]string{
		"postgres://u:p@h/d": "postgres://u:p@h/d",
		"postgres://u:p@h/d?partitions=3&sslmode=require&poll=1s":           "postgres://u:p@h/d?sslmode=require",
		"mysql://h/d?mode=tx&retention=72h":                                 "mysql://h/d",
		"postgres://u:a?b@h/d":                                              "postgres://u:a?b@h/d",
		"postgres://h/d?options=-c%20search_path%3Dpoll&application_name=x": "postgres://h/d?options=-c%20search_path%3Dpoll&application_name=x",
	} {
		if got := database.Plain(raw); got != want {
			t.Errorf("%s without the transport's parameters is %s, want %s", raw, got, want)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	for raw, want := range map[string]string{
		"app:gehe1m@db":          "no scheme",
		"redis://:gehe1m@h":      "not that of a database",
		"sqlite://u:gehe1m@x/y":  "no user",
		"sqlite:///":             "names no file",
		"sqlite:///no/such/a.db": "there is no file",
		"mysql://u:gehe1m@h":     "one database",
		"postgres://u:gehe1m@[h": "",
	} {
		d, err := database.Open(raw, false)
		if err == nil {
			t.Errorf("%s opens as %+v", raw, d)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "gehe1m") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, name := range []string{"outbox", "outbox-status", "bus", "idempotency", "leases", "counter", "counter-log"} {
		for _, d := range database.Dialects() {
			parts, err := database.Parts(database.Dialect(d), "", sqlname.Names{}, name)
			if err != nil || len(parts) != 1 || len(parts[0].Sets) == 0 {
				t.Errorf("%s on %s: %+v %v", name, d, parts, err)
			}
		}
	}
}
