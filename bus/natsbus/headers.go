package natsbus

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
)

const (
	// idHeader carries a message's id, where Watermill's marshaler for NATS has it.
	idHeader = "_watermill_message_uuid"
	// restHeader carries as JSON the metadata that a header cannot.
	restHeader = "Millrace-Metadata"
	// statusHeader is a server's own answer, in a message that is none of a stream.
	statusHeader = "Status"
	// placeHeader is a message's place in its stream.
	placeHeader = "Nats-Sequence"
)

// headers is metadata as the headers of a NATS message: a line "name: value" for each.
type headers struct{}

// Encode implements logdriver.Headers.
func (headers) Encode(metadata message.Metadata) (string, error) {
	var b strings.Builder
	rest := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		value := metadata[name]
		switch {
		case nameFits(name) && fits(value):
			b.WriteString(name + ": " + value + "\n")
		case !utf8.ValidString(name) || !utf8.ValidString(value):
			return "", fmt.Errorf("the metadata %q has control characters and is not UTF-8; NATS carries one or the other", name)
		default:
			rest[name] = value
		}
	}
	if len(rest) > 0 {
		text, err := json.Marshal(rest)
		if err != nil {
			return "", err
		}
		b.WriteString(restHeader + ": " + string(text) + "\n")
	}
	return b.String(), nil
}

// Decode implements logdriver.Headers.
func (headers) Decode(text string) (message.Metadata, error) {
	metadata := make(message.Metadata)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if name != restHeader {
			metadata[name] = value
			continue
		}
		if err := json.Unmarshal([]byte(value), &metadata); err != nil {
			return metadata, fmt.Errorf("the header %s is no JSON object of strings: %w", restHeader, err)
		}
	}
	return metadata, nil
}

// isJetStreams reports whether JetStream reserves the name.
func isJetStreams(name string) bool { return len(name) >= 5 && strings.EqualFold(name[:5], "Nats-") }

// status is a server's answer without a message, such as "404"; "" for a message.
func status(m *nats.Msg) string {
	if m.Header.Get(placeHeader) != "" {
		return ""
	}
	return m.Header.Get(statusHeader)
}

// linesOf are a message's headers without those of JetStream and the id.
func linesOf(h nats.Header) string {
	var b strings.Builder
	for name, values := range h {
		if name != idHeader && !isJetStreams(name) && len(values) > 0 {
			b.WriteString(name + ": " + values[0] + "\n")
		}
	}
	return b.String()
}

// nameFits reports whether a header can have the name.
func nameFits(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	switch name {
	case "", idHeader, restHeader, statusHeader, "Description":
		return false
	}
	return !isJetStreams(name)
}

// fits reports whether a header can have the value.
func fits(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c == 0x7f {
			return false
		}
	}
	return value != "" && strings.TrimSpace(value) == value
}
