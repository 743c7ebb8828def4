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
	answer, _ := opsAnswer(n, 40+n*37%160, letters).(map[string]any)
	budget, _ := answer["budget"].(map[string]any)
	budget["breakers"] = map[string]any{"limiter": "half-open", "coalescer": "open", "database": nil}
	budget["remaining"], budget["lag"] = nil, map[string]any{"high": 5210, "low": nil}
	calls, _ := budget["calls"].([]map[string]any)
	for i := range calls[30:44] {
		calls[30+i]["high"], calls[30+i]["low"] = 0, 0 // Redis was away
	}
	calls[52]["high"] = 240 // one second above the limit
	streams, _ := answer["streams"].(map[string]any)
	streams["open"], streams["members"], streams["leased"], streams["hearing"], streams["outage"], streams["refused"] = 0, 0, false, false, 1840, 96+n
	chat, _ := answer["chat"].(map[string]any)
	chat["deadLettered"], chat["backlog"] = 3, 61
	delete(chat, "stored")
	return answer, invariantsAnswer(false, n%2 == 0)
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
		"rooms":  roomsAnswer(n),
		"budget": budgetAnswer(n),
		"streams": map[string]any{
			"open": 1840 + n*13%90, "members": 1212, "rooms": 5, "leased": true, "hearing": true,
			"opened": 20_418 + n, "evicted": 312, "slow": 4, "outage": 0, "refused": 0, "away": 77, "sent": 941_220 + 310*n, "dropped": 0,
		},
		"chat":    map[string]any{"sockets": 640 + n*7%40, "rooms": 5, "sent": 18_204 + 3*n, "stored": 18_204 + 3*n, "toldLive": 18_201 + 3*n, "dropped": 0, "failed": 0, "deadLettered": 0, "backlog": 0},
		"stats":   map[string]any{"reservations_created": 812, "reservations_confirmed": 655, "reservations_cancelled": 149, "refund_amount": 4320000, "memberships": 31},
		"gateway": map[string]any{"reachable": true, "charges": 804, "approved": 702, "declined": 96, "pending": 6, "refunded": 47},
	}
}

// roomsAnswer has waiting rooms that do not change.
func roomsAnswer(n int) map[string]any {
	rooms := busyRooms()
	return rooms.report(n)
}

// budgetAnswer is a minute under a flood of low priority with bursts of high. The
// last second's calls differ with each look.
func budgetAnswer(n int) map[string]any {
	var calls []map[string]any
	for i := range 60 {
		at := n + i
		low, high := 350-at*at%9, 12+at*7%31
		if at%20 > 11 { // high uses its reserve
			high = 88 + at*5%12
		}
		calls = append(calls, map[string]any{"at": 1772366585 + at, "high": high, "low": low})
	}
	reasons := func(global, lowCap, yield int) map[string]any {
		return map[string]any{"global": global, "low_cap": lowCap, "yield": yield, "day": 0, "unavailable": 0}
	}
	return map[string]any{
		"plan": map[string]any{
			"hardLimit": 500, "rate": 450, "lowRate": 350, "burst": 40, "lowBurst": 31, "delayMs": 20, "strict": false,
			"dayLimit": 20_000_000, "dayHighReserve": 2_000_000, "arithmetic": "Burst 40 + Rate 450 * (1 s + Delay 20ms) + Processes 1 = 500 <= HardLimit 500",
		},
		"granted": map[string]any{"high": 18_204 + 60*n, "low": 91_377 + 348*n}, "denied": map[string]any{"high": reasons(12, 0, 0), "low": reasons(310, 48_211+9*n, 77)},
		"waiting": map[string]any{"high": 0, "low": 160}, "remaining": map[string]any{"high": 9 + n%7, "low": n % 3}, "dayUsed": 4_812_377 + 440*n,
		"breakers":  map[string]any{"limiter": "closed", "coalescer": "closed", "database": "closed"},
		"lag":       map[string]any{"high": n % 6, "low": 12_408 - n},
		"coalescer": map[string]any{"published": 9120 + n, "coalesced": 48_220, "upgraded": 310, "reruns": 14, "conflicts": 0, "obsolete": 290, "refused": 0},
		"calls":     calls, "callsError": "",
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
