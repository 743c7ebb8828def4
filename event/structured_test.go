package event

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/fault"
)

func structuredMessage(doc string) *message.Message {
	msg := message.NewMessage("m-1", []byte(doc))
	msg.Metadata[ContentTypeHeader] = structuredJSON
	return msg
}

func TestStructuredDocument(t *testing.T) {
	msg, err := Structured{}.Encode(full())
	require.NoError(t, err)
	want := `{"specversion":"1.0","id":"0190163d-8694-739b-aea5-966c26f8ad90","source":"boxoffice/payments",` +
		`"type":"PaymentSuccess","subject":"res-1042","time":"2026-03-01T19:30:00.123456789Z",` +
		`"datacontenttype":"application/json","dataschema":"https://millrace.example/schemas/payment.json",` +
		`"aggregatetype":"reservation","partitionkey":"user-7","dataversion":"v2","sequence":"18446744073709551615",` +
		`"correlationid":"req-99","causationid":"0190163d-0000-7000-8000-000000000001",` +
		`"actorid":"user-7","targetid":"user-8","refid":"post-3","priority":"HIGH",` +
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"rojo=00f067aa0ba902b7",` +
		`"ce4":"a \"quoted\" \\ value, 100% 🎟","region":"서울",` +
		`"data":{"paymentId":"p-1","amount":120000}}`
	if got := string(msg.Payload); got != want {
		t.Errorf("document\n got %s\nwant %s", got, want)
	}
	assert.Equal(t, full().ID, msg.UUID, "UUID")
	if len(msg.Metadata) != 2 || msg.Metadata["content-type"] != "application/cloudevents+json" || msg.Metadata["partitionkey"] != "user-7" {
		t.Errorf("metadata %v", msg.Metadata)
	}
}

func TestStructuredDocumentMinimal(t *testing.T) {
	msg, err := Structured{}.Encode(minimal())
	require.NoError(t, err)
	if got, want := string(msg.Payload), `{"specversion":"1.0","id":"1","source":"s","type":"T"}`; got != want {
		t.Errorf("document %s, want %s", got, want)
	}
	if _, ok := msg.Metadata[KeyHeader]; ok {
		t.Errorf("a keyless event sets %s", KeyHeader)
	}
}

func TestStructuredData(t *testing.T) {
	for _, c := range []struct {
		contentType, data string
		member            string // of the document
	}{
		{jsonType, ` {"a": [1, 2.50, "ü\u00fc"]} `, `"data": {"a": [1, 2.50, "ü\u00fc"]} `},
		{jsonType, `null`, `"data":null`},
		{jsonType, `"text"`, `"data":"text"`},
		{jsonType, `12345678901234567890.0`, `"data":12345678901234567890.0`},
		{"application/json; charset=utf-8", `{}`, `"data":{}`},
		{"Text/JSON", `{}`, `"data":{}`},
		{"application/vnd.seat+json", `{}`, `"data_base64":"e30="`},
		{"text/plain", `hi "there"`, `"data_base64":"aGkgInRoZXJlIg=="`},
		{"application/octet-stream", "\x00\xff", `"data_base64":"AP8="`},
	} {
		e := minimal()
		e.DataContentType, e.Data = c.contentType, []byte(c.data)
		msg, err := Structured{}.Encode(e)
		if err != nil {
			t.Errorf("%s %s: %v", c.contentType, c.data, err)
			continue
		}
		if !strings.HasSuffix(string(msg.Payload), ","+c.member+"}") {
			t.Errorf("%s %s: document %s", c.contentType, c.data, msg.Payload)
		}
		got, err := Structured{}.decode(msg)
		if err != nil {
			t.Errorf("%s %s: %v", c.contentType, c.data, err)
			continue
		}
		e.Data = []byte(c.data)
		if isInline(c.contentType) { // white space around a value is not part of it
			e.Data = []byte(strings.TrimSpace(c.data))
		}
		wantEqual(t, got, e)
	}
}

func TestStructuredDefaultContentType(t *testing.T) {
	e := minimal()
	e.Data = []byte(`{}`)
	msg, err := Structured{}.Encode(e)
	require.NoError(t, err)
	if !strings.Contains(string(msg.Payload), `"datacontenttype":"application/json"`) {
		t.Errorf("the default is not explicit: %s", msg.Payload)
	}
}

// TestStructuredReads lists documents of foreign producers that Millrace reads but would not
// write.
func TestStructuredReads(t *testing.T) {
	const required = `"specversion":"1.0","id":"1","source":"s","type":"T"`
	base := minimal()
	for name, c := range map[string]struct {
		doc  string
		want func(*Event)
	}{
		"white space":         {" \n{\t" + strings.ReplaceAll(required, ",", " ,\r\n") + " } ", func(e *Event) {}},
		"any order":           {`{"data":1,"type":"T","source":"s","id":"1","specversion":"1.0"}`, func(e *Event) { e.DataContentType, e.Data = jsonType, []byte("1") }},
		"escapes":             {`{"specversion":"1.0","id":"\u0031","source":"s","type":"\u0054"}`, func(e *Event) {}},
		"escaped name":        {`{"specversion":"1.0","\u0069d":"1","source":"s","type":"T"}`, func(e *Event) {}},
		"upper-case name":     {`{"specversion":"1.0","ID":"1","source":"s","type":"T","MyExt":"x"}`, func(e *Event) { e.Extensions = map[string]string{"myext": "x"} }},
		"nulls":               {`{` + required + `,"subject":null,"time":null,"sequence":null,"x":null,"data_base64":null}`, func(e *Event) {}},
		"empty values":        {`{` + required + `,"subject":"","time":"","sequence":"","actorid":"","data_base64":""}`, func(e *Event) {}},
		"empty extension":     {`{` + required + `,"x":""}`, func(e *Event) { e.Extensions = map[string]string{"x": ""} }},
		"time with offset":    {`{` + required + `,"time":"2026-03-01T09:00:00.5+09:00"}`, func(e *Event) { e.Time = time.Date(2026, 3, 1, 0, 0, 0, 5e8, time.UTC) }},
		"sequence string":     {`{` + required + `,"sequence":"0042"}`, func(e *Event) { e.Sequence = 42 }},
		"sequence number":     {`{` + required + `,"sequence":42}`, func(e *Event) { e.Sequence = 42 }},
		"sequence max":        {`{` + required + `,"sequence":18446744073709551615}`, func(e *Event) { e.Sequence = 1<<64 - 1 }},
		"integer extensions":  {`{` + required + `,"x":-7,"actorid":42,"zero":-0}`, func(e *Event) { e.ActorID, e.Extensions = "42", map[string]string{"x": "-7", "zero": "0"} }},
		"boolean extensions":  {`{` + required + `,"x":true,"y":false}`, func(e *Event) { e.Extensions = map[string]string{"x": "true", "y": "false"} }},
		"null data":           {`{` + required + `,"data":null}`, func(e *Event) { e.DataContentType, e.Data = jsonType, []byte("null") }},
		"null text":           {`{` + required + `,"datacontenttype":"text/plain","data":null}`, func(e *Event) { e.DataContentType = "text/plain" }},
		"text":                {`{` + required + `,"datacontenttype":"text/plain","data":"a\nb"}`, func(e *Event) { e.DataContentType, e.Data = "text/plain", []byte("a\nb") }},
		"text before type":    {`{"data":"a",` + required + `,"datacontenttype":"text/plain"}`, func(e *Event) { e.DataContentType, e.Data = "text/plain", []byte("a") }},
		"inline +json":        {`{` + required + `,"datacontenttype":"a/b+json","data":{ }}`, func(e *Event) { e.DataContentType, e.Data = "a/b+json", []byte("{ }") }},
		"+json is a string":   {`{` + required + `,"datacontenttype":"a/b+json","data":"{}"}`, func(e *Event) { e.DataContentType, e.Data = "a/b+json", []byte(`"{}"`) }},
		"untyped base64 JSON": {`{` + required + `,"data_base64":"e30="}`, func(e *Event) { e.DataContentType, e.Data = jsonType, []byte("{}") }},
		"untyped base64":      {`{` + required + `,"data_base64":"AP8="}`, func(e *Event) { e.DataContentType, e.Data = octetStream, []byte{0, 0xff} }},
		"typed base64 JSON":   {`{` + required + `,"datacontenttype":"application/json","data_base64":"e30="}`, func(e *Event) { e.DataContentType, e.Data = jsonType, []byte("{}") }},
		"escaped base64":      {`{` + required + `,"datacontenttype":"a/b","data_base64":"\/\/8="}`, func(e *Event) { e.DataContentType, e.Data = "a/b", []byte{0xff, 0xff} }},
		"replaced surrogate":  {`{` + required + `,"subject":"\ud800"}`, func(e *Event) { e.AggregateID = "\ufffd" }},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Structured{}.decode(structuredMessage(c.doc))
			require.NoError(t, err)
			want := base
			c.want(&want)
			wantEqual(t, got, want)
		})
	}
}

func TestStructuredRefuses(t *testing.T) {
	const required = `"specversion":"1.0","id":"1","source":"s","type":"T"`
	for name, c := range map[string]struct {
		doc, attribute string
		contains       string
	}{
		"empty":               {``, "document", "byte 0"},
		"null":                {`null`, "document", "byte 0"},
		"array":               {`[]`, "document", "byte 0"},
		"not JSON":            {`hello`, "document", "byte 0"},
		"broken at once":      {`{,}`, "document", "byte 1"},
		"no attributes":       {`{}`, "specversion", "missing"},
		"no specversion":      {`{"id":"1","source":"s","type":"T"}`, "specversion", "missing"},
		"null specversion":    {`{"specversion":null,"id":"1","source":"s","type":"T"}`, "specversion", "missing"},
		"old specversion":     {`{"specversion":"0.3","id":"1","source":"s","type":"T"}`, "specversion", "0.3"},
		"no id":               {`{"specversion":"1.0","source":"s","type":"T"}`, "id", "empty"},
		"null id":             {`{"specversion":"1.0","id":null,"source":"s","type":"T"}`, "id", "empty"},
		"no source":           {`{"specversion":"1.0","id":"1","type":"T"}`, "source", "empty"},
		"no type":             {`{"specversion":"1.0","id":"1","source":"s"}`, "type", "empty"},
		"numeric id":          {`{"specversion":"1.0","id":1,"source":"s","type":"T"}`, "id", "1 is not a string"},
		"boolean type":        {`{"specversion":"1.0","id":"1","source":"s","type":true}`, "type", "true"},
		"object subject":      {`{` + required + `,"subject":{}}`, "subject", "not a string"},
		"source":              {`{"specversion":"1.0","id":"1","source":"%","type":"T"}`, "source", "URI"},
		"time":                {`{` + required + `,"time":"yesterday"}`, "time", "yesterday"},
		"time without zone":   {`{` + required + `,"time":"2026-03-01T09:00:00"}`, "time", "RFC 3339"},
		"time beyond 9999":    {`{` + required + `,"time":"9999-12-31T23:59:59-01:00"}`, "time", "10000"},
		"numeric time":        {`{` + required + `,"time":1}`, "time", "not a string"},
		"sequence":            {`{` + required + `,"sequence":"a1"}`, "sequence", "a1"},
		"negative sequence":   {`{` + required + `,"sequence":-1}`, "sequence", "-1"},
		"fractional sequence": {`{` + required + `,"sequence":1.0}`, "sequence", "1.0"},
		"sequence too large":  {`{` + required + `,"sequence":"18446744073709551616"}`, "sequence", "2^64"},
		"priority":            {`{` + required + `,"priority":"URGENT"}`, "priority", "URGENT"},
		"content type":        {`{` + required + `,"datacontenttype":"/"}`, "datacontenttype", "media type"},
		"schema":              {`{` + required + `,"dataschema":"x"}`, "dataschema", "absolute"},
		"extension object":    {`{` + required + `,"x":{}}`, "x", "string"},
		"extension array":     {`{` + required + `,"actorid":[]}`, "actorid", "string"},
		"extension float":     {`{` + required + `,"x":1.5}`, "x", "1.5"},
		"extension exponent":  {`{` + required + `,"x":1e3}`, "x", "1e3"},
		"extension name":      {`{` + required + `,"my_ext":"x"}`, "my_ext", "lower-case"},
		"no name":             {`{` + required + `,"":"x"}`, `""`, "name"},
		"no name, no value":   {`{"":`, `""`, "name"},
		"kelvin sign":         {`{` + required + `,"\u212Aey":"x"}`, "\u212aey", "lower-case"},
		"control character":   {`{` + required + `,"x":"a\u0000"}`, "x", "U+0000"},
		"invalid UTF-8":       {`{` + required + ",\"subject\":\"a\xff\"}", "subject", "UTF-8"},
		"escapes and bad":     {`{` + required + ",\"subject\":\"\\n\xff\"}", "subject", "UTF-8"},
		"twice":               {`{` + required + `,"id":"2"}`, "id", "twice"},
		"extension twice":     {`{` + required + `,"x":"1","X":"2"}`, "x", "twice"},
		"data twice":          {`{` + required + `,"data":1,"data":2}`, "data", "twice"},
		"both data":           {`{` + required + `,"data":1,"data_base64":"e30="}`, "data_base64", "beside"},
		"base64":              {`{` + required + `,"data_base64":"e30"}`, "data_base64", "base64"},
		"base64 object":       {`{` + required + `,"data_base64":{}}`, "data_base64", "string"},
		"base64 not JSON":     {`{` + required + `,"datacontenttype":"application/json","data_base64":"AP8="}`, "data", "not JSON"},
		"text object":         {`{` + required + `,"datacontenttype":"text/plain","data":{}}`, "data", "text/plain"},
		"data invalid UTF-8":  {`{` + required + ",\"data\":\"\xff\"}", "data", "UTF-8"},
		"truncated value":     {`{` + required + `,"subject":"ab`, "subject", "ends"},
		"truncated data":      {`{` + required + `,"data":{"a":[1,`, "data", "ends"},
		"broken data":         {`{` + required + `,"data":{"a":01}}`, "data", "invalid JSON"},
		"truncated object":    {`{` + required, "type", "after it"},
		"missing comma":       {`{` + required + ` "x":"1"}`, "type", "after it"},
		"trailing comma":      {`{` + required + `,}`, "type", "after it"},
		"something behind":    {`{` + required + `}{}`, "type", "after it"},
		"missing colon":       {`{` + required + `,"x" "1"}`, "type", "after it"},
		"too deep":            {`{` + required + `,"data":` + strings.Repeat("[", 20_000) + `}`, "data", "deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Structured{}.decode(structuredMessage(c.doc))
			wantError(t, err, c.attribute, c.contains, `"m-1"`)
			if e.ID != "" || e.Data != nil {
				t.Errorf("an event beside an error: %+v", e)
			}
		})
	}
}

func TestStructuredMaxSize(t *testing.T) {
	e := full()
	msg, err := Structured{}.Encode(e)
	require.NoError(t, err)
	size := len(msg.Payload)
	exact, less := Structured{MaxSize: size}, Structured{MaxSize: size - 1}
	_, err = exact.Encode(e)
	assert.NoError(t, err)
	_, err = exact.decode(msg)
	assert.NoError(t, err)
	if _, err := less.Encode(e); !errors.Is(err, errTooLarge) || fault.Of(err) != fault.Permanent {
		t.Errorf("encode beyond the limit: %v", err)
	}
	if _, err := less.decode(msg); !errors.Is(err, errTooLarge) || fault.Of(err) != fault.Permanent {
		t.Errorf("decode beyond the limit: %v", err)
	}
	// The size is checked before the content: this payload is not JSON at all.
	big := structuredMessage(strings.Repeat("x", defaultMaxSize+1))
	if _, err := (Structured{}).decode(big); !errors.Is(err, errTooLarge) || !strings.Contains(err.Error(), "1048577 bytes, the limit is 1048576") {
		t.Errorf("default limit: %v", err)
	}
	e.Data = []byte(`"` + strings.Repeat("x", defaultMaxSize) + `"`)
	if _, err := (Structured{}).Encode(e); !errors.Is(err, errTooLarge) {
		t.Errorf("default limit: %v", err)
	}
}

func TestEventAsJSON(t *testing.T) {
	type envelope struct{ Event Event }
	doc, err := json.Marshal(envelope{full()})
	require.NoError(t, err)
	var got envelope
	require.NoError(t, json.Unmarshal(doc, &got))
	wantEqual(t, got.Event, full())

	// The data stays valid after the document changes.
	kept := string(got.Event.Data)
	clear(doc)
	assert.Equal(t, kept, string(got.Event.Data), "the data shares the caller's bytes")

	before := got.Event
	assert.NoError(t, json.Unmarshal([]byte(`null`), &got.Event))
	wantEqual(t, got.Event, before)
	err = json.Unmarshal([]byte(`{"specversion":"1.0"}`), &got.Event)
	wantError(t, err, "id")
	wantEqual(t, got.Event, before)
}

func TestDecodedDataCannotGrowIntoTheDocument(t *testing.T) {
	msg := structuredMessage(`{"specversion":"1.0","id":"1","source":"s","type":"T","data":[1],"x":"y"}`)
	before := string(msg.Payload)
	e, err := Structured{}.decode(msg)
	require.NoError(t, err)
	_ = append(e.Data, "overwrite"...)
	if string(msg.Payload) != before {
		t.Errorf("appending to the data changed the message: %s", msg.Payload)
	}
}
