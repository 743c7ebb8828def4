package sse_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/sse"
)

// TestAHeadOpensNoStream: a pattern of http.ServeMux for GET takes HEAD too. The answer to it
// has no body, so that a proxy uses the connection for its next request at once.
func TestAHeadOpensNoStream(t *testing.T) {
	both(t, func(t *testing.T, lean bool) {
		s := start(t, newCap(t), newBroker(t), sse.Config{Lean: lean, Max: 1})
		tab := dial(t, s.url+"?member=ann")
		head, err := http.Head(s.url + "?member=ann")
		require.NoError(t, err)
		require.NoError(t, head.Body.Close())
		assert.Equal(t, http.StatusOK, head.StatusCode)
		assert.Equal(t, "text/event-stream", head.Header.Get("Content-Type"))
		require.EqualValues(t, 1, s.Stats().Opened, "streams")
		require.NoError(t, s.ToMember(t.Context(), "ann", text("x")))
		tab.gets("x")
		assert.NoError(t, <-s.served, "Serve of the HEAD, or of the lean stream")
		tab.close()
	})
}
