package doctor_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/millrace-go/millrace/cmd/millrace/internal/doctor"
)

// A refused role is distinguished from credentials that may not use SQS.
func TestRoleIsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		if r.Header.Get("X-Amz-Target") != "" {
			fmt.Fprint(w, `{"__type":"com.amazonaws.sqs#AccessDeniedException","message":"no"}`)
			return
		}
		fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`)
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_STS", server.URL)
	raw := "sqs://key:gehe1m@region/?session_token=t0ken1&endpoint=" + server.URL
	want(t, examine(t, doctor.Transport, raw), doctor.Error, "authentication", "may not use SQS")
	want(t, examine(t, doctor.Transport, raw+"&role=arn:aws:iam::123456789012:role/notices"), doctor.Error, "authentication", "role/notices was not assumed")
	want(t, examine(t, doctor.Transport, raw+"&role=notices"), doctor.Error, "url", `"role"`)
}
