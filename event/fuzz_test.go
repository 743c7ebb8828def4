package event

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
)

// roundTrip checks the guarantees of every successful decoding: the event is valid, both codecs
// can encode it, and decoding the result gives the same event. FuzzSDK checks that the SDK
// reads the document with the same meaning.
func roundTrip(t *testing.T, e Event) {
	t.Helper()
	if err := e.Validate(); err != nil {
		t.Fatalf("decoded an invalid event: %v\n%+v", err, e)
	}
	const unlimited = 1 << 40
	msg, err := Structured{MaxSize: unlimited}.Encode(e)
	require.NoErrorf(t, err, "cannot write what was read: %v\n%+v", err, e)
	again, err := Structured{MaxSize: unlimited}.decode(msg)
	if err != nil {
		t.Fatalf("cannot read what was written: %v\n%s", err, msg.Payload)
	}
	want := canonical(e, true)
	require.NoError(t, diff(again, want))
	for _, binding := range []Binding{KafkaBinding, HTTPBinding} {
		msg, err := Binary{binding, unlimited}.Encode(e)
		if isStructured(e.DataContentType) {
			wantError(t, err, "datacontenttype")
			continue
		}
		require.NoErrorf(t, err, "cannot write what was read: %v\n%+v", err, e)
		again, err := Binary{binding, unlimited}.decode(msg)
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%v", err, msg.Metadata)
		}
		require.NoError(t, diff(again, canonical(e, false)))
	}
}

func FuzzDecodeStructured(f *testing.F) {
	const required = `"specversion":"1.0","id":"1","source":"s","type":"T"`
	e := full()
	for _, contentType := range []string{jsonType, "text/plain", "a/b+json"} {
		e.DataContentType = contentType
		msg, err := Structured{}.Encode(e)
		require.NoError(f, err)
		f.Add([]byte(msg.Payload))
		f.Add([]byte(msg.Payload[:len(msg.Payload)/2]))
	}
	for _, more := range []string{
		``, `,"data":null`, `,"data":[1,{"a":"b\u0041"}]`, `,"data_base64":"AP8="`, `,"datacontenttype":"text/plain","data":"x\ny"`,
		`,"sequence":42`, `,"sequence":-1`, `,"time":"2026-03-01T09:00:00+09:00"`, `,"x":true,"y":-5,"Z":"\"\\"`, `,"x":1.5`, `,"id":"2"`,
		`,"subject":null`, `,"priority":"LOW"`, `,"source":"a b%20"`, `,"datacontenttype":"a/b+json","data":"{}"`, `,"dataschema":"urn:x"`,
	} {
		f.Add([]byte("{" + required + more + "}"))
	}
	f.Add([]byte(`{"data":1}`))
	f.Add([]byte(`[` + strings.Repeat("[", 100)))
	f.Fuzz(func(t *testing.T, doc []byte) {
		e, err := Structured{}.decode(message.NewMessage("m", doc))
		if err != nil {
			wantDecodeError(t, err, e)
			return
		}
		roundTrip(t, e)
	})
}

// FuzzDecodeBinary is best run with -fuzzminimizetime=20x: metadata is a map, so coverage
// varies with its order, and the fuzzer would spend its time minimizing inputs that are not
// new.
func FuzzDecodeBinary(f *testing.F) {
	seed := func(msg *message.Message) {
		var b strings.Builder
		for _, k := range slices.Sorted(maps.Keys(msg.Metadata)) {
			fmt.Fprintf(&b, "%s\t%s\n", k, msg.Metadata[k])
		}
		f.Add(b.String(), []byte(msg.Payload))
	}
	for _, binding := range []Binding{KafkaBinding, HTTPBinding, AMQPBinding} {
		msg, err := Binary{Binding: binding}.Encode(full())
		require.NoError(f, err)
		seed(msg)
	}
	seed(binaryMessage("", required("Ce-")...))
	seed(binaryMessage("{}", required("cloudEvents:", "content-type", jsonType)...))
	seed(binaryMessage("\xff", required("ce_", "content-type", "a/b", "ce_time", "x", "ce_x", "")...))
	seed(binaryMessage("", required("ce-", "ce-subject", `"a\"%C0%A0%2"`)...))
	seed(structuredMessage(`{"specversion":"1.0","id":"1","source":"s","type":"T"}`))
	f.Fuzz(func(t *testing.T, headers string, body []byte) {
		msg := message.NewMessage("m", body)
		for line := range strings.SplitSeq(headers, "\n") {
			k, v, _ := strings.Cut(line, "\t")
			msg.Metadata[k] = v
		}
		Key(msg)
		e, err := Decode(msg)
		if err != nil {
			wantDecodeError(t, err, e)
			return
		}
		roundTrip(t, e)
	})
}
