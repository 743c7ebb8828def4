package debezium

import (
	"fmt"
	"regexp"

	"github.com/millrace-go/millrace/sqltx"
)

// Options describe the outbox that Debezium is to read, and its connector. Dialect must be set.
type Options struct {
	// Dialect of the database: sqltx.Postgres or sqltx.MySQL.
	Dialect sqltx.Dialect
	// MariaDB chooses MariaDB's connector, with the dialect sqltx.MySQL.
	MariaDB bool
	// Status is that of the store's Config: the outbox's table is outbox_events, and not
	// outbox_messages.
	Status bool
	// Name of the connector; "millrace-outbox" when empty. Its slot, publication and topics
	// have the same name with _ for -.
	Name string
	// Host, Port, User and DatabaseName locate the database; localhost, the database's usual
	// port, "debezium" and "app" when empty. The password is never part of the settings: they
	// name the variable MILLRACE_DEBEZIUM_PASSWORD, which Kafka Connect reads from its
	// environment.
	Host, Port, User, DatabaseName string
	// Schema of the table on PostgreSQL; "public" when empty.
	Schema string
	// Prefix of the table's name, as in the store's Config; "outbox" when empty.
	Prefix string
	// Brokers are the Kafka brokers on which MySQL's and MariaDB's connectors keep the history
	// of the schema; "localhost:9092" when empty.
	Brokers string
	// ServerID must be unique among the replicas of a MySQL or MariaDB server;
	// 184054 when zero.
	ServerID int
}

var (
	connectorName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,50}$`)
	plainName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)
	address       = regexp.MustCompile(`^[A-Za-z0-9._:,\[\]-]*$`)
)

func (o Options) withDefaults() Options {
	port := "5432"
	if o.Dialect != sqltx.Postgres {
		port = "3306"
	}
	for _, f := range []struct {
		field *string
		value string
	}{
		{&o.Name, "millrace-outbox"}, {&o.Host, "localhost"}, {&o.Port, port}, {&o.User, "debezium"},
		{&o.DatabaseName, "app"}, {&o.Schema, "public"}, {&o.Brokers, "localhost:9092"},
		{&o.Prefix, "outbox"},
	} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
	if o.ServerID == 0 {
		o.ServerID = 184054
	}
	return o
}

func (o Options) validate() error {
	if o.Dialect != sqltx.Postgres && o.Dialect != sqltx.MySQL {
		return fmt.Errorf("debezium: Options.Dialect is %q; Debezium reads %q and, also for MariaDB, %q", o.Dialect, sqltx.Postgres, sqltx.MySQL)
	}
	if o.MariaDB && o.Dialect != sqltx.MySQL {
		return fmt.Errorf("debezium: Options.MariaDB is set with the Dialect %q; use %q", o.Dialect, sqltx.MySQL)
	}
	if !connectorName.MatchString(o.Name) {
		return fmt.Errorf("debezium: Options.Name is %q; use lower-case letters, digits, _ and -, at most 51", o.Name)
	}
	for name, value := range map[string]string{"User": o.User, "DatabaseName": o.DatabaseName, "Schema": o.Schema, "Prefix": o.Prefix} {
		if !plainName.MatchString(value) {
			return fmt.Errorf("debezium: Options.%s is %q; use letters, digits, _ and -", name, value)
		}
	}
	for name, value := range map[string]string{"Host": o.Host, "Port": o.Port, "Brokers": o.Brokers} {
		if !address.MatchString(value) {
			return fmt.Errorf("debezium: Options.%s is no host, port or list of them", name) // the value may hold a password
		}
	}
	if o.ServerID < 0 {
		return fmt.Errorf("debezium: Options.ServerID is %d; use a positive number", o.ServerID)
	}
	return nil
}
