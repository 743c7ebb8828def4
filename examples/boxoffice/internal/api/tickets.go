package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
)

// ticketRoutes are the tickets' codes, and their scans at the entrance.
type ticketRoutes struct {
	door    *ticket.Door
	catalog *catalog.Catalog
}

func (t ticketRoutes) mount(g *guard) {
	g.public("GET /api/tickets/keys", t.keys)
	g.member("GET /api/me/tickets/{id}/codes", t.codes)
	g.operator("POST /api/admin/scan", g.bounded(t.scan))
}

// keys serves the public keys with which a scanner verifies codes by itself.
func (t ticketRoutes) keys(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, "application/jwk-set+json", t.door.Keys())
	return nil
}

type codeJSON struct {
	TicketID string         `json:"ticketId"`
	SeatID   string         `json:"seatId"`
	Code     string         `json:"code"`
	Picture  ticket.Picture `json:"picture"`
	UsedAt   time.Time      `json:"usedAt,omitzero"`
}

// codes are in an answer's body and in no address: addresses are logged.
func (t ticketRoutes) codes(w http.ResponseWriter, r *http.Request, member string) error {
	issued, err := t.door.Issue(r.Context(), member, r.PathValue("id"))
	out := each(issued, func(one ticket.Issued) codeJSON {
		return codeJSON{TicketID: one.ID, SeatID: one.SeatID, Code: one.Code, Picture: one.Picture, UsedAt: one.UsedAt}
	})
	return reply(w, http.StatusOK, map[string]any{"codes": out}, err)
}

type scanJSON struct {
	Status   ticket.Status `json:"status"`
	TicketID string        `json:"ticketId"`
	EventID  string        `json:"eventId"`
	SeatID   string        `json:"seatId"`
	UsedAt   time.Time     `json:"usedAt,omitzero"`
}

// scan judges a code at the entrance of a show. An Idempotency-Key distinguishes a
// repeated request from a second scan.
func (t ticketRoutes) scan(w http.ResponseWriter, r *http.Request) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	var body struct {
		EventID string `json:"eventId"`
		Code    string `json:"code"`
	}
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if err := required("eventId", body.EventID); err != nil {
		return err
	}
	if body.Code == "" {
		return invalid("code", `the field "code" is missing; send what the scanner reads`)
	}
	if err := t.catalog.Exists(r.Context(), body.EventID); err != nil {
		return err
	}
	found, err := t.door.Scan(r.Context(), body.Code, body.EventID, key)
	for reason, why := range refusedCodes {
		if errors.Is(err, reason) {
			return newProblem(http.StatusUnprocessableEntity, "code-refused", "Not a ticket of this office", "%s", why).
				with("field", "code").with("reason", reason.Error())
		}
	}
	return reply(w, http.StatusOK, scanJSON{found.Status, found.ID, found.ShowID, found.SeatID, found.UsedAt}, err)
}

// refusedCodes explains the refusal of a code that is no ticket.
var refusedCodes = map[error]string{
	ticket.ErrMalformed:     "the code is not that of a ticket; scan the QR code of the ticket again",
	ticket.ErrUnknownKey:    "the code is signed by a key that this office does not have; the holder gets a new code from the page My tickets",
	ticket.ErrSignature:     "the code was changed or forged; let nobody in with it",
	ticket.ErrUnknownTicket: "the code is genuine, and this office has no such reservation; is it another office's?",
}
