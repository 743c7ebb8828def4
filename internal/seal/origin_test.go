package seal_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/internal/seal"
)

func TestOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origins := seal.NewOrigins(ring(t, newSecret))
		request := seal.Forwarded{Method: "GET", Host: "shop.example", Target: "/seats?row=7", Event: "e", User: "u"}
		at, signature := origins.Sign(request)
		check := func(what string, f seal.Forwarded, at, signature string, want error) {
			t.Helper()
			assert.ErrorIsf(t, origins.Check(f, at, signature), want, "%s", what)
		}
		check("itself", request, at, signature, nil)
		for what, change := range map[string]func(*seal.Forwarded){
			"another method": func(f *seal.Forwarded) { f.Method = "POST" }, "another host": func(f *seal.Forwarded) { f.Host = "other.example" },
			"another query": func(f *seal.Forwarded) { f.Target = "/seats?row=8" }, "another event": func(f *seal.Forwarded) { f.Event = "f" },
			"another user": func(f *seal.Forwarded) { f.User = "v" }, "no user": func(f *seal.Forwarded) { f.User = "" },
			"parts that run together": func(f *seal.Forwarded) { f.Event, f.User = "", "eu" },
		} {
			other := request
			change(&other)
			check(what, other, at, signature, seal.ErrSignature)
		}
		check("a line feed", seal.Forwarded{Method: "GET", Event: "e\nu"}, at, signature, seal.ErrMalformed)
		check("none", request, at, "", seal.ErrMissing)
		check("no time", request, "", signature, seal.ErrMalformed)
		check("another time", request, fmt.Sprint(time.Now().Unix()+1), signature, seal.ErrSignature)
		check("another key", request, at, "00000000"+signature[8:], seal.ErrSignature)
		for _, bad := range []string{"x", "a.b=", signature + "\n", strings.Repeat("a.", 100)} {
			check(bad, request, at, bad, seal.ErrMalformed)
		}

		key, id := keyOf(newSecret, "origin")
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "GET\nshop.example\n/seats?row=7\ne\nu\n%s", at)
		assert.Equal(t, signature, id+"."+base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), "by the documented recipe")
		time.Sleep(30 * time.Second)
		check("30 s later", request, at, signature, nil)
		time.Sleep(time.Second)
		check("31 s later", request, at, signature, seal.ErrExpired)
	})
}

// keyOf is the documented derivation, implemented a second time.
func keyOf(secret, kind string) (key []byte, id string) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("millrace/queue/" + kind))
	key = mac.Sum(nil)
	mac = hmac.New(sha256.New, key)
	mac.Write([]byte("id"))
	return key, hex.EncodeToString(mac.Sum(nil)[:4])
}
