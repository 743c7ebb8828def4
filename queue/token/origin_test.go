package token_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace-go/millrace/queue/token"
)

func TestOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origins := token.NewOrigins(ring(t, newSecret))
		request := token.Forwarded{Method: "GET", Host: "shop.example", Target: "/seats?row=7", Event: "e", User: "u"}
		at, signature := origins.Sign(request)
		check := func(what string, f token.Forwarded, at, signature string, want error) {
			t.Helper()
			if err := origins.Check(f, at, signature); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		check("itself", request, at, signature, nil)
		for what, change := range map[string]func(*token.Forwarded){
			"another method": func(f *token.Forwarded) { f.Method = "POST" }, "another host": func(f *token.Forwarded) { f.Host = "other.example" },
			"another query": func(f *token.Forwarded) { f.Target = "/seats?row=8" }, "another event": func(f *token.Forwarded) { f.Event = "f" },
			"another user": func(f *token.Forwarded) { f.User = "v" }, "no user": func(f *token.Forwarded) { f.User = "" },
			"parts that run together": func(f *token.Forwarded) { f.Event, f.User = "", "eu" },
		} {
			other := request
			change(&other)
			check(what, other, at, signature, token.ErrSignature)
		}
		check("a line feed", token.Forwarded{Method: "GET", Event: "e\nu"}, at, signature, token.ErrMalformed)
		check("none", request, at, "", token.ErrMissing)
		check("no time", request, "", signature, token.ErrMalformed)
		check("another time", request, fmt.Sprint(time.Now().Unix()+1), signature, token.ErrSignature)
		check("another key", request, at, "00000000"+signature[8:], token.ErrSignature)
		for _, bad := range []string{"x", "a.b=", signature + "\n", strings.Repeat("a.", 100)} {
			check(bad, request, at, bad, token.ErrMalformed)
		}

		key, id := keyOf(newSecret, "origin")
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "GET\nshop.example\n/seats?row=7\ne\nu\n%s", at)
		if recipe := id + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)); recipe != signature {
			t.Errorf("by the documented recipe it is %s, and not %s", recipe, signature)
		}
		time.Sleep(30 * time.Second)
		check("30 s later", request, at, signature, nil)
		time.Sleep(time.Second)
		check("31 s later", request, at, signature, token.ErrExpired)
	})
}
