package main

import "github.com/millrace-go/millrace"

// All events are of one topic, and their key is the seat: the events of a seat are handled
// in the order in which its row changed.
const topic = "tickets"

// Held is emitted when a buyer holds a seat.
type Held struct {
	Seat, Buyer string
	Until       int64 // seconds since 1970
}

// Spec implements millrace.Event.
func (e Held) Spec() millrace.Spec { return millrace.On(topic, "Held", e.Seat) }

// Freed is emitted when a seat is free again.
type Freed struct{ Seat string }

// Spec implements millrace.Event.
func (e Freed) Spec() millrace.Spec { return millrace.On(topic, "Freed", e.Seat) }

// PaymentAsked is emitted when a buyer pays. Card is the provider's token of a card, never
// its number.
type PaymentAsked struct {
	Order, Seat, Buyer, Card string
	Cents                    int64
}

// Spec implements millrace.Event.
func (e PaymentAsked) Spec() millrace.Spec { return millrace.On(topic, "PaymentAsked", e.Seat) }

// Paid is emitted when the provider has charged the card.
type Paid struct{ Order, Seat, Buyer string }

// Spec implements millrace.Event.
func (e Paid) Spec() millrace.Spec { return millrace.On(topic, "Paid", e.Seat) }

// Issued is emitted when the seat is sold and its ticket is there.
type Issued struct{ Seat, Buyer string }

// Spec implements millrace.Event.
func (e Issued) Spec() millrace.Spec { return millrace.On(topic, "Issued", e.Seat) }
