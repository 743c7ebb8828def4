package cli

import (
	"bytes"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millrace-go/millrace/cmd/millrace/internal/database"
	"github.com/millrace-go/millrace/outbox/debezium"
	"github.com/millrace-go/millrace/sqltx"
)

// debeziumCommand prints settings; it does not connect.
func (a *app) debeziumCommand() *cobra.Command {
	var db, kind, connector, format string
	var o debezium.Options
	cmd := &cobra.Command{
		Use: "debezium", Short: "Print the settings of a Debezium connector that reads the outbox",
		Long: "debezium prints what Kafka Connect has to be told, so that Debezium's outbox event router publishes the outbox's events instead of the relay. " +
			"Host, port and database are those of --db. The connector's password is never printed: Kafka Connect reads MILLRACE_DEBEZIUM_PASSWORD from its environment.",
		Example: "  millrace outbox debezium --db postgres://app:secret@db/shop > connector.properties\n" +
			"  millrace outbox debezium --connector mariadb --host db --database shop --format json | curl -d @- -H 'Content-Type: application/json' http://connect:8083/connectors",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.locate(&o, db, connector); err != nil {
				return err
			}
			if o.Status = kind == string(database.Status); !o.Status && kind != string(database.Cursor) {
				return usage("--kind is %q; use %s", kind, list(database.Cursor, database.Status))
			}
			write, ok := map[string]func(io.Writer, debezium.Options) error{
				"properties": debezium.WriteProperties, "json": debezium.WriteJSON,
			}[format]
			if !ok {
				return usage("--format is %q; use properties or json", format)
			}
			var text bytes.Buffer
			if err := write(&text, o); err != nil {
				return usageError{err}
			}
			_, err := text.WriteTo(a.Out)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&db, "db", "", "URL of the database (or "+dbVariable+")")
	f.StringVar(&kind, "kind", string(database.Cursor), "of the outbox: "+list(database.Cursor, database.Status))
	f.StringVar(&connector, "connector", "", list(database.Postgres, database.MySQL, mariaDB)+"; by the URL's scheme by default")
	f.StringVar(&format, "format", "properties", "properties for Connect standalone, json for its REST interface")
	f.StringVar(&o.Name, "name", "", "of the connector (default millrace-outbox)")
	f.StringVar(&o.User, "user", "", "that Debezium signs in as (default debezium)")
	f.StringVar(&o.Host, "host", "", "of the database, as Kafka Connect sees it")
	f.StringVar(&o.Port, "port", "", "of the database")
	f.StringVar(&o.DatabaseName, "database", "", "the database's name")
	f.StringVar(&o.Schema, "schema", "", "of the outbox's table on PostgreSQL (default public)")
	f.StringVar(&o.Prefix, "prefix", "", "of the outbox's tables (default outbox)")
	f.StringVar(&o.Brokers, "brokers", "", "Kafka, for the history of the schema on MySQL and MariaDB (default localhost:9092)")
	f.IntVar(&o.ServerID, "server-id", 0, "unique among the replicas of MySQL or MariaDB (default 184054)")
	offersURLs(cmd, "db", dbSchemes()...)
	offers(cmd, "kind", string(database.Cursor), string(database.Status))
	offers(cmd, "connector", string(database.Postgres), string(database.MySQL), string(mariaDB))
	offers(cmd, "format", "properties", "json")
	return cmd
}

// mariaDB is a value of --connector, and the scheme of a URL of a database in MySQL's dialect.
const mariaDB database.Dialect = "mariadb"

// locate fills in settings of the database's URL that no flag sets.
func (a *app) locate(o *debezium.Options, db, connector string) error {
	o.Dialect, o.MariaDB = sqltx.Dialect(connector), connector == string(mariaDB)
	if o.MariaDB {
		o.Dialect = sqltx.MySQL
	}
	raw, err := a.url("db", db, dbVariable)
	if err != nil {
		if connector == "" {
			return usage("give --db, or --connector with --host and --database")
		}
		return nil
	}
	dialect, err := database.DialectOf(raw)
	if err != nil {
		return usageError{err}
	}
	u, err := url.Parse(raw)
	if err != nil {
		return usage("the URL of --db is malformed; percent-encode special characters in user and password")
	}
	if connector == "" {
		scheme, _, _ := strings.Cut(raw, "://")
		o.Dialect, o.MariaDB = sqltx.Dialect(dialect), scheme == string(mariaDB)
	}
	for field, value := range map[*string]string{
		&o.Host: u.Hostname(), &o.Port: u.Port(), &o.DatabaseName: strings.TrimPrefix(u.Path, "/"), &o.Schema: u.Query().Get("search_path"),
	} {
		if *field == "" {
			*field = value
		}
	}
	return nil
}
