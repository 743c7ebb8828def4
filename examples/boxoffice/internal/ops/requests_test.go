package ops_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
)

// A client chooses its method freely, and each new one would be a series that stays.
func TestRequestsAreBounded(t *testing.T) {
	r := ops.NewRequests()
	for i := range 1000 {
		r.Observe("/api/shows", fmt.Sprint("METHOD", i), 405, time.Millisecond)
	}
	r.Observe("/api/shows", "GET", 200, time.Millisecond)
	assert.Equal(t, 2, testutil.CollectAndCount(r, "http_requests_total"), "series, want that of GET and one of all others")
}
