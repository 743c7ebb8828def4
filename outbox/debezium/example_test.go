package debezium_test

import (
	"os"
	"strings"

	"github.com/millrace-go/millrace/outbox/debezium"
)

func ExampleSettings() {
	settings, err := debezium.Settings(debezium.Options{Database: debezium.PostgreSQL, Store: debezium.Status})
	if err != nil {
		panic(err)
	}
	var router []debezium.Setting
	for _, s := range settings {
		if strings.HasPrefix(s.Name, "transforms.outbox.") {
			s.Why = ""
			router = append(router, s)
		}
	}
	if err := debezium.WriteProperties(os.Stdout, router); err != nil {
		panic(err)
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
