package config_test

import (
	"fmt"
	"io"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/app"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/config"
)

func ExampleParse() {
	env := map[string]string{"BOXOFFICE_ROLES": "api,relay", "BOXOFFICE_DB_URL": "sqlite:///srv/boxoffice.db", "BOXOFFICE_REDIS_URL": "redis://redis:6379/0"}
	getenv := func(name string) string { return env[name] }

	c, err := config.Parse([]string{"--addr", "127.0.0.1:9000"}, getenv, app.Schemes(), io.Discard)
	fmt.Println(c.Addr, c.Roles, c.BusURL, err)

	_, err = config.Parse([]string{"--roles", "boss"}, getenv, app.Schemes(), io.Discard)
	fmt.Println(err)
	// Output:
	// 127.0.0.1:9000 [api relay] sqlite:///srv/boxoffice.db <nil>
	// BOXOFFICE_ROLES (--roles): unknown role "boss"; known are: api, relay, worker, admitter, all
}
