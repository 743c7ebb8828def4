package backlog

import (
	"encoding/json"
	"testing"
)

func TestDataHasTheSizeAndIsJSON(t *testing.T) {
	for name, data := range map[string]func(int) json.RawMessage{"text": Text(498), "payment": Payment(500)} {
		for _, n := range []int{0, 1, 123_456} {
			if d := data(n); len(d) != 500 || !json.Valid(d) {
				t.Errorf("%s %d: %d bytes, valid JSON: %v", name, n, len(d), json.Valid(d))
			}
		}
	}
	if string(Payment(500)(1)) == string(Payment(500)(2)) {
		t.Error("two payments have the same data")
	}
}
