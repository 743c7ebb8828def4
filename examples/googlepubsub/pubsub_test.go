package googlepubsub_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/examples/googlepubsub"
)

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"pubsub://":                   "the URL names no project; write pubsub://project",
		"pubsub://project?partitions": "partitions",
	} {
		_, err := bus.Open(t.Context(), url, googlepubsub.Scheme())
		require.ErrorContains(t, err, want)
	}
}
