package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A body is one object of known fields, or a problem of the client's that quotes
// little of the body.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"eventId":"show-1","seatIds":["A-1"]}`, `{"amount":1e3}`, `{"amount":9223372036854775808}`, `{}{}`, `[]`, ``, `{`, `{"closesAt":"soon"}`, `{"x":1}`, `null`, strings.Repeat(`{"seatIds":[`, 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var into struct {
			EventID  string    `json:"eventId"`
			SeatIDs  []string  `json:"seatIds"`
			Amount   int64     `json:"amount"`
			ClosesAt time.Time `json:"closesAt"`
			Text     *string   `json:"text"`
		}
		err := decode(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), &into)
		if err == nil {
			require.Truef(t, json.Valid([]byte(body)), "%q was taken", body)
			return
		}
		var p *problem
		if !errors.As(err, &p) || p.status != http.StatusBadRequest && p.status != http.StatusRequestEntityTooLarge {
			t.Fatalf("%q: %v", body, err)
		}
		w := httptest.NewRecorder()
		p.write(w)
		if !json.Valid(w.Body.Bytes()) || strings.Contains(p.detail, "json:") || strings.Contains(p.detail, "struct") {
			t.Fatalf("%q: %s", body, w.Body)
		}
	})
}

// Numbers of the query lie within their bounds.
func FuzzNumber(f *testing.F) {
	f.Add("50")
	f.Add("-1")
	f.Add("1e3")
	f.Add("9223372036854775808")
	f.Fuzz(func(t *testing.T, text string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		q := r.URL.Query()
		q.Set("limit", text)
		r.URL.RawQuery = q.Encode()
		n, given, err := number(r, "limit", 1, manyMessages)
		if err != nil && (n != 0 || given) || err == nil && given != (text != "") || given && (n < 1 || n > manyMessages) {
			t.Fatalf("%q is %d, %t, %v", text, n, given, err)
		}
	})
}
