package queue

import "testing"

// The name of an admission is read in the one form in which it is written.
func FuzzParseEntry(f *testing.F) {
	f.Add("1-1")
	f.Add("zz-0")
	f.Add("01-1")
	f.Add("3w5e11264sgsf-1y2p0ij32e8e7")
	f.Add("-")
	f.Fuzz(func(t *testing.T, id string) {
		epoch, order, ok := parseEntry(id)
		if !ok {
			if epoch != 0 || order != 0 {
				t.Fatalf("%q is refused, and is %d-%d", id, epoch, order)
			}
			return
		}
		if order <= 0 || entryID(epoch, order) != id {
			t.Fatalf("%q is read as %d-%d", id, epoch, order)
		}
	})
}
