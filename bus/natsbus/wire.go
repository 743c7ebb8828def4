package natsbus

import (
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/millrace-go/millrace/bus/driver/kit"
)

// names makes the names of everything in NATS. Its value is the prefix of all names.
type names string

// stream is the stream of a topic's messages. The plus is in no token.
func (n names) stream(topic string) string { return string(n) + "+" + token(topic) }

// subject is that of a partition; "*" is each of the topic's.
func (n names) subject(topic string, partition any) string {
	return fmt.Sprintf("%s.%s.%v", string(n), token(topic), partition)
}

// wake is where the readers of a partition are notified of messages; groups is where all
// readers are notified that a member came or left.
func (n names) wake(topic string, partition any) string {
	return fmt.Sprintf("%s-wake.%s.%v", string(n), token(topic), partition)
}
func (n names) groups() string { return string(n) + "-wake" }

// bucket is the stream of the KV bucket, which has the prefix's name.
func (n names) bucket() string { return "KV_" + string(n) }

// cursor is the subject of the key with a group's cursor, and member of the one with a member.
// "*" as a group or an id is each of them, and is no token of a name.
func (n names) cursor(topic string, partition any, group string) string {
	return fmt.Sprintf("$KV.%s.cursor.%s.%v.%s", string(n), token(topic), partition, group)
}
func (n names) member(topic, group, id string) string {
	return fmt.Sprintf("$KV.%s.member.%s.%s.%s", string(n), token(topic), token(group), id)
}

// token writes a name as one token of a subject, without characters that a stream's name or
// a key may not have.
func token(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// untoken is the inverse of token, for the last token of a subject.
func untoken(subject string) (string, error) {
	last := subject[strings.LastIndexByte(subject, '.')+1:]
	return url.PathUnescape(strings.ReplaceAll(last, "=", "%"))
}

const (
	// idHeader carries a message's id, where Watermill's marshaler for NATS has it.
	idHeader = "_watermill_message_uuid"
	// restHeader carries as JSON the metadata that a header cannot.
	restHeader = "Millrace-Metadata"
	// statusHeader is a server's own answer, in a message that is none of a stream.
	statusHeader = "Status"
)

// headers is metadata as the headers of a NATS message: a line "name: value" for each.
type headers struct{}

func (headers) Encode(metadata message.Metadata) (string, error) {
	var b strings.Builder
	rest := make(message.Metadata)
	for name, value := range metadata {
		if nameFits(name) && fits(value) {
			b.WriteString(name + ": " + value + "\n")
		} else {
			rest[name] = value
		}
	}
	if len(rest) > 0 {
		text, err := kit.EncodeMetadata(rest)
		if err != nil {
			return "", fmt.Errorf("%w, and has characters that a header of NATS cannot have", err)
		}
		b.WriteString(restHeader + ": " + text + "\n")
	}
	return b.String(), nil
}

func (headers) Decode(text string) (message.Metadata, error) {
	metadata := make(message.Metadata)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if name != restHeader {
			metadata[name] = value
			continue
		}
		rest, err := kit.DecodeMetadata(value)
		if err != nil {
			return metadata, fmt.Errorf("the header %s: %w", restHeader, err)
		}
		maps.Copy(metadata, rest)
	}
	return metadata, nil
}

// isJetStreams reports whether JetStream reserves the name.
func isJetStreams(name string) bool { return len(name) >= 5 && strings.EqualFold(name[:5], "Nats-") }

// status is a server's answer without a message, such as "404"; "" for a message.
func status(m *nats.Msg) string {
	if m.Header.Get(jetstream.SequenceHeader) != "" {
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
	switch name {
	case "", idHeader, restHeader, statusHeader, "Description":
		return false
	}
	strange := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }
	return !isJetStreams(name) && strings.IndexFunc(name, strange) < 0
}

// fits reports whether a header can have the value.
func fits(value string) bool {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	return value != "" && strings.TrimSpace(value) == value && strings.IndexFunc(value, control) < 0
}
