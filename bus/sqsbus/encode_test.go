package sqsbus

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"pgregory.net/rapid"
)

// Every message comes back unchanged, and SQS accepts its encoded form.
func TestEncodeDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 2000),
			rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
		).Draw(t, "payload")
		m := message.NewMessage(rapid.StringMatching(`[ -~]{1,40}`).Draw(t, "id"), payload)
		m.Metadata = rapid.MapOfN(rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9_.-]{1,20}`)), rapid.String(), 0, 14).Draw(t, "metadata")
		e, err := encode(m, 4096)
		if err != nil {
			if size := len(payload) + attributesSize(e.MessageAttributes); size < 1000 && len(m.Metadata) < 3 {
				t.Fatalf("%d bytes are refused: %v", size, err)
			}
			return
		}
		if n := len(e.MessageAttributes); n > maxAttributes {
			t.Errorf("%d attributes", n)
		}
		if !isText(aws.ToString(e.MessageBody)) || aws.ToString(e.MessageBody) == "" {
			t.Errorf("the body %q is none", aws.ToString(e.MessageBody))
		}
		for name, a := range e.MessageAttributes {
			if (a.StringValue != nil && (*a.StringValue == "" || !isText(*a.StringValue))) || name == "" {
				t.Errorf("the attribute %q is %q", name, aws.ToString(a.StringValue))
			}
		}
		for _, id := range []*string{e.MessageGroupId, e.MessageDeduplicationId} {
			if n := len(aws.ToString(id)); n == 0 || n > 128 {
				t.Errorf("%q has %d characters", aws.ToString(id), n)
			}
		}
		got, err := decode(types.Message{Body: e.MessageBody, MessageAttributes: e.MessageAttributes, MessageId: aws.String("sqs")})
		if err != nil || got.UUID != m.UUID || !got.Equals(m) {
			t.Errorf("%q %q %v came back as %q %q %v (%v)", m.UUID, m.Payload, m.Metadata, got.UUID, got.Payload, got.Metadata, err)
		}
	})
}

// Reading a message of any foreign writer neither fails nor grows without bound.
func FuzzDecode(f *testing.F) {
	f.Add("body", "gzip+base64", []byte(`{"a":"b"}`))
	f.Add("", "base64", []byte(`[]`))
	f.Add("-", "empty", []byte(nil))
	f.Add("x", "other", []byte("{"))
	f.Fuzz(func(t *testing.T, body, encoding string, metadata []byte) {
		m, _ := decode(types.Message{Body: &body, MessageId: aws.String("sqs"), MessageAttributes: map[string]types.MessageAttributeValue{
			encodingAttribute: text(encoding),
			metadataAttribute: {DataType: aws.String("Binary"), BinaryValue: metadata},
		}})
		if m == nil || m.UUID != "sqs" || len(m.Payload) > maxPayload+1 {
			t.Errorf("got %v", m)
		}
	})
}
