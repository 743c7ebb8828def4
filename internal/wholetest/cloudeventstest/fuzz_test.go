package cloudeventstest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/event"
)

// FuzzSDK: the SDK reads a decoded and re-encoded event with the same meaning.
func FuzzSDK(f *testing.F) {
	const required = `"specversion":"1.0","id":"1","source":"s","type":"T"`
	for _, more := range []string{
		``, `,"data":null`, `,"data":[1,{"a":"b\u0041"}]`, `,"data_base64":"AP8="`, `,"datacontenttype":"text/plain","data":"x\ny"`,
		`,"sequence":42`, `,"time":"2026-03-01T09:00:00+09:00"`, `,"x":true,"y":-5,"Z":"\"\\"`, `,"priority":"LOW"`, `,"source":"a b%20"`,
		`,"datacontenttype":"a/b+json","data":"{}"`, `,"dataschema":"urn:x"`,
	} {
		f.Add([]byte("{" + required + more + "}"))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		const unlimited = 1 << 40
		e, err := event.Decode(structured(doc))
		if err != nil {
			return
		}
		msg, err := event.Structured{MaxSize: unlimited}.Encode(e)
		require.NoErrorf(t, err, "cannot write what was read: %v\n%+v", err, e)
		require.NoError(t, readWithSDK(msg.Payload, canonical(e, true)))
	})
}
