package cloudeventstest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/binding/format"
	sdk "github.com/cloudevents/sdk-go/v2/event"

	"github.com/millrace-go/millrace/event"
)

// BenchmarkSDK encodes and decodes a document with the CloudEvents SDK, for comparison with
// package event's BenchmarkEncode and BenchmarkDecode.
func BenchmarkSDK(b *testing.B) {
	msg, err := event.Structured{}.Encode(event.Event{
		ID: "1042", Type: "PaymentSuccess", Source: "boxoffice/payments", AggregateType: "reservation", AggregateID: "res-1042", PartitionKey: "user-7",
		CorrelationID: "1042", CausationID: "1042", ActorID: "user-7", Data: json.RawMessage(`{"note":"` + strings.Repeat("note ", 100) + `"}`),
	})
	if err != nil {
		b.Fatal(err)
	}
	var e sdk.Event
	if err := format.JSON.Unmarshal(msg.Payload, &e); err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var buf bytes.Buffer // not through json.Marshal, which would compact it again
			if err := sdk.WriteJson(&e, &buf); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var e sdk.Event
			if err := sdk.ReadJson(&e, bytes.NewReader(msg.Payload)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
