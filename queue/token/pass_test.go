package token_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/seal"
	"github.com/millrace-go/millrace/internal/tokens"
	"github.com/millrace-go/millrace/queue/token"
)

var request = tokens.Pass{Method: "POST", Path: "/api/seats/reserve", Event: "e", User: "u"}

func TestPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := tokens.NewPasses(ring(t, newSecret))
		time.Sleep(300 * time.Millisecond) // within a second, as it is outside a test
		text := passes.Sign(request)
		check := func(what, text string, p tokens.Pass, want error) {
			t.Helper()
			assert.ErrorIsf(t, passes.Check(text, p), want, "%s", what)
		}
		check("itself", text, request, nil)
		check("another method", text, tokens.Pass{Method: "GET", Path: request.Path, Event: "e", User: "u"}, seal.ErrSignature)
		check("another path", text, tokens.Pass{Method: "POST", Path: "/api/seats/reserve/", Event: "e", User: "u"}, seal.ErrSignature)
		check("another event", text, tokens.Pass{Method: "POST", Path: request.Path, Event: "f", User: "u"}, seal.ErrSignature)
		check("another user", text, tokens.Pass{Method: "POST", Path: request.Path, Event: "e", User: "v"}, seal.ErrSignature)
		check("nobody", text, tokens.Pass{Method: "POST", Path: request.Path, Event: "e"}, seal.ErrSignature)
		check("none", "", request, token.ErrMissing)
		for _, bad := range []string{"true", "1", "..", "a.b.c", text + "=", text + ".", strings.Replace(text, ".", ".0", 1), strings.Replace(text, ".", ".+", 1), text + "\n", strings.Repeat("a", 1<<20)} {
			assert.ErrorIsf(t, passes.Check(bad, request), seal.ErrMalformed, "%.80q", bad)
		}
		part := strings.Split(text, ".")
		check("no signature", part[0]+"."+part[1]+".", request, seal.ErrSignature)
		check("half a signature", part[0]+"."+part[1]+"."+part[2][:20], request, seal.ErrSignature)
		check("unknown key", "00000000."+part[1]+"."+part[2], request, seal.ErrSignature)
		check("another time", fmt.Sprintf("%s.%d.%s", part[0], time.Now().Unix()+1, part[2]), request, seal.ErrSignature)

		time.Sleep(30 * time.Second)
		check("30 s later", text, request, nil)
		time.Sleep(time.Second)
		check("31 s later", text, request, token.ErrExpired)
	})
}

// A pass that another program makes by the documented recipe is accepted, from a
// clock that is at most 30 s ahead.
func TestPassByTheRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := tokens.NewPasses(ring(t, oldSecret, newSecret))
		key, id := keyOf(newSecret, "pass")
		for ahead, want := range map[int64]error{-31: token.ErrExpired, -30: nil, 0: nil, 30: nil, 31: seal.ErrNotYet} {
			at := time.Now().Unix() + ahead
			mac := hmac.New(sha256.New, key)
			fmt.Fprintf(mac, "POST\n/api/seats/reserve\ne\nu\n%d", at)
			text := fmt.Sprintf("%s.%d.%s", id, at, base64.RawURLEncoding.EncodeToString(mac.Sum(nil)))
			assert.ErrorIsf(t, passes.Check(text, request), want, "%d s ahead", ahead)
		}
	})
}

// A line feed within a part could make two requests have one text.
func TestPassPartsDoNotRunTogether(t *testing.T) {
	passes := tokens.NewPasses(ring(t, newSecret))
	text := passes.Sign(tokens.Pass{Method: "GET", Path: "/a", Event: "e\nf", User: "g"})
	for _, p := range []tokens.Pass{{Method: "GET", Path: "/a\ne", Event: "f", User: "g"}, {Method: "GET", Path: "/a", Event: "e", User: "f\ng"}, {Method: "GET", Path: "/a", Event: "e\nf", User: "g"}} {
		assert.ErrorIsf(t, passes.Check(text, p), seal.ErrMalformed, "%+v", p)
	}
}

func FuzzPassCheck(f *testing.F) {
	passes := tokens.NewPasses(ring(f, newSecret))
	f.Add(passes.Sign(request), "POST", "/api/seats/reserve", "e", "u")
	f.Add("00000000.1.AAAA", "", "", "", "")
	f.Fuzz(func(t *testing.T, text, method, path, event, user string) {
		err := passes.Check(text, tokens.Pass{Method: method, Path: path, Event: event, User: user})
		if err == nil && (tokens.Pass{Method: method, Path: path, Event: event, User: user}) != request {
			t.Fatalf("nobody has signed %q", text)
		}
		if err != nil && token.Reason(err) == "" {
			t.Fatal(err)
		}
	})
}
