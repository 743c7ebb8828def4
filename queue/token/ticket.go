package token

// Ticket is a user's place in the line of an event.
type Ticket struct {
	Event string
	User  string
	Epoch uint64
	Order int64
}

// Tickets seals and opens tickets. A ticket is bound to its event and its user,
// names neither of them, and does not expire: the room decides by the epoch whether
// it is valid. It is 48 characters of base64url.
type Tickets struct{ sealer *sealer }

// NewTickets makes a Tickets with the keys of a ring.
func NewTickets(ring *Ring) *Tickets {
	return &Tickets{sealer: newSealer(ring, "ticket", plainSize)}
}

// Seal makes the text of a ticket.
func (t *Tickets) Seal(ticket Ticket) string {
	var room [64]byte
	return string(t.AppendSeal(room[:0], ticket))
}

// AppendSeal appends the text of a ticket to dst.
func (t *Tickets) AppendSeal(dst []byte, ticket Ticket) []byte {
	return t.sealer.seal(dst, payload{a: ticket.Epoch, b: ticket.Order}, ticket.Event, ticket.User)
}

// Open reads a ticket of a user for an event. Errors are [ErrMissing],
// [ErrMalformed] and [ErrSignature], which is also that of a ticket of another
// user or another event.
func (t *Tickets) Open(text, event, user string) (epoch uint64, order int64, err error) {
	p, err := t.sealer.open(text, event, user)
	return p.a, p.b, err
}
