package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/gateway"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "gateway")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	g, err := gateway.New(gateway.Config{Path: filepath.Join(dir, "ledger.db"), MaxLatency: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close() //nolint:errcheck // an example

	for range 2 { // the second one repeats the first: one charge
		req := httptest.NewRequest(http.MethodPost, "/charges",
			strings.NewReader(`{"amount":55000,"currency":"KRW","card":"4242424242424242","reference":"r-1"}`))
		req.Header.Set("Idempotency-Key", "payment-1")
		rec := httptest.NewRecorder()
		g.Handler().ServeHTTP(rec, req)
		var c gateway.Charge
		if err := json.Unmarshal(rec.Body.Bytes(), &c); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(rec.Code, c.Key, c.Status, c.Amount)
	}
	rec := httptest.NewRecorder()
	g.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/ledger", nil))
	var sum gateway.Totals
	_ = json.Unmarshal(rec.Body.Bytes(), &sum)
	fmt.Println("charges:", sum.Charges)
	// Output:
	// 200 payment-1 APPROVED 55000
	// 200 payment-1 APPROVED 55000
	// charges: 1
}
