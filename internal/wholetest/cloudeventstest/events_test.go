package cloudeventstest

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/draw"
)

// extensionNames draws names that are no attributes of events.
var extensionNames = rapid.StringMatching(`x[a-z0-9]{0,19}`)

func isReference(s string) bool {
	u, err := url.Parse(s)
	return err == nil && *u != (url.URL{})
}

// anyEvent draws any valid event.
func anyEvent() *rapid.Generator[event.Event] {
	return rapid.Custom(func(t *rapid.T) event.Event {
		e := event.Event{
			ID:            draw.Text().Filter(draw.NotBlank).Draw(t, "id"),
			Type:          draw.Text().Filter(draw.NotBlank).Draw(t, "type"),
			Source:        rapid.OneOf(draw.Text(), rapid.StringMatching(`(https?://[a-z.]{1,9}|urn:[a-z]{1,5}:|)[A-Za-z0-9/._~%?#&=-]{0,9}`)).Filter(draw.NotBlank).Filter(isReference).Draw(t, "source"),
			Time:          draw.Instant().Draw(t, "time"),
			AggregateType: draw.Text().Draw(t, "aggregatetype"),
			AggregateID:   draw.Maybe(draw.Text().Filter(draw.NotBlank)).Draw(t, "subject"),
			PartitionKey:  draw.Text().Draw(t, "partitionkey"),
			Version:       draw.Text().Draw(t, "dataversion"),
			Sequence:      rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "sequence"),
			CorrelationID: draw.Text().Draw(t, "correlationid"),
			CausationID:   draw.Text().Draw(t, "causationid"),
			ActorID:       draw.Text().Draw(t, "actorid"),
			TargetID:      draw.Text().Draw(t, "targetid"),
			RefID:         draw.Text().Draw(t, "refid"),
			Priority:      rapid.SampledFrom([]event.Priority{"", event.High, event.Low}).Draw(t, "priority"),
			TraceParent:   draw.Text().Draw(t, "traceparent"),
			TraceState:    draw.Text().Draw(t, "tracestate"),
			DataSchema:    draw.Maybe(rapid.StringMatching(`(https?://[a-z.]{1,9}/|urn:[a-z]{1,5}:)[A-Za-z0-9/._~?#&=-]{0,9}`)).Draw(t, "dataschema"),
			Extensions:    rapid.MapOfN(extensionNames, draw.Text(), 0, 4).Draw(t, "extensions"),
		}
		e.DataContentType = rapid.SampledFrom([]string{"", "application/json", "application/json; charset=utf-8", "text/json", "application/vnd.seat+json", "text/plain", "application/xml; a=b", "application/octet-stream"}).Draw(t, "datacontenttype")
		if rapid.Bool().Draw(t, "data") {
			if inline(e.DataContentType) || e.DataContentType == "application/vnd.seat+json" {
				e.Data = draw.JSON().Draw(t, "json")
			} else {
				e.Data = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			}
		}
		return e
	})
}

// inline reports whether a document holds data of a content type unchanged.
func inline(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "" || media == "application/json" || media == "text/json"
}

// canonical is an event as a reader has it: the defaults are explicit, the time is UTC,
// and white space around the JSON of a document is gone.
func canonical(e event.Event, structured bool) event.Event {
	if len(e.Data) == 0 {
		e.Data = nil
	} else if e.DataContentType == "" {
		e.DataContentType = "application/json"
	}
	e.Time = e.Time.UTC()
	if structured && inline(e.DataContentType) {
		e.Data = bytes.TrimSpace(e.Data)
	}
	return e
}

// structured is a document as a message.
func structured(doc []byte) *message.Message {
	msg := message.NewMessage("m-1", doc)
	msg.Metadata[event.ContentTypeHeader] = "application/cloudevents+json"
	return msg
}
