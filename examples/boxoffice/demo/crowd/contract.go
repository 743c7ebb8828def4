package crowd

import "time"

// The parts of the box office's JSON that fans and audits read.

// Login is the answer of POST /api/login.
type Login struct {
	Token string `json:"token"`
}

// Place is the answer of POST /api/queue/check/{eventId}.
type Place struct {
	Status       string  `json:"status"`
	Position     int     `json:"position"` // from 1; 0 when active
	NextPoll     float64 `json:"nextPoll"`
	EntryToken   string  `json:"entryToken"`
	Ticket       string  `json:"ticket"`
	QueueSize    int     `json:"queueSize"`
	CurrentUsers int     `json:"currentUsers"` // inside, or about to be
	Threshold    int     `json:"threshold"`    // how many that may be
	SoldOut      bool    `json:"soldOut"`      // no seat is free at the moment
}

// Show is one of GET /api/shows.
type Show struct {
	ID           string `json:"id"`
	CommentCount int64  `json:"commentCount"`
	Seats        struct {
		Total     int `json:"total"`
		Available int `json:"available"`
		Held      int `json:"held"`
		Sold      int `json:"sold"`
	} `json:"seats"`
	Limits Limits `json:"limits"`
}

// Limits are how many seats of a show a member may have.
type Limits struct {
	Held   int `json:"held"`   // at once
	Bought int `json:"bought"` // with those that are held
}

// Seats is the answer of GET /api/seats/{eventId}.
type Seats struct {
	Seats []Seat `json:"seats"`
}

// Seat is one seat of a show.
type Seat struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Price  int64  `json:"price"`
}

// Hold is the answer of POST /api/seats/reserve.
type Hold struct {
	ReservationID string    `json:"reservationId"`
	Status        string    `json:"status"`
	Amount        int64     `json:"amount"`
	HoldExpiresAt time.Time `json:"holdExpiresAt"`
}

// Ticket is a reservation as GET /api/reservations/{id} and GET /api/me/tickets
// show it.
type Ticket struct {
	ReservationID string    `json:"reservationId"`
	EventID       string    `json:"eventId"`
	SeatIDs       []string  `json:"seatIds"`
	Status        string    `json:"status"`
	Amount        int64     `json:"amount"`
	HoldExpiresAt time.Time `json:"holdExpiresAt"`
}

// Tickets is the answer of GET /api/me/tickets.
type Tickets struct {
	Tickets []Ticket `json:"tickets"`
}

// PaymentAnswer is the answer of POST /api/payments and GET /api/payments/{id}.
type PaymentAnswer struct {
	PaymentID     string `json:"paymentId"`
	ReservationID string `json:"reservationId"`
	TransferID    string `json:"transferId"`
	Status        string `json:"status"`
	Amount        int64  `json:"amount"`
	FailureReason string `json:"failureReason"`
}

// Memberships is the answer of GET /api/me/memberships.
type Memberships struct {
	Memberships []struct {
		Status string `json:"status"`
	} `json:"memberships"`
}

// Comment is the answer of POST /api/shows/{id}/comments.
type Comment struct {
	ID       string `json:"id"`
	MemberID string `json:"memberId"`
	Text     string `json:"text"`
}

// Comments is the answer of GET /api/shows/{id}/comments, newest first.
type Comments struct {
	Comments []Comment `json:"comments"`
}

// Liked is the answer of GET /api/me/likes.
type Liked struct {
	Shows []string `json:"shows"`
}

// Followed is the answer of GET /api/me/follows.
type Followed struct {
	Members []string `json:"members"`
}

// Accepted is the answer of POST /api/rooms/{id}/messages.
type Accepted struct {
	ID string `json:"id"`
}

// Messages is the answer of GET /api/rooms/{id}/messages, in order.
type Messages struct {
	Messages []Message `json:"messages"`
}

// Message is one of a chat room.
type Message struct {
	ID       string `json:"id"`
	Seq      int64  `json:"seq"`
	SenderID string `json:"senderId"`
	Message  string `json:"message"`
}

// Inbox is the answer of GET /api/notifications, newest first.
type Inbox struct {
	Notifications []Notice `json:"notifications"`
}

// Notice is a notification, in the inbox and on a live stream.
type Notice struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Params struct {
		Outcome string `json:"outcome"` // of a reservation
	} `json:"params"`
	Message string `json:"message"`
	RefID   string `json:"refId"`
}

// NoticeBooking is the type of notices about a member's own seats, and Booked the
// outcome of a confirmed booking.
const (
	NoticeBooking = "RESERVATION"
	Booked        = "CONFIRMED"
)
