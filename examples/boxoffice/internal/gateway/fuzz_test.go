package gateway

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// A request to charge is an order within its bounds or is refused, with a status of
// the right class and without the card's number.
func FuzzOrder(f *testing.F) {
	f.Add("key-1", `{"amount":1000,"currency":"KRW","card":"`+CardApproved+`","reference":"r"}`)
	f.Add("", `{}`)
	f.Add("key\n", `{"amount":1e3,"currency":"KRW","card":"4111111111111111","reference":"r"}`)
	f.Add("k", `{"amount":1,"currency":"KRW","card":"`+CardDeclined+`"}{}`)
	f.Add("k", `[`)
	f.Fuzz(func(t *testing.T, key, body string) {
		r := httptest.NewRequest("POST", "/charges", strings.NewReader(body))
		r.Header["Idempotency-Key"] = []string{key}
		o, status, err := readOrder(httptest.NewRecorder(), r)
		if err != nil {
			if status < 400 || status > 499 || o != (order{}) || len(err.Error()) > 1000 {
				t.Fatalf("%q: %d, %+v, %v", body, status, o, err)
			}
			return
		}
		if o.key == "" || len(o.key) > maxText || len(o.reference) > maxText || o.amount < 1 || o.amount > maxAmount ||
			o.card != CardApproved && o.card != CardDeclined && o.card != CardTimeout || strings.ContainsAny(o.key+o.reference, "\r\n\x00") {
			t.Fatalf("%q is the order %+v", body, o)
		}
	})
}
