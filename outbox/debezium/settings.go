package debezium

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/millrace-go/millrace/sqltx"
)

// setting is one line of a connector's configuration.
type setting struct {
	Name, Value string
	Why         string // a sentence, or ""
}

// columns are the names of a store's table and of the columns for the router.
type columns struct{ table, id, key string } // the table without its prefix

func (o Options) columns() columns {
	if o.Status {
		return columns{table: "_events", id: "id", key: "event_key"}
	}
	return columns{table: "_messages", id: "message_id", key: "message_key"}
}

// settings returns the configuration of a Debezium connector with the outbox event router, in
// reading order.
func settings(o Options) ([]setting, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	out := []setting{{Name: "name", Value: o.Name}}
	if o.Dialect == sqltx.Postgres {
		out = append(out, o.postgres()...)
	} else {
		out = append(out, o.mysql()...)
	}
	return append(out, o.router()...), nil
}

func (o Options) plain() string { return strings.ReplaceAll(o.Name, "-", "_") }

func (o Options) table() string { return o.Prefix + o.columns().table }

const password = "${env:MILLRACE_DEBEZIUM_PASSWORD}"

func (o Options) postgres() []setting {
	return []setting{
		{Name: "connector.class", Value: "io.debezium.connector.postgresql.PostgresConnector"},
		{Name: "tasks.max", Value: "1"},
		{Name: "database.hostname", Value: o.Host},
		{Name: "database.port", Value: o.Port},
		{Name: "database.user", Value: o.User},
		{Name: "database.password", Value: password, Why: "Kafka Connect fills it in: config.providers=env, config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider."},
		{Name: "database.dbname", Value: o.DatabaseName},
		{Name: "topic.prefix", Value: o.plain()},
		{Name: "plugin.name", Value: "pgoutput"},
		{Name: "slot.name", Value: o.plain()},
		{Name: "publication.name", Value: o.plain()},
		{Name: "publication.autocreate.mode", Value: "filtered", Why: "The publication holds the outbox's table alone."},
		{Name: "table.include.list", Value: o.Schema + "." + o.table()},
	}
}

func (o Options) mysql() []setting {
	class := "io.debezium.connector.mysql.MySqlConnector"
	if o.MariaDB {
		class = "io.debezium.connector.mariadb.MariaDbConnector"
	}
	return []setting{
		{Name: "connector.class", Value: class},
		{Name: "tasks.max", Value: "1"},
		{Name: "database.hostname", Value: o.Host},
		{Name: "database.port", Value: o.Port},
		{Name: "database.user", Value: o.User},
		{Name: "database.password", Value: password, Why: "Kafka Connect fills it in: config.providers=env, config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider."},
		{Name: "database.server.id", Value: strconv.Itoa(o.ServerID), Why: "Unique among the server's replicas."},
		{Name: "topic.prefix", Value: o.plain()},
		{Name: "database.include.list", Value: o.DatabaseName},
		{Name: "table.include.list", Value: o.DatabaseName + "." + o.table()},
		{Name: "schema.history.internal.kafka.bootstrap.servers", Value: o.Brokers},
		{Name: "schema.history.internal.kafka.topic", Value: o.plain() + "_schema_history"},
		{Name: "schema.history.internal.store.only.captured.databases.ddl", Value: "true", Why: "Otherwise it reads all databases of the server, and fails if one is dropped meanwhile."},
		{Name: "schema.history.internal.store.only.captured.tables.ddl", Value: "true"},
		{Name: "include.schema.changes", Value: "false"},
	}
}

func (o Options) router() []setting {
	c := o.columns()
	const router = "transforms.outbox."
	return []setting{
		{Name: "snapshot.mode", Value: "no_data", Why: "Rows that are there may have been published by the relay."},
		{Name: "skipped.operations", Value: "u,d,t", Why: "Only appending makes an event: marking and pruning rows do not."},
		{Name: "tombstones.on.delete", Value: "false"},
		{Name: "binary.handling.mode", Value: "bytes"},

		{Name: "key.converter", Value: "org.apache.kafka.connect.storage.StringConverter"},
		{Name: "value.converter", Value: "io.debezium.converters.BinaryDataConverter", Why: "The payload's bytes are the record's value, as they are."},
		{Name: "value.converter.delegate.converter.type", Value: "org.apache.kafka.connect.json.JsonConverter", Why: "For heartbeats, if you turn them on."},
		{Name: "value.converter.delegate.converter.type.schemas.enable", Value: "false"},
		{Name: "header.converter", Value: "org.apache.kafka.connect.storage.StringConverter"},

		{Name: "transforms", Value: "outbox,contenttype"},
		{Name: router + "type", Value: "io.debezium.transforms.outbox.EventRouter"},
		{Name: router + "table.field.event.id", Value: c.id},
		{Name: router + "table.field.event.key", Value: c.key},
		{Name: router + "table.field.event.type", Value: "event_type"},
		{Name: router + "table.field.event.payload", Value: "payload"},
		{Name: router + "table.fields.additional.placement", Value: fmt.Sprintf(
			"%s:header:_watermill_message_uuid,%s:header:partitionkey,event_type:header:event_type", c.id, c.key),
			Why: "The message's id where Watermill looks for it, and the event's key."},
		{Name: router + "route.by.field", Value: "topic", Why: "The topic that the event was appended to, and not one made of its aggregate's type."},
		{Name: router + "route.topic.replacement", Value: "${routedByValue}"},
		{Name: router + "table.expand.json.payload", Value: "false"},
		{Name: "transforms.contenttype.type", Value: "org.apache.kafka.connect.transforms.InsertHeader"},
		{Name: "transforms.contenttype.header", Value: "content-type"},
		{Name: "transforms.contenttype.value.literal", Value: "application/cloudevents+json", Why: "What event.Structured writes."},
	}
}

// WriteProperties writes the configuration of a Debezium connector with the outbox event router, as
// a file for Kafka Connect standalone.
func WriteProperties(w io.Writer, o Options) error {
	settings, err := settings(o)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, s := range settings {
		if s.Why != "" {
			b.WriteString("# " + s.Why + "\n")
		}
		b.WriteString(s.Name + "=" + s.Value + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("debezium: %w", err)
	}
	return nil
}

// WriteJSON writes the same configuration as the body of a POST to Kafka Connect's /connectors.
func WriteJSON(w io.Writer, o Options) error {
	settings, err := settings(o)
	if err != nil {
		return err
	}
	body := struct {
		Name   string            `json:"name"`
		Config map[string]string `json:"config"`
	}{Config: map[string]string{}}
	for _, s := range settings {
		if s.Name == "name" {
			body.Name = s.Value
			continue
		}
		body.Config[s.Name] = s.Value
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(body); err != nil {
		return fmt.Errorf("debezium: %w", err)
	}
	return nil
}
