package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
)

// benchEvent is an event as an application appends it, with data of about n
// bytes of JSON.
func benchEvent(b *testing.B, n int) Event {
	b.Helper()
	type line struct {
		Seat  string `json:"seat"`
		Price int    `json:"price"`
		Note  string `json:"note"`
	}
	var data []line
	for i := 0; i == 0 || i*75 < n; i++ {
		data = append(data, line{fmt.Sprintf("A-%d", i), 120000 + i, strings.Repeat("note ", 7)})
	}
	e, err := New("PaymentSuccess", "boxoffice/payments", data)
	require.NoError(b, err)
	e.AggregateType, e.AggregateID, e.PartitionKey, e.Sequence = "reservation", "res-1042", "user-7", 3
	e.CorrelationID, e.CausationID, e.ActorID = e.ID, e.ID, "user-7"
	e.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	return e
}

func codecs() map[string]codec {
	return map[string]codec{"structured": Structured{}, "kafka": Binary{}, "http": Binary{Binding: HTTPBinding}}
}

func BenchmarkEncode(b *testing.B) {
	for _, size := range []int{500, 16_000} {
		e := benchEvent(b, size)
		for name, codec := range codecs() {
			b.Run(fmt.Sprintf("%s/%dB", name, len(e.Data)), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := codec.Encode(e); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{500, 16_000} {
		e := benchEvent(b, size)
		for name, codec := range codecs() {
			msg, err := codec.Encode(e)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%dB", name, len(e.Data)), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Decode(msg); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkKey(b *testing.B) {
	ours, err := Structured{}.Encode(benchEvent(b, 500))
	if err != nil {
		b.Fatal(err)
	}
	foreign, err := Binary{}.Encode(benchEvent(b, 500))
	if err != nil {
		b.Fatal(err)
	}
	delete(foreign.Metadata, KeyHeader)
	for name, msg := range map[string]*message.Message{"header": ours, "foreign": foreign} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if Key(msg) != "user-7" {
					b.Fatal("wrong key")
				}
			}
		})
	}
}

func BenchmarkCheckJSON(b *testing.B) {
	data := benchEvent(b, 16_000).Data
	for name, valid := range map[string]func([]byte) bool{
		"checkJSON":  func(d []byte) bool { return checkJSON(d) == nil },
		"json.Valid": json.Valid,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if !valid(data) {
					b.Fatal("invalid")
				}
			}
		})
	}
}
