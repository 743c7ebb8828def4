package event

import "strings"

// JSON is the content type of Data when none is set.
const JSON = "application/json"

const (
	structuredJSON   = "application/cloudevents+json"
	structuredPrefix = "application/cloudevents" // every format, and batches
	octetStream      = "application/octet-stream"
)

// contentType is the datacontenttype to write: the default is made explicit
// where there is data, so that no reader has to know it.
func (e *Event) contentType() string {
	if e.DataContentType == "" && len(e.Data) > 0 {
		return JSON
	}
	return e.DataContentType
}

// isJSON reports whether data of the content type is JSON text: */json or
// */*+json, and JSON when there is none.
func isJSON(contentType string) bool {
	if contentType == "" || contentType == JSON {
		return true
	}
	m := mediaType(contentType)
	return strings.HasSuffix(m, "/json") || strings.HasSuffix(m, "+json")
}

// isInline reports whether JSON data stands as it is in a structured document.
// The SDKs agree about these types. About the +json types they don't: the Go
// SDK expects a string there. As data_base64 all of them read it.
func isInline(contentType string) bool {
	if contentType == "" || contentType == JSON {
		return true
	}
	m := mediaType(contentType)
	return m == JSON || m == "text/json"
}

// isStructured reports whether a message of the content type is an event
// format (or a batch of events) rather than an event's data.
func isStructured(contentType string) bool {
	return len(contentType) >= len(structuredPrefix) &&
		strings.EqualFold(contentType[:len(structuredPrefix)], structuredPrefix)
}

// mediaType strips the parameters from a content type.
func mediaType(contentType string) string {
	m, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(m))
}
