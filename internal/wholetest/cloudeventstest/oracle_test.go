package cloudeventstest

// The CloudEvents SDK for Go is the oracle of package event here: each must read the
// documents of the other with the same meaning.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/binding/format"
	sdk "github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/draw"
)

// attributesOf returns the attributes of an event as strings, without those
// that are empty and those of the SDK that it normalizes as URIs.
func attributesOf(e event.Event) map[string]string {
	m := map[string]string{
		"id": e.ID, "type": e.Type, "subject": e.AggregateID, "datacontenttype": e.DataContentType, "aggregatetype": e.AggregateType,
		"partitionkey": e.PartitionKey, "dataversion": e.Version, "correlationid": e.CorrelationID, "causationid": e.CausationID,
		"actorid": e.ActorID, "targetid": e.TargetID, "refid": e.RefID, "priority": string(e.Priority),
		"traceparent": e.TraceParent, "tracestate": e.TraceState,
	}
	maps.DeleteFunc(m, func(_, value string) bool { return value == "" })
	if !e.Time.IsZero() {
		m["time"] = types.FormatTime(e.Time)
	}
	if e.Sequence != 0 {
		m["sequence"] = fmt.Sprint(e.Sequence)
	}
	for k, v := range e.Extensions {
		m[k] = v
	}
	m["source"] = types.ParseURIRef(e.Source).String()
	if e.DataSchema != "" {
		m["dataschema"] = types.ParseURI(e.DataSchema).String()
	}
	return m
}

// attributesOfSDK does the same for an event of the SDK.
func attributesOfSDK(e *sdk.Event) (map[string]string, error) {
	m := map[string]string{"id": e.ID(), "source": e.Source(), "type": e.Type()}
	for name, v := range map[string]string{"subject": e.Subject(), "datacontenttype": e.DataContentType(), "dataschema": e.DataSchema()} {
		if v != "" {
			m[name] = v
		}
	}
	if !e.Time().IsZero() {
		m["time"] = types.FormatTime(e.Time())
	}
	for name, v := range e.Extensions() {
		s, err := types.Format(v)
		if err != nil {
			return nil, fmt.Errorf("extension %s: %w", name, err)
		}
		m[name] = s
	}
	return m, nil
}

func sameAttributes(got, want map[string]string) error {
	if g, w := fmt.Sprintf("%q", got), fmt.Sprintf("%q", want); g != w {
		return fmt.Errorf("attributes differ\n got %s\nwant %s", g, w)
	}
	return nil
}

// readWithSDK makes the SDK read a structured document and compares.
func readWithSDK(doc []byte, want event.Event) error {
	var e sdk.Event
	if err := format.JSON.Unmarshal(doc, &e); err != nil {
		return fmt.Errorf("the SDK does not read it: %w\n%s", err, doc)
	}
	if err := e.Validate(); err != nil {
		return fmt.Errorf("the SDK does not accept it: %w\n%s", err, doc)
	}
	got, err := attributesOfSDK(&e)
	if err != nil {
		return err
	}
	if err := sameAttributes(got, attributesOf(want)); err != nil {
		return err
	}
	data := e.Data()
	if inline(want.DataContentType) { // the SDK keeps white space around a value
		data = bytes.TrimSpace(data)
	}
	if !bytes.Equal(data, want.Data) {
		return fmt.Errorf("data %q, want %q", data, want.Data)
	}
	return nil
}

func TestSDKReadsStructured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent().Draw(t, "event")
		msg, err := event.Structured{}.Encode(e)
		require.NoError(t, err)
		require.NoError(t, readWithSDK(msg.Payload, canonical(e, true)))
	})
}

// anySDKEvent draws an event as a foreign producer makes it with the SDK.
func anySDKEvent(plain *rapid.Generator[string]) *rapid.Generator[sdk.Event] {
	filled := plain.Filter(draw.NotBlank)
	return rapid.Custom(func(t *rapid.T) sdk.Event {
		e := sdk.New()
		e.SetID(filled.Draw(t, "id"))
		e.SetType(filled.Draw(t, "type"))
		e.SetSource(rapid.SampledFrom([]string{"/a", "urn:x:1", "https://a.example/b?c=1#d", "name", "a b"}).Draw(t, "source"))
		if s := draw.Maybe(filled).Draw(t, "subject"); s != "" {
			e.SetSubject(s)
		}
		if at := draw.Instant().Draw(t, "time"); !at.IsZero() {
			e.SetTime(at)
		}
		if s := rapid.SampledFrom([]string{"", "https://a.example/s", "urn:s"}).Draw(t, "dataschema"); s != "" {
			e.SetDataSchema(s)
		}
		if rapid.Bool().Draw(t, "known") {
			e.SetExtension("partitionkey", filled.Draw(t, "partitionkey"))
			e.SetExtension("sequence", rapid.SampledFrom([]any{7, "0012", "18446744073709551615"}).Draw(t, "sequence"))
			e.SetExtension("priority", rapid.SampledFrom([]string{"HIGH", "LOW"}).Draw(t, "priority"))
			e.SetExtension("actorid", rapid.SampledFrom([]any{42, true, "me"}).Draw(t, "actorid"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "extensions") {
			name := extensionNames.Draw(t, "name")
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				e.SetExtension(name, plain.Draw(t, "string"))
			case 1:
				e.SetExtension(name, rapid.Int32().Draw(t, "integer"))
			case 2:
				e.SetExtension(name, rapid.Bool().Draw(t, "boolean"))
			case 3:
				e.SetExtension(name, rapid.SliceOf(rapid.Byte()).Draw(t, "binary"))
			case 4:
				e.SetExtension(name, types.ParseURI("https://a.example/x"))
			case 5:
				e.SetExtension(name, types.ParseURIRef("../x"))
			}
		}
		var err error
		switch rapid.IntRange(0, 5).Draw(t, "data") {
		case 1:
			err = e.SetData("application/json", json.RawMessage(draw.JSON().Draw(t, "json")))
		case 2:
			err = e.SetData("text/json", map[string]string{"a": plain.Draw(t, "text")})
		case 3:
			err = e.SetData("text/plain", plain.Draw(t, "text"))
		case 4:
			err = e.SetData("a/b; c=d", rapid.SliceOf(rapid.Byte()).Draw(t, "binary"))
		case 5:
			e.DataEncoded = []byte(`{"implied":"type"}`)
		}
		require.NoError(t, err)
		return e
	})
}

// sameAsSDK compares an event decoded by Millrace with the SDK's original.
func sameAsSDK(got event.Event, want *sdk.Event) error {
	attributes, err := attributesOfSDK(want)
	if err != nil {
		return err
	}
	if s, ok := attributes["sequence"]; ok {
		attributes["sequence"] = strings.TrimLeft(s, "0")
	}
	if want.DataContentType() == "" && len(want.Data()) > 0 {
		attributes["datacontenttype"] = "application/json"
	}
	if err := sameAttributes(attributesOf(got), attributes); err != nil {
		return err
	}
	if (inline(got.DataContentType) || got.DataContentType == "application/vnd.seat+json") && len(got.Data) > 0 { // json.Marshal compacts and escapes
		var a, b any
		if err := json.Unmarshal(got.Data, &a); err != nil {
			return err
		}
		if err := json.Unmarshal(want.Data(), &b); err != nil {
			return err
		}
		if fmt.Sprintf("%#v", a) != fmt.Sprintf("%#v", b) {
			return fmt.Errorf("data %s, want %s", got.Data, want.Data())
		}
		return nil
	}
	if !bytes.Equal(got.Data, want.Data()) {
		return fmt.Errorf("data %q, want %q", got.Data, want.Data())
	}
	return nil
}

func TestReadsStructuredOfSDK(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anySDKEvent(draw.Text()).Draw(t, "event")
		doc, err := format.JSON.Marshal(&want)
		require.NoError(t, err)
		got, err := event.Decode(structured(doc))
		require.NoErrorf(t, err, "%v\n%s", err, doc)
		if err := sameAsSDK(got, &want); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		// The event can be passed on: the SDK reads Millrace's encoding of it.
		msg, err := event.Structured{}.Encode(got)
		require.NoError(t, err)
		require.NoError(t, readWithSDK(msg.Payload, got))
	})
}

// TestSDKTime pins the extremes of time, where the two could round differently.
func TestSDKTime(t *testing.T) {
	for _, at := range []time.Time{
		time.Date(2026, 2, 28, 23, 59, 59, 999999999, time.UTC),
		time.Date(2026, 2, 28, 23, 59, 59, 0, time.FixedZone("KST", 9*3600)),
		time.Date(9999, 12, 31, 23, 59, 59, 1, time.UTC),
		time.Unix(0, 0),
	} {
		e := event.Event{ID: "1", Type: "T", Source: "s"}
		e.Time = at
		msg, err := event.Structured{}.Encode(e)
		require.NoError(t, err)
		assert.NoError(t, readWithSDK(msg.Payload, canonical(e, true)))
	}
}
