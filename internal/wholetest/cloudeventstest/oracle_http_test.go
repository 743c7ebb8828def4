package cloudeventstest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cloudevents/sdk-go/v2/binding"
	sdkhttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/internal/draw"
)

// TestSDKReadsBinary sends Millrace's HTTP headers to the SDK. The SDK does not
// undo the percent-encoding that the binding asks for, so the comparison does.
func TestSDKReadsBinary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent().Draw(t, "event")
		msg, err := event.Binary{Binding: event.HTTPBinding}.Encode(e)
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://a.example", bytes.NewReader(msg.Payload))
		require.NoError(t, err)
		for k, v := range msg.Metadata {
			req.Header.Set(k, v)
		}
		read, err := sdkhttp.NewEventFromHTTPRequest(req)
		if err != nil {
			t.Fatalf("the SDK does not read it: %v\n%v", err, msg.Metadata)
		}
		if err := read.Validate(); err != nil {
			t.Fatalf("the SDK does not accept it: %v\n%v", err, msg.Metadata)
		}
		got, err := attributesOfSDK(read)
		require.NoError(t, err)
		want := attributesOf(canonical(e, false))
		want["source"] = e.Source
		if e.DataSchema != "" {
			want["dataschema"] = e.DataSchema
		}
		for name, v := range got {
			if name == "datacontenttype" {
				continue
			}
			if got[name], err = url.PathUnescape(v); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		// The SDK normalizes URIs; compare them in that form.
		for _, m := range []map[string]string{got, want} {
			for _, name := range []string{"source", "dataschema"} {
				if v, ok := m[name]; ok {
					m[name] = types.ParseURIRef(v).String()
				}
			}
		}
		require.NoError(t, sameAttributes(got, want))
		if !bytes.Equal(read.Data(), e.Data) {
			t.Fatalf("data %q, want %q", read.Data(), e.Data)
		}
	})
}

func TestReadsBinaryOfSDK(t *testing.T) {
	// The SDK writes values unchanged, so a percent sign or quotes around a value
	// mean something else to a reader that follows the binding.
	plain := draw.Text().Filter(func(s string) bool { return !strings.ContainsAny(s, `%"`) })
	rapid.Check(t, func(t *rapid.T) {
		want := anySDKEvent(plain).Draw(t, "event")
		if want.Source() == "a%20b" {
			want.SetSource("/a/b")
		}
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://a.example", nil)
		require.NoError(t, err)
		require.NoError(t, sdkhttp.WriteRequest(binding.WithForceBinary(context.Background()), (*binding.EventMessage)(&want), req))
		var body []byte
		if req.Body != nil {
			if body, err = io.ReadAll(req.Body); err != nil {
				t.Fatal(err)
			}
		}
		msg := message.NewMessage("", body)
		for k := range req.Header {
			msg.Metadata[k] = req.Header.Get(k)
		}
		got, err := event.Decode(msg)
		if err != nil {
			t.Fatalf("%v\n%v", err, msg.Metadata)
		}
		if err := sameAsSDK(got, &want); err != nil {
			t.Fatalf("%v\n%v", err, msg.Metadata)
		}
	})
}
