package debezium_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/millrace-go/millrace/outbox/debezium"
	"github.com/millrace-go/millrace/sqltx"
)

func ExampleWriteProperties() {
	var file bytes.Buffer
	if err := debezium.WriteProperties(&file, debezium.Options{Dialect: sqltx.Postgres, Status: true}); err != nil {
		panic(err)
	}
	for line := range strings.Lines(file.String()) {
		if strings.HasPrefix(line, "transforms.outbox.") {
			fmt.Print(line)
		}
	}
	// Output:
	// transforms.outbox.type=io.debezium.transforms.outbox.EventRouter
	// transforms.outbox.table.field.event.id=id
	// transforms.outbox.table.field.event.key=event_key
	// transforms.outbox.table.field.event.type=event_type
	// transforms.outbox.table.field.event.payload=payload
	// transforms.outbox.table.fields.additional.placement=id:header:_watermill_message_uuid,event_key:header:partitionkey,event_type:header:event_type
	// transforms.outbox.route.by.field=topic
	// transforms.outbox.route.topic.replacement=${routedByValue}
	// transforms.outbox.table.expand.json.payload=false
}
