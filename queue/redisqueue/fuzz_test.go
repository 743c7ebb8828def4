package redisqueue

import (
	"math"
	"testing"
	"time"

	"github.com/millrace-go/millrace/queue/driver"
)

// An answer of any bytes is read to its end and not beyond: missing bytes make it
// short, and the size of the result is bounded by the size of the answer.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(nil), uint8(0))
	f.Add([]byte(packed{}.doubles(1, 7, 1e15, 1000, 0, 1, 250, 5, 3, 1, 100, 60000, 1, 2, 3, 4, 5, 6)), uint8(0))
	f.Add(append([]byte(packed{}.doubles(3)), make([]byte, driver.BlockSize/8)...), uint8(1))
	f.Add([]byte{1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, uint8(2))
	f.Add(append([]byte(packed{}.doubles(9)), 4, 0, 'u', 's', 'e', 'r'), uint8(3))
	f.Add([]byte(packed{}.doubles(math.NaN(), math.Inf(1), -1)), uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, kind uint8) {
		a := &answer{rest: string(text)}
		made := 0
		for len(a.rest) > 0 && !a.short {
			left := len(a.rest)
			switch kind % 4 {
			case 0:
				if a.readState(nil); !a.short && a.state.Now.IsZero() {
					t.Fatal("a state without a time")
				}
			case 1:
				a.block()
			case 2:
				if o := a.outcome(); a.short && o.Left != 0 {
					t.Fatalf("%v of what was not there", o)
				}
			case 3:
				if who := a.admitted(); len(who.User) > left {
					t.Fatalf("a name of %d bytes in %d", len(who.User), left)
				}
			}
			if len(a.rest) >= left {
				t.Fatalf("nothing was read of %d bytes", left)
			}
			made++
		}
		if made > len(text) {
			t.Fatalf("%d answers in %d bytes", made, len(text))
		}
	})
}

// Numbers that Redis holds exactly come back unchanged.
func FuzzNumbers(f *testing.F) {
	f.Add(int64(0), int64(1), int64(1<<53))
	f.Add(int64(-1), int64(1_700_000_000_000_000), int64(7))
	f.Fuzz(func(t *testing.T, x, y, z int64) {
		for _, n := range []*int64{&x, &y, &z} {
			*n %= maxOrder
		}
		a := &answer{rest: string(packed{}.doubles(float64(x), float64(y), flag(z > 0)))}
		if gx, gy, gz := a.number(), a.times(time.Microsecond), a.flag(); gx != x || gy != time.Duration(y)*time.Microsecond || gz != (z > 0) || a.short || a.rest != "" {
			t.Fatalf("%d, %d, %d come back as %d, %d, %t", x, y, z, gx, gy, gz)
		}
	})
}
