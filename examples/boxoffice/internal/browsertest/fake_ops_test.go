package browsertest

import (
	"fmt"
	"slices"
	"time"
)

// calmOps is an office in good order, with a little traffic.
func calmOps(n int) (any, any) { return opsAnswer(n, 3+n%5, nil), invariantsAnswer(true, true) }

// troubledOps has events in flight, dead letters that grow, and a paused group.
func troubledOps(n int) (any, any) {
	var letters []map[string]any
	for i := range min(n, 4) {
		letters = append(letters, map[string]any{
			"id": fmt.Sprintf("0199a7c2-7f00-7abc-8def-0000000000%02d", i), "type": "PaymentSuccess", "reason": "permanent",
			"class": "permanent", "error": "decode PaymentSuccess: unexpected end of JSON input", "at": time.Date(2026, 3, 1, 19, 4, 5+i, 0, time.UTC),
		})
	}
	slices.Reverse(letters)
	return opsAnswer(n, 40+n*37%160, letters), invariantsAnswer(false, n%2 == 0)
}

// opsWith is an office in good order with dead letters in one topic.
func opsWith(n int, topic map[string]any) any {
	answer, _ := opsAnswer(n, 0, nil).(map[string]any)
	answer["deadLetters"] = []map[string]any{topic, {"topic": "dlq.reservation", "count": 0, "recent": []any{}}}
	return answer
}

func opsAnswer(n, backlog int, letters []map[string]any) any {
	var consumers []map[string]any
	for _, c := range [][2]string{
		{"payment.events", "reservation-payment-consumer"}, {"payment.events", "event-payment-consumer"}, {"payment.events", "ticket-service-group"},
		{"payment.events", "stats-service-group"}, {"reservation.events", "event-reservation-consumer"}, {"reservation.events", "stats-service-group"},
		{"transfer.events", "stats-service-group"}, {"membership.events", "stats-service-group"},
	} {
		consumer := map[string]any{"topic": c[0], "group": c[1], "state": "running", "inFlight": n % 3, "handled": 1840 + 12*n, "retried": 0, "deadLettered": 0, "lag": n % 4, "lastError": ""}
		if letters != nil && c[1] == "ticket-service-group" {
			consumer["state"], consumer["retried"], consumer["lag"], consumer["lastError"] = "paused", 7, 42, "booking: database is locked (SQLITE_BUSY)"
		}
		if letters != nil && c[1] == "event-payment-consumer" {
			consumer["deadLettered"] = len(letters)
		}
		consumers = append(consumers, consumer)
	}
	return map[string]any{
		"outbox":    map[string]any{"backlog": backlog, "oldestAgeSeconds": 0.2 * float64(backlog%7), "published": 21840 + 57*n, "failed": 0, "holder": "box-1"},
		"consumers": consumers,
		"lag":       map[string]any{"state": "known", "ageSeconds": float64(n % 5), "error": ""},
		"deadLetters": []map[string]any{
			{"topic": "dlq.payment", "count": len(letters), "recent": letters},
			{"topic": "dlq.reservation", "count": 0, "recent": []any{}},
		},
		"stats":   map[string]any{"reservations_created": 812, "reservations_confirmed": 655, "reservations_cancelled": 149, "refund_amount": 4320000, "memberships": 31},
		"gateway": map[string]any{"reachable": true, "charges": 804, "approved": 702, "declined": 96, "pending": 6, "refunded": 47},
	}
}

func invariantsAnswer(ok, quiescent bool) any {
	return map[string]any{"ok": ok, "quiescent": quiescent, "ageSeconds": 2.4, "error": "", "checks": []map[string]any{
		{"name": "sold seats = seats of confirmed reservations", "ok": true, "detail": "1,284 = 1,284"},
		{"name": "successes − refunds = confirmed reservations", "ok": ok, "detail": map[bool]string{true: "655 = 655", false: "657 ≠ 655"}[ok]},
		{"name": "successes − refunds = the gateway’s ledger", "ok": true, "detail": "655 = 655"},
		{"name": "one charge per key", "ok": true, "detail": "804 keys"},
		{"name": "nothing handled twice", "ok": true, "detail": "0 effects repeated"},
	}}
}
