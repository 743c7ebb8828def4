package cli

import "testing"

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name  string
		there []string
		want  string
	}{
		{"orders.DTL", []string{"payments.DLT", "orders", "orders.DLT"}, "orders.DLT"},
		{"ORDERS.dlt", []string{"payments.DLT", "orders.DLT"}, "orders.DLT"},
		{"dlq.paymnet", []string{"dlq.transfer", "dlq.payment", "payment.events"}, "dlq.payment"},
		{"좌석", []string{"좌표석", "좌"}, "좌"}, // in letters, not in bytes
		{"", []string{"b", "a"}, "a"},
		{"17", []string{"2", "9", "117"}, "9"},
		{"x", []string{"12", "yz", "z"}, "z"},
		{"x", nil, ""},
	} {
		if got, ok := nearest(c.name, c.there); got != c.want || ok != (c.want != "") {
			t.Errorf("nearest to %q of %q is %q, %t; want %q", c.name, c.there, got, ok, c.want)
		}
	}
	for _, c := range []struct {
		from, to string
		want     int
	}{{"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"lst", "list", 1}, {"stauts", "status", 1}, {"ca", "abc", 3}} {
		if got := distance(c.from, c.to); got != c.want {
			t.Errorf("from %q to %q it is %d, want %d", c.from, c.to, got, c.want)
		}
	}
}
