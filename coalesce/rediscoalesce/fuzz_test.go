package rediscoalesce

import "testing"

// FuzzTicket: the value of a lock is a ticket that encodes to the same value, or an error.
func FuzzTicket(f *testing.F) {
	f.Add("artist-7", "HIGH:3")
	f.Add("artist-7", "LOW:0")
	f.Add("k", "HIGH:+3")
	f.Add("k", "HIGH:03")
	f.Add("", ":")
	f.Fuzz(func(t *testing.T, key, lock string) {
		got, err := ticket(key, lock)
		if err != nil {
			if got.Key != "" || got.Version != 0 {
				t.Fatalf("%q is refused, and is %+v", lock, got)
			}
			return
		}
		if got.Key != key || got.Check() != nil {
			t.Fatalf("%q is read as %+v", lock, got)
		}
		if again, err := ticket(key, value(got)); err != nil || again != got {
			t.Fatalf("%+v comes back as %+v, %v", got, again, err)
		}
	})
}
