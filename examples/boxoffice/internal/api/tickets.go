package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
)

// ticketRoutes are the routes of tickets and their scans, of transfers and of
// memberships.
func (a *API) ticketRoutes(public func(string, handler), member, writes func(string, memberHandler), admin func(string, handler)) {
	public("GET /api/tickets/keys", a.ticketKeys)
	member("GET /api/me/tickets/{id}/codes", a.ticketCodes)
	admin("POST /api/admin/scan", a.bounded(a.scan))

	member("GET /api/me/transfers", a.transfers)
	writes("POST /api/transfers/{id}/accept", a.decide((*payment.Payments).Accept))
	writes("POST /api/transfers/{id}/decline", a.decide((*payment.Payments).Decline))
	writes("POST /api/transfers/{id}/withdraw", a.decide((*payment.Payments).Withdraw))

	member("GET /api/me/memberships", a.memberships)
}

// ticketKeys serves the public keys with which a scanner verifies codes by itself.
func (a *API) ticketKeys(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, "application/jwk-set+json", a.cfg.Door.Keys())
	return nil
}

type codeJSON struct {
	TicketID string         `json:"ticketId"`
	SeatID   string         `json:"seatId"`
	Code     string         `json:"code"`
	Picture  ticket.Picture `json:"picture"`
	UsedAt   *time.Time     `json:"usedAt,omitempty"`
}

// ticketCodes are in an answer's body and in no address: addresses are logged.
func (a *API) ticketCodes(w http.ResponseWriter, r *http.Request, member string) error {
	issued, err := a.cfg.Door.Issue(r.Context(), member, r.PathValue("id"))
	if err != nil {
		return err
	}
	out := make([]codeJSON, len(issued))
	for i, t := range issued {
		out[i] = codeJSON{TicketID: t.ID, SeatID: t.SeatID, Code: t.Code, Picture: t.Picture, UsedAt: moment(t.UsedAt)}
	}
	answer(w, http.StatusOK, map[string]any{"codes": out})
	return nil
}

type scanJSON struct {
	Status   ticket.Status `json:"status"`
	TicketID string        `json:"ticketId"`
	EventID  string        `json:"eventId"`
	SeatID   string        `json:"seatId"`
	UsedAt   *time.Time    `json:"usedAt,omitempty"`
}

// scan judges a code at the entrance of a show. An Idempotency-Key distinguishes a
// repeated request from a second scan.
func (a *API) scan(w http.ResponseWriter, r *http.Request) error {
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
	if err := a.cfg.Catalog.Exists(r.Context(), body.EventID); err != nil {
		return err
	}
	found, err := a.cfg.Door.Scan(r.Context(), body.Code, body.EventID, key)
	for reason, why := range refusedCodes {
		if errors.Is(err, reason) {
			return newProblem(http.StatusUnprocessableEntity, "code-refused", "Not a ticket of this office", "%s", why).
				with("field", "code").with("reason", reason.Error())
		}
	}
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, scanJSON{found.Status, found.ID, found.ShowID, found.SeatID, moment(found.UsedAt)})
	return nil
}

// refusedCodes explains the refusal of a code that is no ticket.
var refusedCodes = map[error]string{
	ticket.ErrMalformed:     "the code is not that of a ticket; scan the QR code of the ticket again",
	ticket.ErrUnknownKey:    "the code is signed by a key that this office does not have; the holder gets a new code from the page My tickets",
	ticket.ErrSignature:     "the code was changed or forged; let nobody in with it",
	ticket.ErrUnknownTicket: "the code is genuine, and this office has no such reservation; is it another office's?",
}

type transferJSON struct {
	TransferID    string     `json:"transferId"`
	ReservationID string     `json:"reservationId"`
	PaymentID     string     `json:"paymentId,omitempty"` // the sender's
	FromMemberID  string     `json:"fromMemberId"`
	ToMemberID    string     `json:"toMemberId"`
	EventID       string     `json:"eventId,omitempty"`
	SeatIDs       []string   `json:"seatIds,omitempty"`
	Amount        int64      `json:"amount"`
	Status        string     `json:"status"`
	Reason        string     `json:"reason,omitempty"`
	CreatedAt     time.Time  `json:"createdAt"`
	ExpiresAt     time.Time  `json:"expiresAt"`
	AcceptedAt    *time.Time `json:"acceptedAt,omitempty"`
	SettledAt     *time.Time `json:"settledAt,omitempty"`
}

func presentTransfer(t payment.Transfer, member string) transferJSON {
	out := transferJSON{
		TransferID: t.ID, ReservationID: t.ReservationID, FromMemberID: t.From, ToMemberID: t.To,
		EventID: t.ShowID, SeatIDs: t.SeatIDs, Amount: t.Amount, Status: t.Status, Reason: t.Reason,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, AcceptedAt: moment(t.AcceptedAt), SettledAt: moment(t.SettledAt),
	}
	if t.From == member {
		out.PaymentID = t.PaymentID
	}
	return out
}

func (a *API) transfers(w http.ResponseWriter, r *http.Request, member string) error {
	list, err := a.cfg.Payments.Transfers(r.Context(), member)
	if err != nil {
		return err
	}
	out := make([]transferJSON, len(list))
	for i, t := range list {
		out[i] = presentTransfer(t, member)
	}
	answer(w, http.StatusOK, map[string]any{"transfers": out})
	return nil
}

// decide answers a decision about a transfer with the transfer's new state.
func (a *API) decide(move func(p *payment.Payments, ctx context.Context, member, id string) (payment.Transfer, error)) memberHandler {
	return func(w http.ResponseWriter, r *http.Request, member string) error {
		t, err := move(a.cfg.Payments, r.Context(), member, r.PathValue("id"))
		if err != nil {
			return err
		}
		answer(w, http.StatusOK, presentTransfer(t, member))
		return nil
	}
}

type membershipJSON struct {
	MembershipID  string     `json:"membershipId"`
	PaymentID     string     `json:"paymentId"`
	Amount        int64      `json:"amount"`
	Status        string     `json:"status"`
	FailureReason string     `json:"failureReason,omitempty"`
	CreatedAt     time.Time  `json:"createdAt"`
	ActivatedAt   *time.Time `json:"activatedAt,omitempty"`
	ExpiresAt     *time.Time `json:"expiresAt,omitempty"`
}

// memberships are the member's, with the price of a new one.
func (a *API) memberships(w http.ResponseWriter, r *http.Request, member string) error {
	list, err := a.cfg.Payments.Memberships(r.Context(), member)
	if err != nil {
		return err
	}
	out := make([]membershipJSON, len(list))
	for i, m := range list {
		out[i] = membershipJSON{m.ID, m.PaymentID, m.Amount, m.Status, m.FailureReason, m.CreatedAt, moment(m.ActivatedAt), moment(m.ExpiresAt)}
	}
	answer(w, http.StatusOK, map[string]any{"price": payment.MembershipPrice, "memberships": out})
	return nil
}

// moment is nil for a time that has not come.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
