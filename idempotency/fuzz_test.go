package idempotency

import (
	"bytes"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseStored: a stored text is a response that can be sent, or an error. It never makes
// the server panic, and its headers never split the answer.
func FuzzParseStored(f *testing.F) {
	f.Add([]byte(`{"status":201,"header":{"Content-Type":["application/json"]},"body":"e30="}`))
	f.Add([]byte(`{"status":204,"body":"eA=="}`))
	f.Add([]byte(`{"status":99}`))
	f.Add([]byte(`{"status":200,"header":{"X":["a\r\nSet-Cookie: b"]},"tooLarge":true}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, kept []byte) {
		s, err := parseStored(kept)
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		s.write(w)
		if w.Code != s.Status || w.Header().Get(replayed) != "true" || !bytes.Equal(w.Body.Bytes(), s.Body) {
			t.Fatalf("%q is sent as %d %v %q", kept, w.Code, w.Header(), w.Body)
		}
		var wire bytes.Buffer
		require.NoError(t, w.Header().Write(&wire))
		for line := range bytes.Lines(wire.Bytes()) {
			require.Truef(t, bytes.Contains(line, []byte(": ")), "%q sends the line %q", kept, line)
		}
	})
}
