package event

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestValidateAccepts(t *testing.T) {
	for name, change := range map[string]func(*Event){
		"minimal":              func(e *Event) { *e = minimal() },
		"full":                 func(e *Event) {},
		"source urn":           func(e *Event) { e.Source = "urn:millrace:boxoffice" },
		"source url":           func(e *Event) { e.Source = "https://a.example/b?c=d#e" },
		"text with parameters": func(e *Event) { e.DataContentType, e.Data = "text/plain; charset=utf-8", []byte{0xff} },
		"low":                  func(e *Event) { e.Priority = Low },
		"year 0":               func(e *Event) { e.Time = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) },
		"no data for JSON":     func(e *Event) { e.Data = []byte{} },
		"null":                 func(e *Event) { e.Data = []byte("null") },
		"spaces in subject":    func(e *Event) { e.AggregateID = " a b " },
		"empty extension":      func(e *Event) { e.Extensions = map[string]string{"x": ""} },
		"korean":               func(e *Event) { e.AggregateID = "공연-1" },
	} {
		e := full()
		change(&e)
		assert.NoErrorf(t, e.Validate(), "%s", name)
	}
}

// refused lists ways to make an event invalid, with the attribute that the error must name.
var refused = map[string]struct {
	change    func(*Event)
	attribute string
}{
	"no id":                  {func(e *Event) { e.ID = "" }, "id"},
	"blank id":               {func(e *Event) { e.ID = " \u3000" }, "id"},
	"no type":                {func(e *Event) { e.Type = "" }, "type"},
	"no source":              {func(e *Event) { e.Source = "" }, "source"},
	"empty authority":        {func(e *Event) { e.Source = "//" }, "source"},
	"empty fragment":         {func(e *Event) { e.Source = "#" }, "source"},
	"source with bad escape": {func(e *Event) { e.Source = "/a%zz" }, "source"},
	"source with bad host":   {func(e *Event) { e.Source = "http://[::1" }, "source"},
	"blank subject":          {func(e *Event) { e.AggregateID = "  " }, "subject"},
	"header injection":       {func(e *Event) { e.AggregateID = "a\r\nce-id: 2" }, "subject"},
	"DEL":                    {func(e *Event) { e.ActorID = "a\x7f" }, "actorid"},
	"C1 control":             {func(e *Event) { e.TargetID = "é\u0085" }, "targetid"},
	"not UTF-8":              {func(e *Event) { e.RefID = "a\xff" }, "refid"},
	"noncharacter":           {func(e *Event) { e.TraceState = "\ufffe" }, "tracestate"},
	"noncharacter block":     {func(e *Event) { e.TraceParent = "\ufdd0" }, "traceparent"},
	"NUL":                    {func(e *Event) { e.PartitionKey = "\x00" }, "partitionkey"},
	"year 10000":             {func(e *Event) { e.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "time"},
	"year 10000 in UTC": {func(e *Event) {
		e.Time = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -2*3600))
	}, "time"},
	"year -1":               {func(e *Event) { e.Time = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC) }, "time"},
	"no media type":         {func(e *Event) { e.DataContentType = ";" }, "datacontenttype"},
	"bad parameter":         {func(e *Event) { e.DataContentType = "text/plain; =" }, "datacontenttype"},
	"relative schema":       {func(e *Event) { e.DataSchema = "/schemas/1" }, "dataschema"},
	"bad schema":            {func(e *Event) { e.DataSchema = "http://a b" }, "dataschema"},
	"priority":              {func(e *Event) { e.Priority = "high" }, "priority"},
	"extension name":        {func(e *Event) { e.Extensions = map[string]string{"a-b": "1"} }, "a-b"},
	"upper-case extension":  {func(e *Event) { e.Extensions = map[string]string{"Region": "1"} }, "Region"},
	"nameless extension":    {func(e *Event) { e.Extensions = map[string]string{"": "1"} }, `""`},
	"extension with field":  {func(e *Event) { e.Extensions = map[string]string{"actorid": "1"} }, "actorid"},
	"extension specversion": {func(e *Event) { e.Extensions = map[string]string{"specversion": "1.0"} }, "specversion"},
	"extension data":        {func(e *Event) { e.Extensions = map[string]string{"data": "1"} }, "data"},
	"extension value":       {func(e *Event) { e.Extensions = map[string]string{"x": "\n"} }, "x"},
	"broken JSON":           {func(e *Event) { e.Data = []byte(`{"a":1}}`) }, "data"},
	"blank JSON":            {func(e *Event) { e.Data = []byte(" ") }, "data"},
	"JSON not UTF-8":        {func(e *Event) { e.Data = []byte("\"\xff\"") }, "data"},
	"broken +json":          {func(e *Event) { e.DataContentType, e.Data = "a/b+json", []byte(`{`) }, "data"},
	"broken default JSON":   {func(e *Event) { e.DataContentType, e.Data = "", []byte(`{`) }, "data"},
}

func TestValidateRefuses(t *testing.T) {
	for name, c := range refused {
		t.Run(name, func(t *testing.T) {
			e := full()
			c.change(&e)
			wantError(t, e.Validate(), c.attribute)
			for _, codec := range []codec{Structured{}, Binary{}, Binary{Binding: HTTPBinding}} {
				msg, err := codec.Encode(e)
				if msg != nil {
					t.Errorf("%T encodes it", codec)
				}
				wantError(t, err, c.attribute)
			}
			if _, err := json.Marshal(e); err == nil {
				t.Error("json.Marshal encodes it")
			}
		})
	}
}

func TestErrorsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	e := full()
	e.Priority = Priority(long)
	e.ID = long
	_, err := Structured{}.Encode(e)
	wantError(t, err, "priority")
	if len(err.Error()) > 500 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
	var ae *attributeError
	e = full()
	e.Extensions = map[string]string{long + "-": ""}
	if !errors.As(e.Validate(), &ae) || len(ae.Name) > 100 {
		t.Errorf("a name of %d bytes", len(ae.Name))
	}
}
