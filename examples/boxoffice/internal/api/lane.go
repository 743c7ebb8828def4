package api

import (
	"context"
	"net/http"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// Lane is the lane of a member in the waiting rooms, and "" for none.
type Lane func(ctx context.Context, member string) string

// of asks for the lane of members that come to the line. A member with a ticket stands in
// line already, so that polls ask for nothing.
func (l Lane) of(login *auth.Login) func(*http.Request, string) string {
	if l == nil {
		return nil
	}
	return func(r *http.Request, _ string) string {
		if r.Header.Get(queuehttp.TicketHeader) != "" {
			return ""
		}
		member, err := login.Member(r)
		if err != nil {
			return ""
		}
		return l(r.Context(), member)
	}
}
