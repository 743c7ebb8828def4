package sqsbus

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	busdriver "github.com/millrace-go/millrace/bus/driver"
	"github.com/millrace-go/millrace/bus/driver/kit"
	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/fault"
)

// The attributes beside those that are metadata. The first is Watermill's.
const (
	uuidAttribute     = "_watermill_message_uuid"
	metadataAttribute = "_millrace_metadata" // all metadata as a JSON object, in binary
	encodingAttribute = "_millrace_encoding" // how the body encodes the payload, if it is not the payload
)

const (
	inBase64 = "base64"
	inGzip   = "gzip+base64"
	isEmpty  = "empty" // SQS has no message without a body
)

// maxAttributes is the limit of SQS; two may be needed beside the metadata.
const maxAttributes = 10

// entry is a message on its way to SQS.
type entry struct {
	types.SendMessageBatchRequestEntry
	uuid    string
	key     string
	size    int
	outcome *busdriver.Outcome // set by the sender
}

// encode makes the entry of a message. Metadata that fits into attributes and a payload
// that is text are as Watermill writes them; the rest has a form of ours.
func encode(msg *message.Message, maxBytes int) (entry, error) {
	attributes, err := attributesOf(msg)
	if err != nil {
		return entry{}, fault.MarkPermanent(fmt.Errorf("message %s: %w", msg.UUID, err))
	}
	body, encoding := string(msg.Payload), ""
	switch {
	case body == "":
		body, encoding = "-", isEmpty
	case !isText(body):
		body, encoding = base64.StdEncoding.EncodeToString(msg.Payload), inBase64
	}
	size := len(body) + attributesSize(attributes)
	if size > maxBytes {
		if body, err = compressed(msg.Payload); err != nil {
			return entry{}, err
		}
		encoding, size = inGzip, len(body)+attributesSize(attributes)
	}
	if encoding != "" {
		attributes[encodingAttribute] = text(encoding)
		size += len(encodingAttribute) + len("String") + len(encoding)
	}
	if size > maxBytes {
		return entry{}, fault.MarkPermanent(fmt.Errorf("%w: %s has %d bytes of payload, %d as it is sent, compressed, with its metadata; at most %d are possible: keep the payload elsewhere and send where",
			errTooLarge, msg.UUID, len(msg.Payload), size, maxBytes))
	}
	key := event.Key(msg)
	return entry{
		SendMessageBatchRequestEntry: types.SendMessageBatchRequestEntry{
			MessageBody:            &body,
			MessageAttributes:      attributes,
			MessageGroupId:         aws.String(identifier(key, "-")),
			MessageDeduplicationId: aws.String(deduplicationID(msg)),
		},
		uuid: msg.UUID, key: key, size: size,
	}, nil
}

// deduplicationID is the message's id. To that of a redriven message the attempt is appended, and
// to that of a dead letter its origin, its edits and the pass of package redrive that moved it: SQS
// drops all but the first of equal ones for five minutes.
func deduplicationID(msg *message.Message) string {
	id := msg.UUID
	if id == "" {
		return uuid.NewString()
	}
	for _, header := range []string{busdriver.DLQRedrive, busdriver.DLQOriginalTopic, busdriver.DLQGroup, busdriver.DLQEdits, "dlq_moved"} {
		if n := msg.Metadata.Get(header); n != "" {
			id += "#" + header + "=" + n
		}
	}
	return identifier(id, "")
}

// identifier makes a valid group or deduplication id for SQS: up to 128 characters of
// printable ASCII. Other texts are replaced by their hash.
func identifier(s, empty string) string {
	if s == "" {
		return empty
	}
	odd := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
	if odd < 0 && len(s) <= 128 {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func attributesOf(msg *message.Message) (map[string]types.MessageAttributeValue, error) {
	attributes := make(map[string]types.MessageAttributeValue, maxAttributes)
	if msg.UUID != "" && isText(msg.UUID) {
		attributes[uuidAttribute] = text(msg.UUID)
	} else if msg.UUID != "" {
		return nil, fmt.Errorf("its id %.40q has characters that SQS does not take", msg.UUID)
	}
	if fits(msg.Metadata) {
		for name, value := range msg.Metadata {
			attributes[name] = text(value)
		}
		return attributes, nil
	}
	all, err := kit.EncodeMetadata(msg.Metadata)
	if err != nil {
		return nil, err
	}
	attributes[metadataAttribute] = types.MessageAttributeValue{DataType: aws.String("Binary"), BinaryValue: []byte(all)}
	return attributes, nil
}

// fits reports whether metadata can be attributes: few, with plain names and values.
func fits(metadata message.Metadata) bool {
	if len(metadata) > maxAttributes-2 {
		return false
	}
	for name, value := range metadata {
		lower := strings.ToLower(name)
		plain := plainName(strings.ReplaceAll(name, ".", "-")) && !strings.Contains(name, "..") &&
			!strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".") &&
			!strings.HasPrefix(lower, "aws.") && !strings.HasPrefix(lower, "amazon.") &&
			!strings.HasPrefix(name, "_") && name != "" && len(name) <= 256
		if !plain || value == "" || !isText(value) {
			return false
		}
	}
	return true
}

// isText reports whether SQS accepts the characters: those of XML 1.0. A carriage return is
// excluded, because XML turns it into a line feed.
func isText(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < ' ' && r != '\t' && r != '\n') || r == 0xFFFE || r == 0xFFFF
	}) < 0
}

func text(s string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &s}
}

func attributesSize(attributes map[string]types.MessageAttributeValue) (n int) {
	for name, a := range attributes {
		n += len(name) + len(aws.ToString(a.DataType)) + len(aws.ToString(a.StringValue)) + len(a.BinaryValue)
	}
	return n
}

func compressed(payload []byte) (string, error) {
	var out strings.Builder
	b64 := base64.NewEncoder(base64.StdEncoding, &out)
	zip := gzip.NewWriter(b64)
	_, err := zip.Write(payload)
	err = errors.Join(err, zip.Close(), b64.Close())
	return out.String(), err
}

// maxPayload bounds the size of a decompressed body.
const maxPayload = 64 << 20

// decode reads a message of any writer. It returns errors together with the parts of the
// message that it can read.
func decode(m types.Message) (*message.Message, error) {
	msg := message.NewMessage(aws.ToString(m.MessageId), []byte(aws.ToString(m.Body)))
	var errs []error
	for name, a := range m.MessageAttributes {
		switch name {
		case uuidAttribute:
			msg.UUID = aws.ToString(a.StringValue)
		case metadataAttribute:
			metadata, err := kit.DecodeMetadata(string(a.BinaryValue))
			if err != nil {
				errs = append(errs, err)
			}
			maps.Copy(msg.Metadata, metadata)
		case encodingAttribute:
			payload, err := payloadOf(aws.ToString(m.Body), aws.ToString(a.StringValue))
			if err != nil {
				errs = append(errs, err)
				continue
			}
			msg.Payload = payload
		default:
			if a.StringValue != nil {
				msg.Metadata.Set(name, *a.StringValue)
			} else {
				msg.Metadata.Set(name, string(a.BinaryValue))
			}
		}
	}
	return msg, errors.Join(errs...)
}

func payloadOf(body, encoding string) ([]byte, error) {
	switch encoding {
	case isEmpty:
		return nil, nil
	case inBase64:
		return base64.StdEncoding.DecodeString(body)
	case inGzip:
		zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(body)))
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		n, err := io.Copy(&out, io.LimitReader(zip, maxPayload+1))
		if err == nil && n > maxPayload {
			err = fmt.Errorf("its payload has more than %d bytes", maxPayload)
		}
		return out.Bytes(), err
	}
	return nil, fmt.Errorf("its encoding %.20q is unknown", encoding)
}
