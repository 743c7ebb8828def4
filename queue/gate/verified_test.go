package gate

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A pass that was found good is good for its visitor, until its end, and the memory of
// all of them is bounded.
func TestVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v verified
		v.keep("u", "pass", time.Now().Add(time.Minute))
		for c, want := range map[visitorsPass]bool{{"u", "pass"}: true, {"x", "pass"}: false, {"u", "pas"}: false, {"", "upass"}: false} {
			if v.good(c.user, c.pass) != want {
				t.Errorf("%+v: %v", c, !want)
			}
		}
		time.Sleep(time.Minute)
		assert.False(t, v.good("u", "pass"), "it is good after its end")
		for i := range 2*mostVerified + 1 {
			v.keep("u", fmt.Sprint(i), time.Now().Add(time.Minute))
		}
		if len(v.ends) > mostVerified || !v.good("u", fmt.Sprint(2*mostVerified)) {
			t.Errorf("%d are kept", len(v.ends))
		}
	})
}

// TestVerifiedKeepsNoHeaders: a pass is a part of a request's header, which may be large, and
// so may be the name of a member.
func TestVerifiedKeepsNoHeaders(t *testing.T) {
	var v verified
	a := alive{every: time.Hour}
	const headers = 64
	for i := range headers {
		header := fmt.Sprintf("pass=%03d; others=%s", i, strings.Repeat("x", 1<<20))
		v.keep(header[5:8], header[5:8], time.Now().Add(time.Minute))
		a.due(header[5:8])
	}
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	if len(v.ends) != headers || len(a.heard) != headers || mem.HeapAlloc > headers<<20/2 {
		t.Errorf("%d passes of three bytes keep %d MB", len(v.ends), mem.HeapAlloc>>20)
	}
}
