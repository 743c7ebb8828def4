package event

import "strings"

// jsonType is the content type of Data when none is set.
const jsonType = "application/json"

const (
	structuredJSON   = "application/cloudevents+json"
	structuredPrefix = "application/cloudevents" // every format, and batches
	octetStream      = "application/octet-stream"
)

// contentType is the datacontenttype to write: if there is data, the default is written
// explicitly, so that readers need not know it.
func (e *Event) contentType() string {
	if e.DataContentType == "" && len(e.Data) > 0 {
		return jsonType
	}
	return e.DataContentType
}

// isJSON reports whether data of the content type is JSON text: */json, */*+json, or no content
// type at all.
func isJSON(contentType string) bool {
	if contentType == "" || contentType == jsonType {
		return true
	}
	m := mediaType(contentType)
	return strings.HasSuffix(m, "/json") || strings.HasSuffix(m, "+json")
}

// isInline reports whether JSON data is inlined in a structured document. The SDKs agree about
// these types, but not about the +json types: the Go SDK expects a string there. All of them
// read data_base64.
func isInline(contentType string) bool {
	if contentType == "" || contentType == jsonType {
		return true
	}
	m := mediaType(contentType)
	return m == jsonType || m == "text/json"
}

// isStructured reports whether a message of the content type holds an event format (or a batch
// of events) rather than the data of one event.
func isStructured(contentType string) bool {
	return len(contentType) >= len(structuredPrefix) &&
		strings.EqualFold(contentType[:len(structuredPrefix)], structuredPrefix)
}

// mediaType strips the parameters from a content type.
func mediaType(contentType string) string {
	m, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(m))
}
