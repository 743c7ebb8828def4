package event_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

type seatHeld struct {
	Seats []string `json:"seats"`
}

func ExampleNew() {
	e, err := event.New("SeatHeld", "boxoffice", seatHeld{Seats: []string{"A-1", "A-2"}})
	if err != nil {
		panic(err)
	}
	e.AggregateType, e.AggregateID = "show", "show-1"
	fmt.Println(e.Type, e.Version, e.Key(), string(e.Data))

	var held seatHeld
	if err := e.UnmarshalData(&held); err != nil {
		panic(err)
	}
	fmt.Println(held.Seats)
	// Output:
	// SeatHeld v1 show-1 {"seats":["A-1","A-2"]}
	// [A-1 A-2]
}

// fixed returns an event without the fields that change from run to run.
func fixed() event.Event {
	return event.Event{
		ID: "e-1", Type: "SeatHeld", Source: "boxoffice",
		Time:        time.Date(2026, 3, 1, 19, 30, 0, 0, time.UTC),
		AggregateID: "show-1", Sequence: 7, ActorID: "김민지",
		Data: []byte(`{"seats":["A-1"]}`),
	}
}

func ExampleStructured() {
	msg, err := event.Structured{}.Encode(fixed())
	if err != nil {
		panic(err)
	}
	fmt.Println(msg.UUID, msg.Metadata)
	fmt.Println(string(msg.Payload))
	// Output:
	// e-1 map[content-type:application/cloudevents+json partitionkey:show-1]
	// {"specversion":"1.0","id":"e-1","source":"boxoffice","type":"SeatHeld","subject":"show-1","time":"2026-03-01T19:30:00Z","datacontenttype":"application/json","sequence":"7","actorid":"김민지","data":{"seats":["A-1"]}}
}

func ExampleBinary() {
	msg, err := event.Binary{Binding: event.HTTPBinding}.Encode(fixed())
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"ce-id", "ce-subject", "ce-actorid", "content-type", "partitionkey"} {
		fmt.Printf("%s: %s\n", name, msg.Metadata[name])
	}
	fmt.Println(string(msg.Payload))
	// Output:
	// ce-id: e-1
	// ce-subject: show-1
	// ce-actorid: %EA%B9%80%EB%AF%BC%EC%A7%80
	// content-type: application/json
	// partitionkey: show-1
	// {"seats":["A-1"]}
}

func ExampleDecode() {
	msg := message.NewMessage("m-1", []byte(`{"amount":120000}`))
	msg.Metadata = message.Metadata{
		"ce_specversion": "1.0", "ce_id": "e-1", "ce_type": "PaymentSuccess", "ce_source": "/payments",
		"ce_subject": "res-1042", "ce_region": "kr", "content-type": "application/json",
	}
	e, err := event.Decode(msg)
	if err != nil {
		panic(err)
	}
	fmt.Println(e.Type, e.AggregateID, e.Extensions, string(e.Data))
	// Output: PaymentSuccess res-1042 map[region:kr] {"amount":120000}
}

func ExampleDecode_error() {
	msg := message.NewMessage("m-1", []byte(`{"specversion":"1.0","id":"e-1","source":"/p","type":"T","time":"yesterday"}`))
	msg.Metadata[event.ContentTypeHeader] = "application/cloudevents+json"
	_, err := event.Decode(msg)
	fmt.Println(err)
	fmt.Println(fault.Of(err))
	// Output:
	// event: decode message "m-1": time: "yesterday" is not an RFC 3339 timestamp
	// permanent
}

func ExampleEvent_CausedBy() {
	payment := event.Event{ID: "e-1", CorrelationID: "request-9"}
	confirmed := event.Event{ID: "e-2"}.CausedBy(payment)
	fmt.Println(confirmed.CorrelationID, confirmed.CausationID)
	// Output: request-9 e-1
}

func ExampleEvent_Validate() {
	e := fixed()
	e.Priority = "urgent"
	fmt.Println(e.Validate())
	// Output: event: priority: "urgent" is neither HIGH nor LOW
}

func ExampleEvent_MarshalJSON() {
	doc, err := json.Marshal(map[string]any{"latest": event.Event{ID: "e-1", Type: "T", Source: "s"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(doc))
	// Output: {"latest":{"specversion":"1.0","id":"e-1","source":"s","type":"T"}}
}

func ExampleKey() {
	msg, err := event.Structured{}.Encode(fixed())
	if err != nil {
		panic(err)
	}
	fmt.Println(event.Key(msg))
	// Output: show-1
}
